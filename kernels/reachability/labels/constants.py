"""Integers that the Python and the CUDA sources of labels share."""

FUSED_DIMENSIONS = 2  # dimensions of one pass
SUPPORT_THREADS = 512  # of a block of supports.cu
