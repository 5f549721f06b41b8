"""Constants that the CUDA sources and their launchers share."""

LANES = 16  # trees that a core sweeps at a time: the lengths of a position fill one or two lines of its cache
