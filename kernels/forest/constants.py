"""Numbers that Python and CUDA share."""

THREADS = 512  # of a block
CHUNKED_ROW = 32  # arcs from which on warps read a row, in chunks
CHUNK = 1024  # arcs in a chunk, at most
FILTER_ARCS = 1024  # sharded/filter.cu: consecutive arcs that a warp reads
