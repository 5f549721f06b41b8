"""The kernels on several GPUs, compared with cuGraph on Dask-CUDA."""
