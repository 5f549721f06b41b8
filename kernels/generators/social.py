"""A social graph: degrees by a power law, and communities in which friends of friends are friends.

The method is BTER, Block Two-Level Erdős-Rényi: vertices in the order of their degrees are divided into communities of d + 1, of
which the first has degree d. Within one, each pair is joined with a probability p, such that p^3 is the clustering coefficient
that vertices of degree d get; it falls exponentially with d. The edges that a vertex then lacks lead to others that lack edges,
in proportion to these. So degrees and coefficients are expected values.

Source: Kolda, Pinar, Plantenga, Seshadhri, A Scalable Generative Graph Model with Community Structure, SIAM Journal on Scientific
Computing 36, 2014. Truncation of degrees: Boguñá, Pastor-Satorras, Vespignani, European Physical Journal B 38, 2004.
"""

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from math import comb, log, sqrt

import numpy as np

from kernels.generators.constants import COMMUNITY_COLUMNS, EXCESS_UNITS, MEMBER_COLUMNS, SOCIAL
from kernels.generators.drawing import WORD_MASK, Drawing
from kernels.graph import Array


@dataclass(frozen=True)
class Communities:
    """Communities of equal size that follow each other."""

    first: int  # vertex
    size: int  # of each
    number: int
    density: float  # probability that two vertices of one are joined
    members: list[tuple[int, int, int]]  # the first vertex, number and degree of those of equal degree


EXPONENT, DEGREE, CLUSTERING = 2.5, 32.0, 0.3
_MOST_CLUSTERING = 0.95  # of the smallest degree, as in the source
_STEPS = 80  # of a bisection


def social(
    vertices: int, seed: int = 1, degree: float = DEGREE, exponent: float = EXPONENT, clustering: float = CLUSTERING
) -> Drawing:
    """A social graph.

    Args:
        vertices: Number of ids; few of them get no edge.
        seed: Of the random numbers.
        degree: Expected mean degree.
        exponent: Of the power law: about d^-exponent of the vertices have degree d. No degree is expected to be larger than the
            root of the sum of all degrees, above which edges would have to be parallel.
        clustering: Mean of the local clustering coefficients that communities are made for.

    Raises:
        ValueError: A number is not in its range, which the message states.
    """
    _require("vertices", vertices, 2, (1 << 31) - 1)
    _require("degree", degree, 1, vertices / 4)
    _require("exponent", exponent, 1.5, 10)
    _require("clustering", clustering, 0, 0.9)
    degrees, counts = _degrees(vertices, float(degree), float(exponent))
    communities = [*_communities(degrees.tolist(), counts.tolist(), _densities(degrees, counts, clustering))]
    inside, blocks = _running(
        (round(comb(of.size, 2) * -log(1 - of.density)), of.number, (of.first, of.size)) for of in communities
    )
    outside, members = _running(
        (round(EXCESS_UNITS * max(0.0, degree - of.density * (of.size - 1))), count, (first,))
        for of in communities
        for first, count, degree in of.members
    )
    bits, num_edges = max(1, (vertices - 1).bit_length()), inside + outside // (2 * EXCESS_UNITS)
    tables = _table(blocks, COMMUNITY_COLUMNS), _table(members, MEMBER_COLUMNS)
    return Drawing(SOCIAL, seed & WORD_MASK, bits, vertices, num_edges, *tables, inside, outside)


def _running(items: Iterable[tuple[int, int, tuple[int, ...]]]) -> tuple[int, list[tuple[int, ...]]]:
    """Of items (how much each of a number has, this number, row) the sum, and rows: the sum before them, their own, how much."""
    total, rows = 0, []
    for each, number, row in items:
        if each:
            rows.append((total, *row, each))
            total += each * number
    return total, rows


def _table(rows: list[tuple[int, ...]], columns: int) -> Array:
    table: Array = np.array(rows, np.uint64).reshape(-1, columns)
    return table


def _require(name: str, value: float, least: float, most: float) -> None:
    if not least <= value <= most:
        raise ValueError(f"{name} {value} is not in {least:g}..{most:g}")


def _degrees(vertices: int, mean: float, exponent: float) -> tuple[Array, Array]:
    """Degrees, ascending, and how many vertices have each, int64: values of a truncated Pareto distribution, rounded up."""
    most = min(vertices - 1.0, sqrt(vertices * mean))
    values = np.arange(1, int(most) + 2)

    def counted(least: float) -> Array:
        below = np.clip(
            (1 - (least / np.maximum(values, least)) ** (exponent - 1)) / (1 - (least / most) ** (exponent - 1)), 0, 1
        )
        below[-1] = 1
        of_degrees: Array = np.diff(np.rint(vertices * below), prepend=0).astype(np.int64)
        return of_degrees

    # a vertex whose value is in d - 1..d has degree d
    least = _solved(lambda least: float((counted(least) * values).sum()) / vertices - mean, 0.05, min(mean, most * 0.999))
    counts = counted(least)
    return values[counts > 0], counts[counts > 0]


def _densities(degrees: Array, counts: Array, clustering: float) -> Callable[[int], float]:
    """The probability of an edge within the community of a vertex, by its degree."""
    if clustering == 0:
        return lambda degree: 0.0
    share = counts / counts.sum()

    def mean(fall: float) -> float:
        return float((share[degrees > 1] * _MOST_CLUSTERING * np.exp(-fall * (degrees[degrees > 1] - 1.0))).sum())

    fall = _solved(lambda fall: clustering - mean(fall), 0.0, 10.0)
    return lambda degree: float((_MOST_CLUSTERING * np.exp(-fall * (degree - 1))) ** (1 / 3)) if degree > 1 else 0.0


def _solved(rising: Callable[[float], float], low: float, high: float) -> float:
    """Where a function changes its sign."""
    for _ in range(_STEPS):
        middle = (low + high) / 2
        low, high = (low, middle) if rising(middle) > 0 else (middle, high)
    return (low + high) / 2


def _communities(degrees: list[int], counts: list[int], density: Callable[[int], float]) -> Iterator[Communities]:
    """All communities, in the order of the vertices."""
    first, place, left, total = 0, 0, counts[0], sum(counts)
    while first < total:
        size = min(degrees[place] + 1, total - first)
        number, chance = max(1, left // size), density(degrees[place])
        members, missing, begin = [], number * size, first
        while missing:
            taken = min(missing, left)
            members.append((begin, taken, degrees[place]))
            begin, missing, left = begin + taken, missing - taken, left - taken
            if not left and place + 1 < len(counts):
                place += 1
                left = counts[place]
        yield Communities(first, size, number, chance, members)
        first = begin
