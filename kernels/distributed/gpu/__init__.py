"""Code that sharded kernels on CuPy arrays share."""
