"""Integers that Python and CUDA share."""

THREADS = 256  # of a block
PHASE_WORDS = 3  # int64: see `Phase` of phases.cuh
CONTROL_WORDS = 1 + 3 * PHASE_WORDS  # int64: see `Control` of phases.cuh
