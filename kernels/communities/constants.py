"""Integers that the CPU and the GPU share."""

FREE_ROUNDS = 24  # after these rounds, of neighbours that would move only one does
