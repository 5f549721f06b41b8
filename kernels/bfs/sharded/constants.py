"""Constants that bfs.cu and its launcher share."""

WARP_ROW = 1024  # out-arcs that a warp pushes by itself; those of larger rows are divided among all blocks
