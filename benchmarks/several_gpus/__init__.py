"""Our kernels over several GPUs beside cuGraph on dask-cuda."""
