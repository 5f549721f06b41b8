"""Integers that Python and CUDA share."""

THREADS = 512  # of a block, which checks one pair
