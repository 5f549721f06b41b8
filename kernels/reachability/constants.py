"""Integers that the Python and the CUDA sources of the reachability index share."""

# What decided a query, in `Reached.decided`.
SAME = 0
FILTER = 1
POSITIVE_CUT = 2
SEARCH = 3

NUM_SUPPORTS = 64  # the bits of a word
FUSED_DIMENSIONS = 2  # dimensions of labels in one pass
SUPPORT_THREADS = 512  # of a block of labels/supports.cu
SWEEP_THREADS = 512  # of a block of topological orders and sweeps
CONTROL_WORDS = 17  # of 8 bytes, of the queue in order/order.cu
LARGEST_PATH_SUM = 2**62  # of method "dfs", so that this and the number of one node's paths fit int64
