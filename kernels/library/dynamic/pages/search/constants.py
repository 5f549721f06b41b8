"""Constants that the CUDA sources of this folder share with Python."""

SEARCH_THREADS = 256  # of a block
CONTROL_WORDS = 5  # uint64 of Control in levels.cuh
SHORTEST_WORDS = 11  # uint64 of Rounds in shortest.cu
UNSEEN, NO_VERTEX = -1, -2  # levels of rows that are not reached yet, and of rows that are not to be reached
NEGATIVE, BEYOND = 1, 2  # why shortest.cu has no answer
