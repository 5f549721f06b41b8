"""Constants that the CUDA sources and their launchers share."""

THREADS = 512  # of a block of a search
STRIDING_THREADS = 256  # of a block of a kernel whose threads stride over rows
CHAINED_ARCS = 10  # slots.cuh: a row of up to 4 arcs takes one Quad, of up to 7 two, of up to 10 three
LANE_ARCS = 32  # bottom_up.cuh: arcs that a lane tries before its row waits for a warp
WARP_ARCS = 512  # bottom_up.cuh: further arcs that the warp tries before the row waits for a block
CONTROL_WORDS = 14  # 64-bit words of the largest Control
WARP_ROW = 1024  # sharded/bfs.cu: out-arcs that one warp pushes; those of larger rows are divided among all blocks
