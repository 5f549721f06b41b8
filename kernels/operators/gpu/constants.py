"""Constants that the CUDA sources of this folder share with Python."""

from kernels.operators.constants import (  # noqa: F401
    ALL,
    ARC_BATCH,
    BLOCK_DEGREE,
    CHUNK,
    DENSE,
    HUB_DEGREE,
    READ_BATCH,
    REDUCE_THREADS,
    ROW_BATCH,
    SPARSE,
    THREADS,
    WARP_DEGREE,
)

SUM_OF, PRODUCT_OF, LEAST_OF, MOST_OF, FIRST_OF = 1, 2, 3, 4, 5  # how values are combined; 0: not at all
HUBS, BLOCK_ROWS, WARP_ROWS, SHORT_ROWS, GROUPS = 0, 1, 2, 3, 4  # groups of rows by degree, and how many these are
CONTROL_WORDS = 19  # int64 of Control in repeat.cuh
MANY_ROWS = 128  # of a warp, in a round that does not divide them into pieces
PIECE = 128  # arcs of a row that a warp of a repeated advance takes at a time
REPEAT_THREADS = 512  # of a block of a repeated advance
REPEAT_BLOCKS = 2  # of a multiprocessor that a repeated advance has
