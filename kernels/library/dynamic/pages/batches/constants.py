"""Constants that the CUDA sources of this folder share with Python."""

NEW, APPLIED, DUPLICATE, MISSING = 0, 1, 2, 3  # states of an arc of a batch; those before DUPLICATE change the graph
SMALL, LARGE, ABSENT, CHANGED, PAGES, FULL, AGAIN, RELAID = 0, 1, 2, 3, 4, 5, 6, 7  # counters, see batches.cuh
COUNTERS = 8
