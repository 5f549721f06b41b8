"""Constants that the CUDA sources of this folder share with Python."""

SCAN_THREADS = 128  # of a block, which scans twice as many values
SCAN_SUM, SCAN_PRODUCT, SCAN_MAX, SCAN_MIN = 0, 1, 2, 3  # operators of scan.cu
SEARCH_THREADS = 256  # of a block of search.cu
CONTROL_WORDS = 5  # uint64 of Control in search.cuh
UNSEEN, NO_VERTEX = -1, -2  # levels of rows that are not reached yet, and of removed vertices
