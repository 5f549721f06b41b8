"""Benchmarks of the kernels and of their peers on the same graphs: `python -m benchmarks`."""
