"""Constants that the CUDA sources and their launchers share."""

THREADS = 1024  # of a block of the iteration
TILE_BITS = 15  # a tile has 2^15 rows
ROUND = 256  # arcs that a warp adds at a time, and floats that it stages
PULL_THREADS = 576  # of a block of the iteration without tiles
LONG_ROW = 32  # in-arcs from which on a warp adds a row without tiles
PIECE = 512  # in-arcs of such a row that a warp adds at a time
UNIT = 1 << 60  # sums over all rows are integers of 2^-60
CONTROL_WORDS = 16  # 64-bit words of Control in pagerank.cu
SETTLED = 128  # a score has settled when its change is at most 1/128 of it
