"""Constants that the CUDA sources of this folder share with Python."""

TILE_ROUND = 256  # arcs of a tile that a warp visits at a time, and totals that it stages
