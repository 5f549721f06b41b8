"""What searches derive from the weights of all arcs."""

import numpy as np

from kernels.graph import Array

_PIECE = 1 << 30  # weights that are reduced at a time: of 2^31 and more, CuPy makes one block reduce them all


def heaviest_and_sum(weights: Array) -> tuple[float, float]:
    """The largest weight, and the sum, in float64; both are 0 without weights, which are never negative."""
    pieces = [weights[begin : begin + _PIECE] for begin in range(0, len(weights), _PIECE)]
    sums = [float(piece.sum(dtype=np.float64)) for piece in pieces]
    return max((float(piece.max()) for piece in pieces), default=0.0), sum(sums)
