"""Constants that the CUDA source of this folder shares with Python."""

MERGE_THREADS = 256  # of a block
MERGE_ITEMS = 16  # arcs of a thread
KIND_BITS = 2  # of a key that ends with the kind of a change, plus 1
