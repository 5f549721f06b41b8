"""Arrays in, arrays out: the algorithms. No files, no Dask, no Prefect."""
