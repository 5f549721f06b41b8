"""Constants that the CUDA sources of this folder share with Python."""

from kernels.operators.constants import (  # noqa: F401
    ALL,
    ARC_BATCH,
    BATCH,
    BLOCK_DEGREE,
    CHUNK,
    DENSE,
    HUB_DEGREE,
    SPARSE,
    TEAM_LANES,
    THREADS,
    WARP_DEGREE,
)

CONTROL_WORDS = 16  # int64 of Control in repeat.cuh
REPEAT_BLOCKS = 4  # of a multiprocessor that a repeated advance has at least
