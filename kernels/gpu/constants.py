"""Constants that the CUDA headers of this folder share with launchers."""

RADIX_THREADS = 512  # radix_sort.cu: in a block
RADIX_ITEMS = 14  # radix_sort.cu: keys of a thread, even; with more they do not stay in registers
RADIX_DIGITS = 256  # radix_sort.cu: values of a digit of 8 bits
TILE_CHUNK_ARCS = 2048  # tiles/: arcs of a tile that are the work of a warp
THIN_ROUND = 32  # rows or tasks with fewer of which a round takes a GPU longer than a CPU (kernels.gpu.deep)
STATUS_FLAG_BITS = 2  # look_back.cuh: highest bits of a status word, which state what the others hold
