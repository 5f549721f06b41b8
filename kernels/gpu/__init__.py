"""Shared parts of the GPU kernels: the CUDA loader, device headers and the radix sort."""
