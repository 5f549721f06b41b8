"""Parameters of the power iteration."""

from typing import NamedTuple

DAMPING = 0.85
TOLERANCE = 1e-6
MOST_ITERATIONS = 100


class PageRankParameters(NamedTuple):
    """See `kernels.pagerank.pagerank`."""

    damping: float
    tolerance: float
    most_iterations: int


def checked(damping: float, tolerance: float, most_iterations: int) -> PageRankParameters:
    """Return the parameters, or raise ValueError as `pagerank` does."""
    if not 0 <= damping <= 1:
        raise ValueError(f"damping {damping} is not in 0..1")
    if not tolerance >= 0:
        raise ValueError(f"tolerance {tolerance} is negative or not a number")
    return PageRankParameters(damping, tolerance, most_iterations)
