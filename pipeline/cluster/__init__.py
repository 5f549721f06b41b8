"""Where tasks run: in this process or on Dask workers; how ranks are placed and exchange messages."""
