"""The operators on a GPU: CUDA kernels that NVRTC compiles around user functions."""
