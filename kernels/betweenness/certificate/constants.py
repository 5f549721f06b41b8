"""Integers that Python and CUDA share."""

BLOCK = 256  # threads
LONG_ROW = 512  # arcs beyond which a block takes a row
WORDS = 5  # float64 of the control
DEEP = 48  # levels from which a block takes a source
NARROW = 32  # arcs beyond which a warp takes a row, where a block has a source of its own
