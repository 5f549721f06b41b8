"""Who does the work: this process, or Dask workers; how ranks are placed and exchange messages."""
