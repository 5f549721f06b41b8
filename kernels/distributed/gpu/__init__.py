"""What sharded kernels on CuPy arrays share."""
