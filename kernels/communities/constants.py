"""Integers that the CPU and the GPU share."""

FREE_ROUNDS = 24  # after these rounds, of neighbours that would move only one does
THREADS = 256  # of a block on the GPU
SMALL_ROW = 32  # arcs of a row that a warp counts without a table
LARGE_ROW = 2048  # arcs beyond which a block counts
CONTROL_WORDS = 4  # uint32: barrier, rows that prefer another label in two rounds, rounds
