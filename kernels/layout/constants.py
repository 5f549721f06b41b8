"""Constants that the CUDA sources of this folder share with Python."""

WARP_DEGREE = 32  # rows of this many arcs or more come first, independently of windows
LAYOUT_THREADS = 256  # threads of a block
WARP_ARCS = 1024  # consecutive arcs that a warp of `visit_arcs` processes
PACK_EDGES = 4  # edges of a thread of `pack_edges`
UNPACK_KEYS = 8  # keys of a thread of `unpack_arcs`
TAIL_BIN_BITS = 12  # `count_tails` counts at most 2^12 bins
