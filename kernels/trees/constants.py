"""Constants that the CUDA sources and their launchers share."""

LANES = 16  # trees that a core sweeps at a time: the lengths of a position fill one or two lines of its cache
TREE_THREADS = 256  # of a block on a GPU
PROOF_THREADS = 128  # of a block that proves trees
HELD = 128  # in-arcs of 16 or 32 rows, more than roads have, in its shared memory
GROUP = 32  # trees whose lengths of a position are a line in a GPU's memory
# What makes float lengths that are right but for rounding upper bounds: of a million sums in any order, and of tiny ones.
RAISED, RAISED_BY = 1 + 2.0**-30, 2.0**-1000
