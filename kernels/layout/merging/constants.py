"""Constants that the CUDA source of this folder shares with Python."""

MERGE_THREADS = 256  # of a block
MERGE_ITEMS = 16  # arcs of a thread
