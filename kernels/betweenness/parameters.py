"""Parameters of betweenness, and the sources and the unit of sums that they determine."""

import math
from typing import Any, NamedTuple

import numpy as np

from kernels.graph import Array

EXACT_BELOW, EPSILON, DELTA = 20_000, 0.1, 0.1
NO_LENGTH = (
    "vertex {} is reached by a shortest path whose last arc has no length (weight 0, or lost in rounding), so paths cannot be "
    "counted; remove such arcs, or set weights = false"
)


class BetweennessParameters(NamedTuple):
    """See `kernels.betweenness.betweenness`."""

    weights: bool
    exact_below: int
    epsilon: float
    delta: float
    seed: int

    def sources(self, num_vertices: int) -> int:
        """Number of sources, k."""
        if num_vertices < self.exact_below:
            return num_vertices
        most = 2 * self.epsilon**2  # 0 if it is too small for a float, as is then its share of any number
        wanted = math.log(2 * max(num_vertices, 1) / self.delta) / most if most else math.inf
        return num_vertices if wanted > num_vertices else math.ceil(wanted)

    def stated(self, num_vertices: int) -> str:
        """How good the answer is, for people."""
        sources = self.sources(num_vertices)
        if sources == num_vertices:
            return "every vertex was a source: the values are exact"
        wrong = f"with probability {1 - self.delta:g} no value is wrong by more than {self.epsilon:g} V (V - 2)"
        return f"{sources} vertices were sources (seed {self.seed}): {wrong}, half of that if edges have no direction"

    def keys(self, ids: Array) -> Array:
        """A distinct number for each external id, uint64; the k vertices with the smallest numbers are the sources.

        It is the finalizer of SplitMix64 (Steele, Lea, Flood: Fast Splittable Pseudorandom Number Generators, OOPSLA 2014).
        """
        keys = ids.astype(np.uint64) ^ np.uint64(_mixed(self.seed))
        for shift, factor in ((30, 0xBF58476D1CE4E5B9), (27, 0x94D049BB133111EB), (31, 1)):
            keys = (keys ^ (keys >> np.uint64(shift))) * np.uint64(factor)
        return keys


def searches(num_vertices: int, **options: Any) -> int:
    """The number of sources by the options of `kernels.betweenness.betweenness`."""
    return checked(**options).sources(num_vertices)


class DependencyUnits(NamedTuple):
    """Units of the sums over k sources."""

    bits: int  # a unit is 2^-bits
    factor: float  # betweenness for each unit


def scale(num_vertices: int, sources: int, directed: bool) -> DependencyUnits:
    """The units of a graph's sums: without direction, each pair of vertices is found from both, and counts once."""
    bits = 62 - (num_vertices * sources).bit_length()
    return DependencyUnits(bits, math.ldexp(num_vertices / max(sources, 1), -bits - (not directed)))


def rows_of(parameters: BetweennessParameters, ids: Array) -> Array:
    """The sources among all rows, by their external ids [V]: int64 [k], ascending rows, on the backend of `ids`."""
    count = parameters.sources(len(ids))
    if count == len(ids):
        return np.arange(count, dtype=np.int64, like=ids)
    rows: Array = np.sort(np.argsort(parameters.keys(ids))[:count].astype(np.int64))
    return rows


def checked(
    weights: bool = True, exact_below: int = EXACT_BELOW, epsilon: float = EPSILON, delta: float = DELTA, seed: int = 0
) -> BetweennessParameters:
    """The parameters; ValueError if one is out of range."""
    for name, value in (("epsilon", epsilon), ("delta", delta)):
        if not 0 < value < 1:
            raise ValueError(f"{name} is {value}, not in 0..1")
    return BetweennessParameters(weights, exact_below, epsilon, delta, seed)


def _mixed(seed: int) -> int:
    """The seed times an odd number, modulo 2^64, so that seeds which differ in a bit give keys that differ in many."""
    return (seed + 1) * 0x9E3779B97F4A7C15 % 2**64
