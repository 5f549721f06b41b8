"""Each certificate: every true answer of thousands of random graphs holds, and not one of 100,000 mutants does."""

from collections.abc import Callable, Iterator
from dataclasses import replace
from itertools import islice

import numpy as np
import pytest

from kernels.answers import Closure, Components, Forest, Paths
from kernels.bfs.certificate import certify_bfs
from kernels.closure.certificate import certify_closure
from kernels.forest.certificate import certify_forest
from kernels.graph import NO_ROW, UNREACHED, Array, Graph
from kernels.registry import BY_NAME
from kernels.scc.certificate import certify_scc
from kernels.sssp.certificate import certify_sssp
from kernels.wcc.certificate import certify_wcc
from tests.answers import closed, closure_of, true_closure, true_forest, true_paths, true_strong, true_weak, uncleaned
from tests.graphs import EdgeList

MUTANTS = [5_000, pytest.param(100_000, marks=pytest.mark.nightly)]  # of each certificate
MUTANTS_A_GRAPH = 48
WEIGHTS = {
    np.int32: (0, 0, 1, 1, 2, 3),
    np.int64: (0, 1, 1, 2, 3, 2**40),
    np.float32: tuple(float(np.float32(weight)) for weight in (0, 0.1, 0.2, 0.3, 0.3)),
    np.float64: (0, 1e-17, 0.1, 0.2, 0.3, 0.3),  # 1e-17 is lost in a sum: a tight arc of no length
}
Answer = Paths | Forest | Components | Closure


def random_graph(rng: np.random.Generator) -> tuple[EdgeList, Graph]:
    num_vertices = int(rng.integers(1, 10)) if rng.random() < 0.97 else 40
    num_edges = int(rng.integers(0, 3 * num_vertices))
    ids = rng.choice(1000, num_vertices, replace=False)
    dtype = list(WEIGHTS)[rng.integers(len(WEIGHTS))]
    ends = rng.choice(ids, (num_edges, 2)).tolist()
    weights = rng.choice(WEIGHTS[dtype], num_edges).tolist() if rng.random() < 0.8 else None
    edges = [tuple(pair) for pair in ends] if weights is None else [(*pair, w) for pair, w in zip(ends, weights, strict=True)]
    edge_list = EdgeList("random", tuple(edges), bool(rng.random() < 0.6), tuple(ids.tolist()))
    return edge_list, uncleaned(edge_list, ids.tolist(), dtype)


def path_mutants(graph: Graph, truth: Paths, rng: np.random.Generator) -> Iterator[Paths]:
    n = graph.num_vertices
    distance, predecessor, source = truth.distance, truth.predecessor, truth.source
    changed: list[tuple[Array, Array]] = []

    def change(rows: Array | int, *, far: object = None, before: object = None) -> None:
        mutant = distance.copy(), predecessor.copy()
        if far is not None:
            mutant[0][rows] = far
        if before is not None:
            mutant[1][rows] = before
        changed.append(mutant)

    for row in rng.permutation(n)[:6]:
        for before in rng.permutation(np.arange(NO_ROW, n))[:6]:
            change(row, before=before)
        change(row, far=distance[row] + 1)
        change(row, far=distance[row] - 1)
        change(row, far=UNREACHED)
        change(row, far=UNREACHED, before=NO_ROW)
        change(row, far=distance[rng.integers(n)], before=predecessor[rng.integers(n)])
        change(row, far=np.nextafter(distance[row], 9) if distance.dtype.kind == "f" else distance[row] + 2**40)
        below = subtree(predecessor, row)
        change(below, far=distance[below] + 1)
        change(below, far=np.maximum(distance[below] - 1, 0))
        change(below, far=UNREACHED, before=NO_ROW)
    unreached = np.flatnonzero(distance == UNREACHED)
    change(unreached, far=5, before=np.roll(unreached, 1))
    change(np.arange(n), far=distance + 1)
    mutants = [Paths(source, *mutant) for mutant in changed]
    mutants += [replace(truth, source=int(other)) for other in rng.permutation(n)[:2]]
    return sample(mutants, truth, rng)


def forest_mutants(graph: Graph, truth: Forest, rng: np.random.Generator) -> Iterator[Forest]:
    n = graph.num_vertices
    edges = {(int(src), int(dst)): weight for src, dst, weight in zip(truth.src, truth.dst, truth.weights, strict=True)}
    others = lightest_pairs(graph)
    for pair in edges:
        del others[pair]
    for _ in range(2):
        src, dst = rng.integers(n, size=2).tolist()  # rarely an arc
        if graph.ids[src] < graph.ids[dst] and (src, dst) not in edges:
            others.setdefault((src, dst), 1)
    chosen, spare = list(edges), list(others)
    mutants = []

    def change(pairs: dict[tuple[int, int], object]) -> None:
        for labels in (truth.labels, tree_labels(graph, pairs)):
            mutants.append(forest_of(graph, pairs, truth.weights.dtype, labels))

    for out in shuffled(chosen, rng)[:5]:
        rest = {pair: weight for pair, weight in edges.items() if pair != out}
        change(rest)
        change({**edges, out: edges[out] + 1})
        change({**edges, out: edges[out] - 1})
        mutants.append(turned(truth, chosen.index(out)))
        for new in shuffled(spare, rng)[:4]:
            change({**rest, new: others[new]})
            change({**rest, new: edges[out]})
    for new in shuffled(spare, rng)[:4]:
        change({**edges, new: others[new]})
    if chosen:
        mutants += [
            reordered(truth, rng.permutation(len(chosen))),
            reordered(truth, np.sort(rng.integers(0, len(chosen), len(chosen)))),
        ]
        mutants.append(reordered(truth, np.sort(np.append(np.arange(len(chosen)), rng.integers(len(chosen))))))
    mutants += [replace(truth, labels=labels) for labels in label_changes(graph, truth.labels, rng, 2)]
    return sample(mutants, truth, rng)


def closure_mutants(graph: Graph, truth: Closure, rng: np.random.Generator) -> Iterator[Closure]:
    """Single pairs, whole rows, and the closures of other relations, which are closed, too."""
    n = graph.num_vertices
    pairs = np.zeros((n, n), np.bool_)
    pairs[truth.vertex, truth.reached] = True
    arcs = np.zeros((n, n), np.bool_)
    arcs[np.repeat(np.arange(n), np.diff(graph.out.offsets)), graph.out.indices] = True
    mutants = [closure_of(graph, changed) for changed in (pairs | True, pairs & False, pairs | np.eye(n, dtype=np.bool_))]
    for _ in range(20):
        for before, changed in ((pairs, pairs.copy()), (arcs, arcs.copy())):
            src, dst = rng.integers(0, n, 2)
            changed[src, dst] ^= True
            mutants.append(closure_of(graph, closed(changed) if before is arcs else changed))
        src, dst = rng.integers(0, n, 2)
        rows, merged = np.where(np.arange(n)[:, None] == src, pairs[dst], pairs), pairs.copy()
        merged[pairs[:, src] | (np.arange(n) == src)] |= pairs[dst]
        mutants += [closure_of(graph, rows), closure_of(graph, merged)]
    if len(truth.vertex) > 1:
        order = np.arange(len(truth.vertex))
        order[:2] = 1, 0
        mutants += [Closure(truth.vertex[some], truth.reached[some]) for some in (order, np.append(order, 0))]
    return sample(mutants, truth, rng)


def component_mutants(graph: Graph, truth: Components, rng: np.random.Generator) -> Iterator[Components]:
    return sample([Components(labels) for labels in label_changes(graph, truth.labels, rng, 6)], truth, rng)


def label_changes(graph: Graph, labels: Array, rng: np.random.Generator, some: int) -> list[Array]:
    n = graph.num_vertices
    rows = np.arange(n)
    classes = np.unique(labels)
    changed = [smallest_names(graph, rows), smallest_names(graph, 0 * rows), smallest_names(graph, rng.integers(0, 2, n))]
    for row in rng.permutation(n)[:some]:
        for other in rng.permutation(n)[:some]:
            changed.append(np.where(rows == row, other, labels))  # one label
            changed.append(np.where(labels == labels[row], other, labels))  # renamed, or merged under its name
            changed.append(smallest_names(graph, np.where(labels == labels[row], labels[other], labels)))  # merged
        part = (labels == labels[row]) & (rng.random(n) < 0.5)
        changed.append(smallest_names(graph, np.where(part, n, labels)))  # split
        changed.append(smallest_names(graph, np.where(rows == row, n, labels)))  # one split off
        changed.append(smallest_names(graph, np.where(rows == row, rng.choice(classes), labels)))  # one moved
    return [mutant.astype(labels.dtype) for mutant in changed]


def smallest_names(graph: Graph, classes: Array) -> Array:
    """Labels that name the classes 0..V correctly, so that only the classes can be wrong."""
    least = np.full(len(classes) + 1, len(classes))
    np.minimum.at(least, classes, graph.positions)
    return graph.rows_by_id[least[classes]]


def subtree(predecessor: Array, row: int) -> Array:
    inside = np.zeros(len(predecessor) + 1, bool)  # the last entry stands for no predecessor
    inside[row] = True
    for _ in range(len(predecessor)):
        inside[:-1] |= inside[predecessor]
    return np.flatnonzero(inside)


def lightest_pairs(graph: Graph) -> dict[tuple[int, int], object]:
    pairs: dict[tuple[int, int], object] = {}
    tails = np.repeat(np.arange(graph.num_vertices), np.diff(graph.out.offsets)).tolist()
    weights = [1] * graph.num_arcs if graph.out.weights is None else graph.out.weights
    for u, v, weight in zip(tails, graph.out.indices.tolist(), weights, strict=True):
        if u != v:
            pair = (u, v) if graph.ids[u] < graph.ids[v] else (v, u)
            pairs[pair] = min(weight, pairs.get(pair, weight))
    return pairs


def tree_labels(graph: Graph, pairs: dict[tuple[int, int], object]) -> Array:
    tree = list(range(graph.num_vertices))
    for src, dst in pairs:
        keep, gone = tree[src], tree[dst]
        tree = [keep if label == gone else label for label in tree]
    return smallest_names(graph, np.array(tree)).astype(graph.rows_by_id.dtype)


def forest_of(graph: Graph, pairs: dict[tuple[int, int], object], dtype: np.dtype, labels: Array) -> Forest:
    ordered = sorted(pairs, key=lambda pair: (graph.ids[pair[0]], graph.ids[pair[1]]))
    ends = np.array(ordered, labels.dtype).reshape(-1, 2)
    return Forest(ends[:, 0], ends[:, 1], np.array([pairs[pair] for pair in ordered], dtype), labels)


def turned(truth: Forest, edge: int) -> Forest:
    src, dst = truth.src.copy(), truth.dst.copy()
    src[edge], dst[edge] = dst[edge], src[edge]
    return replace(truth, src=src, dst=dst)


def reordered(truth: Forest, order: Array) -> Forest:
    return replace(truth, src=truth.src[order], dst=truth.dst[order], weights=truth.weights[order])


def shuffled(items: list, rng: np.random.Generator) -> list:
    return [items[place] for place in rng.permutation(len(items))]


def sample(mutants: list[Answer], truth: Answer, rng: np.random.Generator) -> Iterator[Answer]:
    """At most MUTANTS_A_GRAPH mutants that differ from the truth."""
    different = (mutant for mutant in shuffled(mutants, rng) if not same(mutant, truth))
    return islice(different, MUTANTS_A_GRAPH)


def same(one: Answer, other: Answer) -> bool:
    return all(np.array_equal(mine, vars(other)[field]) for field, mine in vars(one).items())


def any_source(edges: EdgeList, rng: np.random.Generator) -> int:
    return int(rng.choice(edges.ids))


CERTIFIED: dict[str, tuple[Callable, Callable, Callable]] = {
    "bfs": (certify_bfs, lambda edges, graph, rng: true_paths(edges, graph, any_source(edges, rng), False), path_mutants),
    "sssp": (certify_sssp, lambda edges, graph, rng: true_paths(edges, graph, any_source(edges, rng), True), path_mutants),
    "forest": (certify_forest, lambda edges, graph, _: true_forest(edges, graph), forest_mutants),
    "closure": (certify_closure, lambda edges, graph, _: true_closure(graph), closure_mutants),
    "wcc": (certify_wcc, lambda edges, graph, _: true_weak(edges, graph), component_mutants),
    "scc": (certify_scc, lambda edges, graph, _: true_strong(edges, graph), component_mutants),
}
_OVER_RANKS = (BY_NAME[{"forest": "mst"}.get(name, name)] for name in CERTIFIED)
CERTIFIED_OVER_RANKS = [  # those of whole graphs are in tests/cpu/requested
    name for name, of in zip(CERTIFIED, _OVER_RANKS, strict=True) if of.sharded_certificate and not of.shares_searches
]


@pytest.mark.parametrize("number", MUTANTS)
@pytest.mark.parametrize("name", CERTIFIED)
def test_true_answers_hold_and_mutants_do_not(name, number):
    certify, solve, mutate = CERTIFIED[name]
    rng = np.random.default_rng(20161123)
    refused = graphs = 0
    while refused < number:
        edges, graph = random_graph(rng)
        truth = solve(edges, graph, rng)
        verdict = certify(graph, truth)
        assert verdict.holds, (verdict.reason, edges, graph, truth)
        for mutant in mutate(graph, truth, rng):
            assert not certify(graph, mutant).holds, (edges, graph, truth, mutant)
            refused += 1
        graphs += 1
    assert graphs > number // 50
