"""Constants that the CUDA source and its launcher share."""

COLUMNS = 64  # rankings that are computed at a time
CHUNK = 1024  # arcs of a row whose shares are added one after the other, before those of the next ones
CELL_THREADS = 256  # of a block
