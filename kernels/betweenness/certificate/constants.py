"""Integers that Python and CUDA share."""

WIDTH = 32  # sources that a warp follows at a time
BLOCK = 256  # threads
LONG_ROW = 512  # arcs beyond which a block takes a row
WORDS = 6  # uint32 of the control
NARROW = 32  # arcs beyond which a warp takes a row, where a block has a source of its own
