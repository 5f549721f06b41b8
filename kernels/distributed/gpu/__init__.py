"""The sharded kernels on CuPy arrays, and what they are made of."""
