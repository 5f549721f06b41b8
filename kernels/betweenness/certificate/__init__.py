"""Proof of betweenness: a randomly weighted sum of its values equals the sum of the mean weights of all shortest paths.

With any weights r, the sum of r[v] * (dependency of s on v) over all v equals the sum over all t of f(t), the mean weight of the
inner vertices of a shortest path from s to t, of all of these paths. f follows the paths outwards: f(w) is the mean of
f(v) + r[v] over the tails v of tight in-arcs, where a tail counts as often as there are paths to it. So no dependency is
computed, there is one pass where the solver has two, and numbers of paths are kept as logarithms. Distances are those of `bfs` or
`sssp`, each proved by its own certificate. With endpoints, a path weighs r[s] + r[t] more; of edges, it weighs what its edges do.

The weights are drawn for each proof, and divided by the stated value plus 1, so that all values have a like part of the sum, and
wrong ones are seen wherever they are. Errors of rounding are bounded for sums of n numbers by sqrt(n), as Higham and Mary do (A
New Approach to Probabilistic Rounding Error Analysis, SIAM J. Sci. Comput. 41, 2019).

This is the method of Freivalds (Probabilistic Machines Can Use Less Running Time, IFIP 1977), for sums over paths.
"""

import math
from collections.abc import Callable, Sequence
from contextlib import suppress
from typing import Any

import numpy as np

from kernels.answers import Betweenness, Certificate, EdgeBetweenness
from kernels.arrays import frozen, is_cupy
from kernels.betweenness.certificate.edges import edge_of_each_in_arc
from kernels.betweenness.certificate.weighing import PathWeights, Weighing
from kernels.betweenness.parameters import BetweennessParameters, DependencyUnits, checked, rows_of, scale
from kernels.betweenness.shares import each_share
from kernels.bfs import bfs
from kernels.bfs.certificate import certify_bfs
from kernels.certificate.rules import Broken, at, name_of, require_form
from kernels.cpu.compiled import njit
from kernels.cpu.parallel import cores, over_items
from kernels.distributed.communicator import Communicator, SingleRank
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


EDGE_RULES = ("the edges are those of the graph, each once, ascending", *RULES)


def certify_betweenness(
    graph: Graph, answer: Betweenness, communicator: Communicator | None = None, **options: Any
) -> Certificate:  # fmt: skip
    """Prove betweenness with these options of `kernels.betweenness.betweenness`. O(V + A) time for each source.

    The last rule states how much a single value can be wrong at most without being seen. Nothing is raised for a
    malformed answer. A collective over ranks that have the same graph and the same answer.
    """
    return _certified(graph, answer, checked(**options), RULES, communicator or SingleRank())


def certify_edge_betweenness(
    graph: Graph, answer: EdgeBetweenness, communicator: Communicator | None = None, **options: Any
) -> Certificate:  # fmt: skip
    """Prove edge betweenness with these options of `kernels.betweenness.edge_betweenness`; as `certify_betweenness`."""
    return _certified(graph, answer, checked(of_edges=True, **options), EDGE_RULES, communicator or SingleRank())


def _certified(
    graph: Graph, answer: Any, parameters: BetweennessParameters, rules: tuple[str, ...], communicator: Communicator
) -> Certificate:  # fmt: skip
    try:
        detects = _check(graph, answer, parameters, communicator)
    except Broken as broken:
        return Certificate(False, str(broken), rules)
    return Certificate(True, "", (*rules, detects))


def _check(graph: Graph, answer: Any, parameters: BetweennessParameters, communicator: Communicator) -> str:
    num_rows, kind = graph.num_vertices, type(graph.ids) if is_cupy(graph) else np.ndarray
    edges = edge_of_each_in_arc(graph, answer.src, answer.dst) if parameters.of_edges else None
    num_values = num_rows if edges is None else len(answer.src)
    stated = require_form("betweenness", answer.betweenness, num_values, np.dtype(np.float64), kind)
    sources = rows_of(parameters, graph.ids, num_values)
    units = scale(parameters, num_rows, len(sources), graph.directed)

    def name(value: int) -> str:
        if edges is None:
            return f"vertex {name_of(graph, value)}"
        return f"edge {name_of(graph, at(answer.src, value))} to {name_of(graph, at(answer.dst, value))}"

    dependencies = in_units(name, stated, units) * 2.0**-units.bits
    drawn = weights_of(dependencies, communicator)
    of_each = drawn if edges is None else np.append(drawn, np.zeros_like(drawn, shape=1))[edges]
    weighing = Weighing(parameters.weights, parameters.endpoints, edges is not None, of_each)
    weighed = each_share(communicator, sources, Broken, lambda some: _weigh(graph, weighing, some))
    least = compared(drawn, dependencies, len(sources), units, _of_all(communicator, weighed))
    return f"{least}; {parameters.stated(num_rows, num_values)}"


def _weigh(graph: Graph, weighing: Weighing, sources: Array) -> PathWeights:
    if is_cupy(graph):
        from kernels.betweenness.certificate.cuda import paths_from
        from kernels.gpu.deep import Deep, aside, host_copy
        from kernels.gpu.loader import to_host
        from kernels.gpu.transfer import on_host

        with suppress(Deep):
            weight, rounds, logarithm = paths_from(graph, weighing, sources)
            terms = int(np.diff(graph.into.offsets).max()) if graph.num_arcs else 1
            return PathWeights(weight, relative_error(rounds, terms, logarithm))
        there = host_copy(graph), on_host(weighing), to_host(sources)
        with aside():
            return _weigh(*there)
    parts = np.array_split(sources, min(4 * cores(), max(len(sources), 1)))
    return combined(over_items(parts, lambda part: of_sources(graph, weighing, part)))


def _of_all(communicator: Communicator, own: PathWeights) -> PathWeights:
    """What the paths from the sources of all ranks weigh."""
    parts = communicator.gather(np.array(own, np.float64))
    return combined([PathWeights(*part.tolist()) for part in parts])


def in_units(name: Callable[[int], str], stated: Array, units: DependencyUnits) -> Array:
    """Values as numbers of units, float64; Broken unless they are integers from 0 on, as far as doubles can say so.

    `name` says in a message which value it is about.
    """
    dependencies = np.rint(stated / units.factor)
    exact = (dependencies * units.factor == stated) | (dependencies > _EXACT)
    wrong = np.signbit(stated) | ~np.isfinite(stated) | ~exact  # -0.0 is not 0 units
    if wrong.any():
        first = int(wrong.argmax())
        value = f"{name(first)}: betweenness {float(at(stated, first))}"
        raise Broken(f"{value} is not 0 or more units of {units.factor!r}")
    return dependencies


def weights_of(dependencies: Array, communicator: Communicator) -> Array:
    """Random weights, float64, one for each value; all ranks draw the same. A collective."""
    (seed, *_) = communicator.gather(np.random.default_rng().integers(2**63, size=2))
    drawn: Array = np.asarray(np.random.default_rng(seed.tolist()).uniform(1, 2, len(dependencies)), like=dependencies)
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


def of_sources(graph: Graph, weighing: Weighing, sources: Array) -> PathWeights:
    """What the paths from some sources weigh; Broken where a distance is wrong."""
    search, certify = (sssp, certify_sssp) if weighing.weights and graph.out.weights is not None else (bfs, certify_bfs)
    lengths = graph.into.weights if search is sssp and graph.into.weights is not None else np.empty(0, np.int64)
    weight, error, drawn = [0.0], 0.0, weighing.drawn
    for source in sources.tolist():
        paths = search(graph, source)
        verdict = certify(graph, paths)
        if not verdict.holds:
            raise Broken(f"from source {name_of(graph, source)}: {verdict.reason}")
        order = np.argsort(paths.distance, kind="stable")
        order = order[int(np.count_nonzero(paths.distance < 0)) :]
        logarithms, means = np.full(graph.num_vertices, -np.inf), np.zeros(graph.num_vertices)
        arcs = frozen(graph.into.offsets), frozen(graph.into.indices), frozen(lengths)
        depth, terms = follow(arcs, source, paths.distance, order, drawn, weighing.of_arcs, (logarithms, means))
        weight.append(float(means.sum()))
        if weighing.ends:
            weight.append(float(drawn[order].sum() + (len(order) - 2) * drawn[source]))  # the source is in the order
        error = max(error, relative_error(depth, terms, float(logarithms[order].max())))
    return PathWeights(math.fsum(weight), error)


def relative_error(depth: int, terms: int, logarithm: float) -> float:
    """A bound for consecutive sums of this number of terms, and for logarithms of numbers of paths up to this number."""
    return EPS * LAMBDA * (depth + 1) * (math.sqrt(terms) + logarithm)


@njit(cache=True, nogil=True)
def follow(
    into: tuple[Array, Array, Array],
    source: int,
    distance: Array,
    order: Array,
    drawn: Array,
    of_arcs: bool,
    results: tuple[Array, Array],
) -> tuple[int, int]:
    """Set the logarithm of the number of paths, and the mean weight of their inner vertices or arcs, of rows by distance.

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
                        weighs = of_arcs or tail != source
                        weight += share * (means[tail] + (drawn[arc if of_arcs else tail] if weighs else 0.0))
        logarithms[row], means[row] = most + np.log(paths), weight / paths
    return depth, terms
