"""Constants that the CUDA sources and their launchers share."""

THREADS = 512  # of a block
SMALL_ROW = 32  # predecessors.cu: a lane searches a row of fewer in-arcs, a warp a row of more,
LARGE_ROW = 8192  # and a block a row of this many or more
WAITS = -2  # predecessors.cu: predecessor of a row that only tight arcs of length zero reach, until the second step
TEAM_CONTROL_WORDS = 5  # lists.cuh: 64-bit words of Control
