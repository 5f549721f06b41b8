"""Integers that the Python and the CUDA sources of method "dfs" share."""

LARGEST_PATH_SUM = 2**62  # a sum of two still fits int64
