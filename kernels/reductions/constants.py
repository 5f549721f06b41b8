"""Integers that reductions.cu and its launchers share."""

THREADS = 256  # of a block
CHUNK = 8192  # rows of a tree that a block reduces at a time, several times from its cache
BITS = 31  # of each of the two integers that a float is summed as: 2^32 of them fit into int64
