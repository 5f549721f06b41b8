"""Constants that the CUDA sources of this folder share with Python."""

HEADER_WORDS = 3  # of a page: vertices, last used word of the lists, whether it is part of a large list
MOST_WORDS = 2048  # of a page, at most
PAGE_THREADS = 128  # of a block that rewrites a page
LOOKUP_THREADS = 256  # of a block of a kernel with a thread, or a warp, per item
