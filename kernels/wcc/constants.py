"""Numbers that Python and CUDA share."""

TILE_THREADS = 1024  # of a block that joins tiles
SAMPLED_THREADS = 512  # of a block that samples arcs
WARP_ROW = 32  # arcs from which on a warp reads a row
CONTROL_WORDS = 4  # of 64 bits, of Control in arcs.cuh
