"""Numbers that Python and CUDA share."""

BIT_ROWS = 1 << 15  # labels whose lists are also bits, on a CPU; label l has l bits
MUCH_LONGER = 16  # a list that is so many times longer than another is searched for its entries; otherwise both are merged
THREADS = 256  # of a block on a GPU
WIDE_ROW = 4096  # arcs from which a block reads a row, and not a warp
DEVICE_BIT_ROWS = 1 << 18  # as BIT_ROWS, on a GPU, at most: 4.3 GB
EDGE_THREADS = 256  # of a block of the certificate
MOST_HUBS = 1 << 14  # rows of bits of the certificate, at most
