"""The CUDA kernels on one GPU, compared with cuGraph."""
