"""Integers that the Python and the CUDA sources of the reachability index share."""

# What decided a query, in `Reached.decided`.
SAME = 0
FILTER = 1
POSITIVE_CUT = 2
SEARCH = 3

NUM_SUPPORTS = 64  # the bits of a word
