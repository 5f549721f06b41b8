"""Integers that the CPU and the GPU share."""

ARCS_OF_A_SUM = 1024  # a row's arcs are added in parts of so many; each part is added in order, then the parts in order
SPAN = 512  # a value is a double times 2^(SPAN e), with a double below 2^SPAN and an integer e
LANES = 32  # sources that a warp follows at a time
MOST_ROUNDS = 64  # of groups of sources
THREADS = 256
DEEP_THREADS = 512  # of a block that has a source of its own
MOST_THREADS = 1024  # of one that also has a processor of its own
NARROW_ROW = 32  # arcs beyond which a warp takes a row
CONTROL_WORDS = 4  # uint64: see `Control` of values.cuh
