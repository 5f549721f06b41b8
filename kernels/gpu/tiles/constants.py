"""Constants that the CUDA source of this folder shares with Python."""

CHUNK_ARCS = 2048  # arcs of a tile that are the work of a warp
