"""Integers that the Python and the CUDA sources of method "dfs" share."""

LARGEST_PATH_SUM = 2**62  # so that this and the number of one node's paths fit int64
