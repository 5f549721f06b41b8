"""Constants that the CUDA sources of this folder share with launchers."""

BITS_SUM_WORDS = 4  # bits.cu: words at the end of a message that all ranks add up
BITS_BATCH = 8  # bits.cu: words that a warp packs at a time

LEVEL_THREADS = 512  # levels.cuh: in a block
LEVEL_CHUNK = 1024  # levels.cuh: arcs of a queue's entry, at most
LEVEL_LANE_ARCS = 32  # levels.cuh: an entry of fewer arcs is read by one lane
LEVEL_FEW = 512  # levels.cuh: entries of a level, at most, that a single block reads
