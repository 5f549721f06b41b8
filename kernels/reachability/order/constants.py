"""Integers that the Python and the CUDA sources of topological orders and sweeps share."""

SWEEP_THREADS = 512  # of a block
CONTROL_WORDS = 17  # of 8 bytes, of the queue in order.cu
