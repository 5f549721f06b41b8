"""Integers that the CPU and the GPU share."""

FREE_ROUNDS = 24  # after these rounds, of neighbours that would move only one does
THREADS = 256  # of a block on the GPU
SMALL_ROW = 32  # arcs of a row that a warp counts without a table
MIDDLE_ROW = 250  # arcs beyond which a block counts
LARGE_ROW = 2000  # arcs beyond which a table may be too large for shared memory
MOST_TRIED = 32  # slots for a label in a table that may be too small
MANY = 64  # if the rows that move have more than one arc of so many, all rows are counted again
MOST_LEAD = 1 << 30  # that is kept
SAMPLED_MAJORITY = 13  # votes of the first 32 for one label, which make a majority likely
CONTROL_WORDS = 10  # uint32: see `Control` of communities.cu
