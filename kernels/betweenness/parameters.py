"""Parameters of betweenness, and the sources and the unit of sums that they determine."""

import math
from collections.abc import Sequence
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

    weights: bool = True
    exact_below: int = EXACT_BELOW
    epsilon: float = EPSILON
    delta: float = DELTA
    seed: int = 0
    normalized: bool = False
    endpoints: bool = False
    given: tuple[int, ...] = ()  # external ids of the sources; none: every vertex, or drawn ones
    of_edges: bool = False  # whether values are of edges, at which paths may begin and end

    @property
    def with_ends(self) -> bool:
        """Whether a path counts at what it begins and ends with."""
        return self.endpoints or self.of_edges

    def sources(self, num_vertices: int, num_values: int) -> int:
        """Number of sources, k, for this number of values that are estimated if sources are drawn."""
        if self.given or num_vertices < self.exact_below:
            return len(self.given) or num_vertices
        most = 2 * self.epsilon**2  # 0 if it is too small for a float, as is then its share of any number
        wanted = math.log(2 * max(num_values, 1) / self.delta) / most if most else math.inf
        return num_vertices if wanted > num_vertices else math.ceil(wanted)

    def stated(self, num_vertices: int, num_values: int) -> str:
        """How good the answer is, for people."""
        sources = self.sources(num_vertices, num_values)
        if self.given:
            return f"the {sources} given vertices were the sources: what their paths contribute is exact"
        if sources == num_vertices:
            return "every vertex was a source: the values are exact"
        if self.normalized:
            most, rest = "V / (V - 1)", ""
        else:
            most, rest = f"V (V - {1 if self.with_ends else 2})", ", half of that if edges have no direction"
        wrong = f"with probability {1 - self.delta:g} no value is wrong by more than {self.epsilon:g} {most}"
        return f"{sources} vertices were sources (seed {self.seed}): {wrong}{rest}"

    def keys(self, ids: Array) -> Array:
        """A distinct number for each external id, uint64; the k vertices with the smallest numbers are the sources.

        It is the finalizer of SplitMix64 (Steele, Lea, Flood: Fast Splittable Pseudorandom Number Generators, OOPSLA 2014).
        """
        keys = ids.astype(np.uint64) ^ np.uint64(_mixed(self.seed))
        for shift, factor in ((30, 0xBF58476D1CE4E5B9), (27, 0x94D049BB133111EB), (31, 1)):
            keys = (keys ^ (keys >> np.uint64(shift))) * np.uint64(factor)
        return keys


def searches(num_vertices: int, num_arcs: int, **options: Any) -> int:
    """The number of sources by the options of `kernels.betweenness.betweenness`; of an estimate."""
    return checked(**options).sources(num_vertices, num_vertices)


def searches_of_edges(num_vertices: int, num_arcs: int, **options: Any) -> int:
    """The number of sources by the options of `kernels.betweenness.edges.edge_betweenness`; of an estimate."""
    return checked(of_edges=True, **options).sources(num_vertices, num_arcs)


class DependencyUnits(NamedTuple):
    """Units of the sums over k sources."""

    bits: int  # a unit is 2^-bits
    factor: float  # the value for each unit


def scale(parameters: BetweennessParameters, num_vertices: int, sources: int, directed: bool) -> DependencyUnits:
    """The units of a graph's sums: without direction, each pair of vertices is found from both, and counts once.

    Sums of drawn sources are multiplied by V / k. A share of all pairs, in order, needs no such halving.
    """
    bits = 62 - (num_vertices * sources).bit_length()
    multiple = 1.0 if parameters.given else num_vertices / max(sources, 1)
    if parameters.normalized:
        last = num_vertices - 1 if parameters.with_ends else num_vertices - 2
        pairs = max((last + 1) * last, 1)  # without pairs every value is 0
        return DependencyUnits(bits, math.ldexp(multiple / pairs, -bits))
    return DependencyUnits(bits, math.ldexp(multiple, -bits - (not directed)))


def rows_of(parameters: BetweennessParameters, ids: Array, num_values: int | None = None) -> Array:
    """The sources among all rows, by their external ids [V]: int64 [k], ascending rows, on the backend of `ids`.

    `num_values` as `BetweennessParameters.sources`; None: a value for each row. Raises ValueError for a given source that is not
    among the ids.
    """
    if parameters.given:
        return _given_rows(parameters.given, ids)
    count = parameters.sources(len(ids), len(ids) if num_values is None else num_values)
    if count == len(ids):
        return np.arange(count, dtype=np.int64, like=ids)
    rows: Array = np.sort(np.argsort(parameters.keys(ids))[:count].astype(np.int64))
    return rows


def _given_rows(given: tuple[int, ...], ids: Array) -> Array:
    order = np.argsort(ids)
    ascending, wanted = ids[order], np.asarray(np.array(sorted(given), np.int64), like=ids)
    places = np.searchsorted(ascending, wanted)
    known = places < len(ids)
    known[known] = ascending[places[known]] == wanted[known]
    if not known.all():
        raise ValueError(f"source {int(wanted[int(known.argmin())])} is not in the graph")
    rows: Array = np.sort(order[places].astype(np.int64))
    return rows


def checked(*values: Any, sources: Sequence[int] = (), **named: Any) -> BetweennessParameters:
    """The parameters of these values, in order or by name; ValueError if one is out of range, or a source is given twice."""
    parameters = BetweennessParameters(*values, **named)._replace(given=tuple(map(int, sources)))
    for name in ("epsilon", "delta"):
        if not 0 < (value := getattr(parameters, name)) < 1:
            raise ValueError(f"{name} is {value}, not in 0..1")
    if len({*parameters.given}) < len(parameters.given):
        raise ValueError("a source is given twice")
    return parameters


def _mixed(seed: int) -> int:
    """The seed times an odd number, modulo 2^64, so that seeds which differ in a bit give keys that differ in many."""
    return (seed + 1) * 0x9E3779B97F4A7C15 % 2**64
