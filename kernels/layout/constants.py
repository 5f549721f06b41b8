"""Constants that the CUDA sources of this folder share with Python."""

WARP_DEGREE = 32  # rows of fewer arcs are lanes of the vector extension
LAYOUT_THREADS = 256  # threads of a block
WARP_ARCS = 1024  # consecutive arcs that a warp of `visit_arcs` processes
PACK_EDGES = 4  # edges of a thread of `pack_edges`
UNPACK_KEYS = 8  # keys of a thread of `unpack_arcs`
TAIL_BIN_BITS = 12  # `count_tails` counts at most 2^12 bins
LANES = 32  # of a segment of the vector extension, and of a warp
