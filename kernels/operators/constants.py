"""Constants that the CUDA headers of this package share with Python."""

ALL, DENSE, SPARSE = 0, 1, 2  # how a frontier is represented
CHUNK = 1024  # values that are combined in one piece, 32 lanes at a time
HUB_DEGREE = 1 << 16  # rows of this many arcs or more are shared by all blocks of a grid
BLOCK_DEGREE = 1 << 12  # rows of this many arcs or more take a block
WARP_DEGREE = 32  # rows of this many arcs or more take a warp; the rest are lanes
TEAM_LANES = 8  # lanes that share a short row of a sparse frontier
THREADS = 256  # of a block
ROW_BATCH = 4  # rows of a thread whose values are read before the first of them is used
FILTER_BATCH = 8  # in `filter`, which writes little
ARC_BATCH = 2  # arcs of a thread, likewise
