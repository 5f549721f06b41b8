"""Constants that the CUDA headers of this package share with Python."""

ALL, DENSE, SPARSE = 0, 1, 2  # how a frontier is represented
CHUNK = 1024  # values that are combined in one piece, 32 lanes at a time
HUB_DEGREE = 1 << 16  # rows of this many arcs or more are shared by all blocks of a grid
BLOCK_DEGREE = 1 << 12  # rows of this many arcs or more take a block
WARP_DEGREE = 32  # rows of this many arcs or more take a warp; the rest are lanes
THREADS = 256  # of a block
REDUCE_THREADS = 512  # in `reduce`, whose last block combines the results of all
PART_BATCH = 8  # results of a thread of that block that are read at a time
ROW_BATCH = 4  # rows of a thread whose values are read before the first of them is used
READ_BATCH = 16  # in `filter` and `reduce`, which write little
ARC_BATCH = 2  # arcs of a thread, likewise
