"""Constants that the CUDA sources of this folder share with Python."""

from kernels.operators.constants import (  # noqa: F401
    ALL,
    ARC_BATCH,
    BLOCK_DEGREE,
    CHUNK,
    DENSE,
    FILTER_BATCH,
    HUB_DEGREE,
    ROW_BATCH,
    SPARSE,
    TEAM_LANES,
    THREADS,
    WARP_DEGREE,
)

CONTROL_WORDS = 16  # int64 of Control in repeat.cuh
REPEAT_THREADS = 512  # of a block of a repeated advance
REPEAT_BLOCKS = 2  # of a multiprocessor that a repeated advance has
