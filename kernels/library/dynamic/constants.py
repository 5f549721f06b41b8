"""Constants that the CUDA sources of this folder share with Python."""

SCAN_THREADS = 128  # of a block, which scans twice as many values
SCAN_SUM, SCAN_PRODUCT, SCAN_MAX, SCAN_MIN = 0, 1, 2, 3  # operators of scan.cu
