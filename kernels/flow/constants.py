"""Integers that Python and CUDA share."""

THREADS = 768  # of a block, which solves for one pair; more would not leave it enough registers
PROOF_THREADS = 512  # of a block, which checks one pair
