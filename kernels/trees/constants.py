"""Constants that the CUDA sources and their launchers share."""

LANES = 16  # trees that a core sweeps at a time: the lengths of a position fill one or two lines of its cache
TREE_THREADS = 256  # of a block on a GPU
GROUP = 32  # trees whose lengths of a position are a line in a GPU's memory
