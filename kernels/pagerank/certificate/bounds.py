"""What the certificates of PageRank require, by the parameters of the iteration; `kernels.pagerank.certificate` has the proof."""

import math
from typing import Any, NamedTuple

import numpy as np

from kernels.certificate.rules import Broken
from kernels.graph import Array
from kernels.pagerank.parameters import DAMPING, TOLERANCE, slowness

FARTHEST_RELATIVE = 0.1  # from each true score, in proportion to it
CLOSE = 0.02  # a proven bound for which no further step is taken
# From what a fixed number of iterations gives in doubles, in proportion to each score: a GPU's shares are floats. It is what LDBC
# Graphalytics allows.
FARTHEST_RECOUNTED = 1e-4
EPSILON = 2.0**-52  # a sum of n positive doubles, in any order, is wrong by less than n times this part of it
OPERATIONS = 8  # of a step, apart from sums
_RELATIVE_CHANGE = 0.008  # a little more than 1/128, see `kernels.pagerank.constants`
_STEPS = 100  # with damping 0.85
_BLOCK = 4096


class Bounds(NamedTuple):
    """For a damping below 1 and a tolerance."""

    damping: float
    tolerance: float

    @property
    def change(self) -> float:
        """In sum: twice the change at which a kernel stops that rounds shares to float."""
        return 2 * self.tolerance

    @property
    def farthest(self) -> float:
        """From the true scores, in sum."""
        return self.change / (1 - self.damping)

    @property
    def relative_change(self) -> float:
        """Of each score."""
        return _RELATIVE_CHANGE / slowness(self.damping)

    @property
    def steps(self) -> int:
        """Of the certificate, at most: as many as reduce differences as 100 do with damping 0.85."""
        return math.ceil(_STEPS * max(1.0, math.log(DAMPING) / math.log(self.damping))) if self.damping else _STEPS

    @property
    def rules(self) -> tuple[str, ...]:
        """What is checked of each vector of scores."""
        changes = f"a step of the iteration in doubles changes the scores by {self.change:g} in sum at most"
        return (
            "every score is a positive finite number",
            f"the scores sum to 1, to {self.change:g}",
            f"{changes}: PageRank is within {self.farthest:.2g}{self._stated}",
            f"the step changes no score by more than {self.relative_change:.6g} of itself",
        )

    @property
    def _stated(self) -> str:
        return "" if self.damping == DAMPING else f", with damping {self.damping:g}"


DEFAULT = Bounds(DAMPING, TOLERANCE)
FARTHEST, MOST_CHANGE, RULES = DEFAULT.farthest, DEFAULT.change, DEFAULT.rules


def bounds_of(damping: float, tolerance: float) -> Bounds:
    """The bounds. Raises Broken for a damping of 1, with which PageRank is not unique."""
    if not 0 <= damping < 1:
        raise Broken(f"damping is {damping:g}, and PageRank is unique below 1 only; state a number of iterations")
    return Bounds(damping, tolerance)


def blocked_sum(array: Array) -> Any:
    """Sum of an array [n], or of each column of one [n, K], by blocks, so that it rounds as a sum of few terms does."""
    whole = len(array) // _BLOCK * _BLOCK
    blocks = array[:whole].reshape(-1, _BLOCK, *array.shape[1:])
    return blocks.sum(axis=1).sum(axis=0) + array[whole:].sum(axis=0)


def terms_of_sum(num_vertices: int) -> float:
    """After how many roundings a `blocked_sum` of all rows, and the sum of the ranks' sums, is known."""
    return 3.0 * _BLOCK + num_vertices / _BLOCK


def stated(bound: float) -> str:
    """A bound as text, not less than itself after rounding."""
    return f"{1.005 * np.float64(bound):.3g}"
