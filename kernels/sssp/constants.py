"""Constants that the CUDA sources and their launchers share."""

QUEUE_ROW = 32  # queues.cuh: out-arcs from which on a row is queued as chunks, in place of itself
CHUNK_ARCS = 512  # queues.cuh: arcs of a chunk, at most
CHUNK_BYTES = 16  # queues.cuh: of struct Chunk
CONTROL_BYTES = 256  # at least those of the largest Control
PROGRESS_WORDS = 2  # sharded/sssp.cu: 64-bit words of struct Progress
