"""Proof of betweenness: a randomly weighted sum of its values equals the sum of the mean weights of all shortest paths.

With any weights r, the sum of r[v] * (dependency of s on v) over all v equals the sum over all t of f(t), the mean weight of the
inner vertices of a shortest path from s to t, of all of these paths. f follows the paths outwards: f(w) is the mean of
f(v) + r[v] over the tails v of tight in-arcs, where a tail counts as often as there are paths to it. So no dependency is
computed, there is one pass where the solver has two, and numbers of paths are kept as logarithms. Distances are those of `bfs` or
`sssp`, each proved by its own certificate.

The weights are drawn for each proof, and divided by the stated value plus 1, so that all values have a like part of the sum, and
wrong ones are seen wherever they are. Errors of rounding are bounded for sums of n numbers by sqrt(n), as Higham and Mary do (A
New Approach to Probabilistic Rounding Error Analysis, SIAM J. Sci. Comput. 41, 2019).

This is the method of Freivalds (Probabilistic Machines Can Use Less Running Time, IFIP 1977), for sums over paths.
"""

import math
from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from kernels.answers import Betweenness, Certificate
from kernels.arrays import frozen, is_cupy
from kernels.betweenness.parameters import BetweennessParameters, DependencyUnits, checked, rows_of, scale
from kernels.bfs import bfs
from kernels.bfs.certificate import certify_bfs
from kernels.certificate.rules import Broken, at, name_of, require_form
from kernels.cpu.compiled import njit
from kernels.cpu.parallel import cores, over_items
from kernels.graph import Array, Graph
from kernels.sssp import sssp
from kernels.sssp.certificate import certify_sssp

EPS, LAMBDA = 2.0**-52, 8.0  # a bound with LAMBDA fails with a probability of 2 exp(-LAMBDA^2 / 2), 3e-14
_EXACT = 2.0**50  # units from which the quotient of two doubles may not be the integer
RULES = (
    "every value is an integer number of units, and not negative",
    "the distances from every source are proved, or found again",
    "a randomly weighted sum of all values equals that of the mean weights of all shortest paths",
)


def certify_betweenness(graph: Graph, answer: Betweenness, **options: Any) -> Certificate:
    """Prove betweenness with these options of `kernels.betweenness.betweenness`. O(V + A) time for each source.

    The last rule states how much a single value can be wrong at most without being seen. Nothing is raised for a
    malformed answer.
    """
    parameters = checked(**options)
    try:
        return _check(graph, answer, parameters)
    except Broken as broken:
        return Certificate(False, str(broken), RULES)


class PathWeights(NamedTuple):
    """What the paths from some sources weigh, and a bound on the relative error of that."""

    weight: float
    error: float


def _check(graph: Graph, answer: Betweenness, parameters: BetweennessParameters) -> Certificate:
    num_rows, kind = graph.num_vertices, type(graph.ids) if is_cupy(graph) else np.ndarray
    stated = require_form("betweenness", answer.betweenness, num_rows, np.dtype(np.float64), kind)
    sources = rows_of(parameters, graph.ids)
    units = scale(num_rows, len(sources), graph.directed)
    dependencies = in_units(graph, stated, units) * 2.0**-units.bits
    drawn = weights_of(dependencies)
    if is_cupy(graph):
        weighed = _on_gpu(graph, parameters.weights, sources, drawn)
    else:
        parts = np.array_split(sources, min(4 * cores(), max(len(sources), 1)))
        weighed = combined(over_items(parts, lambda part: of_sources(graph, parameters.weights, part, drawn)))
    least = compared(drawn, dependencies, len(sources), units, weighed)
    return Certificate(True, "", (*RULES, f"{least}; {parameters.stated(num_rows)}"))


def _on_gpu(graph: Graph, weights: bool, sources: Array, drawn: Array) -> PathWeights:
    from kernels.betweenness.certificate.cuda import paths_from

    weight, rounds, logarithm = paths_from(graph, weights, sources, drawn)
    terms = int(np.diff(graph.into.offsets).max()) if graph.num_arcs else 1
    return PathWeights(weight, relative_error(rounds, terms, logarithm))


def in_units(graph: Any, stated: Array, units: DependencyUnits) -> Array:
    """Values as numbers of units, float64; Broken unless they are integers from 0 on, as far as doubles can say so."""
    dependencies = np.rint(stated / units.factor)
    exact = (dependencies * units.factor == stated) | (dependencies > _EXACT)
    wrong = np.signbit(stated) | ~np.isfinite(stated) | ~exact  # -0.0 is not 0 units
    if wrong.any():
        row = int(wrong.argmax())
        value = f"vertex {name_of(graph, row)}: betweenness {float(at(stated, row))}"
        raise Broken(f"{value} is not 0 or more units of {units.factor!r}")
    return dependencies


def weights_of(dependencies: Array) -> Array:
    """Random weights, float64 [V]."""
    drawn: Array = np.asarray(np.random.default_rng().uniform(1, 2, len(dependencies)), like=dependencies)
    drawn /= 1 + dependencies
    return drawn


def combined(parts: Sequence[PathWeights]) -> PathWeights:
    """What the paths from all sources weigh."""
    return PathWeights(math.fsum(of.weight for of in parts), max(of.error for of in parts))


def compared(drawn: Array, dependencies: Array, sources: int, units: DependencyUnits, paths: PathWeights) -> str:
    """Compare the weighted sum of the stated `dependencies` with what paths weigh; say which wrong values would be seen."""
    stated = float((drawn * dependencies).sum())
    tolerance = (2 * paths.error + EPS * LAMBDA * math.sqrt(len(drawn))) * max(stated, paths.weight)
    tolerance += LAMBDA * math.sqrt(sources) * float(np.sqrt((drawn**2).sum())) * 2.0**-units.bits
    if not abs(stated - paths.weight) <= tolerance:
        raise Broken(f"the weighted sum of all values is {stated:.15g}, but paths weigh {paths.weight:.15g}")
    return f"one wrong value is seen if the sum of its dependencies, plus 1, is wrong by {2 * tolerance:.0e} of that"


def of_sources(graph: Graph, weights: bool, sources: Array, drawn: Array) -> PathWeights:
    """What the paths from some sources weigh; Broken where a distance is wrong."""
    search, certify = (sssp, certify_sssp) if weights and graph.out.weights is not None else (bfs, certify_bfs)
    lengths = graph.into.weights if search is sssp and graph.into.weights is not None else np.empty(0, np.int64)
    weight, error = [0.0], 0.0
    for source in sources.tolist():
        paths = search(graph, source)
        verdict = certify(graph, paths)
        if not verdict.holds:
            raise Broken(f"from source {name_of(graph, source)}: {verdict.reason}")
        order = np.argsort(paths.distance, kind="stable")
        order = order[int(np.count_nonzero(paths.distance < 0)) :]
        logarithms, means = np.full(graph.num_vertices, -np.inf), np.zeros(graph.num_vertices)
        arcs = frozen(graph.into.offsets), frozen(graph.into.indices), frozen(lengths)
        depth, terms = follow(arcs, source, paths.distance, order, drawn, (logarithms, means))
        weight.append(float(means.sum()))
        error = max(error, relative_error(depth, terms, float(logarithms[order].max())))
    return PathWeights(math.fsum(weight), error)


def relative_error(depth: int, terms: int, logarithm: float) -> float:
    """A bound for consecutive sums of this number of terms, and for logarithms of numbers of paths up to this number."""
    return EPS * LAMBDA * (depth + 1) * (math.sqrt(terms) + logarithm)


@njit(cache=True, nogil=True)
def follow(
    into: tuple[Array, Array, Array], source: int, distance: Array, order: Array, drawn: Array, results: tuple[Array, Array]
) -> tuple[int, int]:
    """Set the logarithm of the number of paths, and the mean weight of their inner vertices, of rows in order of distance.

    Returns the largest number of different distances on a path, at most that of all, and the most arcs of a row.
    """
    offsets, indices, lengths = into
    logarithms, means = results
    depth, terms, last = 0, 1, distance[source]
    logarithms[source] = 0.0
    for row in order:
        if distance[row] != last:
            depth, last = depth + 1, distance[row]
        begin, end = offsets[row], offsets[row + 1]
        terms = max(terms, end - begin)
        if row == source:
            continue
        most, paths, weight = -np.inf, 0.0, 0.0
        for twice in range(2):
            before = -1
            for arc in range(begin, end):
                tail = indices[arc]
                length = lengths[arc] if len(lengths) else 1
                first, before = tail != before, tail
                if first and 0 <= distance[tail] < distance[row] and distance[tail] + length == distance[row]:
                    if twice == 0:
                        most = max(most, logarithms[tail])
                    else:
                        share = np.exp(logarithms[tail] - most)
                        paths += share
                        weight += share * (means[tail] + (drawn[tail] if tail != source else 0.0))
        logarithms[row], means[row] = most + np.log(paths), weight / paths
    return depth, terms
