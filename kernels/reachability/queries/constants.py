"""Integers that the Python and the CUDA sources of queries share."""

RECORD_DIMENSIONS = 3  # whose intervals are in a GPU record; those of further dimensions are read from the labels

# search.cu: threads of a block, and the logarithm of the slots of a search's hash table.
SMALL_SEARCH_THREADS = 160
SMALL_SEARCH_LOG_SLOTS = 11
LARGE_SEARCH_THREADS = 64
LARGE_SEARCH_LOG_SLOTS = 13

WIDE_SEARCH_THREADS = 512  # of a block of wide_search.cu
