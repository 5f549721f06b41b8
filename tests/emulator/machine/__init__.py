"""The emulated machine: compiles CUDA sources for the CPU and runs their kernels thread by thread, without CuPy."""
