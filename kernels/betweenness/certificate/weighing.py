"""What the passes over the paths of some sources are given, and what they return."""

from typing import NamedTuple

from kernels.graph import Array


class PathWeights(NamedTuple):
    """What the paths from some sources weigh, and a bound on the relative error of that."""

    weight: float
    error: float


class Weighing(NamedTuple):
    """What paths are weighed by."""

    weights: bool  # whether lengths are weights
    ends: bool  # whether a path's ends weigh
    of_arcs: bool
    drawn: Array  # float64 [V]: weights of rows, or of in-arcs, [A]
