"""Constants that bfs.cu and its launcher share."""

WARP_ROW = 1024  # out-arcs that one warp pushes; those of larger rows are divided among all blocks
