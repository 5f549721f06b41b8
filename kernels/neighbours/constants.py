"""Integers that Python and CUDA share."""

THREADS = 256  # of a block
