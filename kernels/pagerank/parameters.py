"""Parameters of the power iteration."""

import math
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from kernels.graph import Array
from kernels.pagerank.constants import SETTLED

DAMPING = 0.85
TOLERANCE = 1e-6
MOST_ITERATIONS = 100
PRECISE_BELOW = 1e-6  # a tolerance that shares rounded to float, as on a GPU, do not reach


class PageRankParameters(NamedTuple):
    """See `kernels.pagerank.pagerank`."""

    damping: float
    tolerance: float  # 0 for a fixed number of iterations, which no change ends
    most_iterations: int

    @property
    def settled(self) -> float:
        """A score has settled when its change is at most 1 over this of it."""
        return SETTLED * slowness(self.damping)

    @property
    def is_precise(self) -> bool:
        """Whether shares must not be rounded to float."""
        return 0 < self.tolerance < PRECISE_BELOW


class Personalization(NamedTuple):
    """Where a surfer jumps to: to each of some rows with a probability of its own; arrays of NumPy."""

    rows: Array  # int64 [s]: the seeds, each once
    weights: Array  # float64 [s]: positive; they sum to 1

    @classmethod
    def to(cls, row: int) -> "Personalization":
        """The one of a single seed."""
        return cls(np.array([row], np.int64), np.ones(1))


# A surfer who jumps to any vertex, as without seeds.
ANYWHERE = Personalization(np.empty(0, np.int64), np.empty(0))


def columns_of(personalizations: Sequence[Personalization]) -> tuple[Array, Array, Array]:
    """All seeds of K personalizations: rows, the column that each belongs to, int64 [S], and weights [S]."""
    lengths = [len(one.rows) for one in personalizations]
    rows, weights = (np.concatenate(parts) for parts in zip(*personalizations, strict=True))
    return rows.astype(np.int64), np.repeat(np.arange(len(lengths)), lengths), weights


def slowness(damping: float) -> float:
    """How many times as far as with damping 0.85 scores may still be from their limit after the same change; at least 1."""
    return max(1.0, (1 - DAMPING) / (1 - damping)) if damping < 1 else math.inf


def checked(damping: float, tolerance: float, iterations: int | None = None) -> PageRankParameters:
    """Return the parameters, or raise ValueError as `pagerank` does."""
    if not 0 <= damping <= 1:
        raise ValueError(f"damping {damping} is not in 0..1")
    if not tolerance >= 0:
        raise ValueError(f"tolerance {tolerance} is negative or not a number")
    if iterations is None:
        return PageRankParameters(damping, tolerance, _enough(damping, tolerance))
    if iterations < 0:
        raise ValueError(f"iterations {iterations} is negative")
    return PageRankParameters(damping, 0.0, iterations)


def searches(_: int, __: int, damping: float, tolerance: float, iterations: int | None, **___: object) -> int:
    """How many times as many iterations as with the defaults there may be, rounded up; those of a fixed number are made twice."""
    needed = _enough(damping, tolerance) if iterations is None else 2 * iterations
    return math.ceil(needed / MOST_ITERATIONS)


def _enough(damping: float, tolerance: float) -> int:
    """After how many iterations the change, 2 at first, is surely below the tolerance; a few more, so that scores settle."""
    if not (0 < damping < 1 and tolerance > 0):
        return MOST_ITERATIONS
    return max(MOST_ITERATIONS, math.ceil(math.log(tolerance / 2) / math.log(damping)) + 10)
