"""Sizes of searches for paths."""

MOST_ROWS = 1 << 24  # of the paths that are in memory together; more if one path has more
QUERIES = 1 << 8  # of a core at a time, or 16 of a GPU's blocks; fewer if their paths are long
SEARCH_BYTES = 1 << 32  # on a GPU, of the arrays of all blocks; more if one block needs more
PATH_THREADS = 512  # of a block, which searches for one path
