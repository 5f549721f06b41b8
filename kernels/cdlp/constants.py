"""Integers that Python and CUDA share."""

THREADS = 256  # of a block
SMALL_ROW = 32  # arcs of a row that a warp counts without a table
MIDDLE_ROW = 250  # arcs beyond which a block counts
LARGE_ROW = 2000  # arcs beyond which a table may be too large for shared memory
MOST_TRIED = 32  # slots for a label in a table that may be too small
SAMPLED_MAJORITY = 13  # votes of the first 32 for one label, which make a majority likely
MANY = 8  # if more than one row of so many gets another label, all rows are counted again
