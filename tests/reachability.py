"""A second solver of reachability labels: slow and simple, from the definition in kernels/reachability/__init__.py."""

from collections.abc import Callable
from dataclasses import dataclass
from itertools import pairwise

import numpy as np

from benchmarks.graphs import graph_of_arcs
from kernels.gpu.loader import to_host
from kernels.graph import Array, Graph
from kernels.reachability.paths import first_wrong_path, shortest_paths
from tests import oracles
from tests.graphs import EdgeList

Rows = list[list[int]]
MASK = 2**64 - 1


def mix(x: int) -> int:
    x = (x + 0x9E3779B97F4A7C15) & MASK
    x = ((x ^ x >> 30) * 0xBF58476D1CE4E5B9) & MASK
    x = ((x ^ x >> 27) * 0x94D049BB133111EB) & MASK
    return x ^ x >> 31


def key(seed: int, dimension: int, a: int, b: int) -> int:
    return mix(mix(mix(mix(seed) ^ dimension) ^ a) ^ b)


@dataclass(frozen=True)
class Dag:
    """The strong components of an edge list, the nodes: their names, the node of each vertex, and the arcs between nodes."""

    names: list[int]
    node: dict[int, int]
    children: Rows
    parents: Rows


def condensed(edges: EdgeList) -> Dag:
    component = oracles.strong_components(edges)
    names = sorted(set(component.values()))
    node = {vertex: names.index(name) for vertex, name in component.items()}
    arcs = {(node[u], node[v]) for u, v in edges.arcs() if node[u] != node[v]}
    return Dag(names, node, *(rows_of(len(names), ends) for ends in (arcs, {(v, u) for u, v in arcs})))


def rows_of(num_nodes: int, arcs: set[tuple[int, int]]) -> Rows:
    rows: Rows = [[] for _ in range(num_nodes)]
    for u, v in sorted(arcs):
        rows[u].append(v)
    return rows


def reached(children: Rows) -> list[set[int]]:
    """The nodes that each node reaches, including itself."""
    sets: list[set[int]] = [set() for _ in children]
    for start in range(len(children)):
        stack = [start]
        while stack:
            node = stack.pop()
            if node not in sets[start]:
                sets[start].add(node)
                stack += children[node]
    return sets


def levels(parents: Rows) -> list[int]:
    level = [0] * len(parents)
    for _ in parents:
        level = [1 + max((level[p] for p in row), default=-1) for row in parents]
    return level


def depth_first(children: Rows, roots: list[int]) -> tuple[list[int], list[int]]:
    """Parents (-1 for a root) and post-order numbers of a depth-first search that visits rows and roots in their order."""
    parent, number, seen = [-1] * len(children), [0] * len(children), set(roots[:0])
    numbered = 0
    for root in roots:
        path = [(root, iter(children[root]))]
        seen.add(root)
        while path:
            node, row = path[-1]
            child = next((child for child in row if child not in seen), None)
            if child is None:
                path.pop()
                numbered += 1
                number[node] = numbered
            else:
                seen.add(child)
                parent[child] = node
                path.append((child, iter(children[child])))
    return parent, number


def turned(row: list[int], drawn: int) -> list[int]:
    step = -1 if drawn % 2 else 1
    return [row[((drawn >> 1) + step * place) % len(row)] for place in range(len(row))]


def dimension_of(dag: Dag, dimension: int, seed: int, method: str) -> dict[str, list[int]]:
    """One dimension's `low`, `post`, `first` and `last`."""
    backward = method == "tree" and dimension % 2 == 1
    children, parents = (dag.parents, dag.children) if backward else (dag.children, dag.parents)
    num_nodes = len(children)
    roots = [node for node in range(num_nodes) if not parents[node]]

    def drawn(a: int, b: int) -> int:
        return key(seed, dimension, a, b) if dimension else 0

    visit: Callable[[list[int], int], list[int]]
    if method == "dfs":
        visit = lambda row, tail: sorted(row, key=lambda head: (drawn(tail, head), head))  # noqa: E731
        tree = [visit(row, tail) for tail, row in enumerate(children)]
    else:
        visit = lambda row, tail: turned(row, drawn(tail, num_nodes))  # noqa: E731
        level = levels(parents)
        before = [[tail for tail in parents[head] if level[tail] == level[head] - 1] for head in range(num_nodes)]
        parent = [min(row, key=lambda tail: (drawn(tail, head), tail), default=-1) for head, row in enumerate(before)]
        tree = [[head for head in visit(row, tail) if parent[head] == tail] for tail, row in enumerate(children)]
    parent, last = depth_first(tree, visit(roots, num_nodes))
    subtree = reached(rows_of(num_nodes, {(p, node) for node, p in enumerate(parent) if p >= 0}))
    below = reached(children)
    return {
        "low": [min(last[other] for other in below[node]) for node in range(num_nodes)],
        "post": [max(last[other] for other in below[node]) for node in range(num_nodes)],
        "first": [min(last[other] for other in subtree[node]) for node in range(num_nodes)],
        "last": last,
    }


def supports_of(dag: Dag) -> list[int]:
    level = levels(dag.parents)
    num_levels = max(level, default=-1) + 1
    bands = min(64, num_levels)
    supports = [-1] * 64
    for band in range(bands):
        share = 64 // bands
        nodes = [node for node in range(len(level)) if level[node] * bands // num_levels == band]
        nodes.sort(key=lambda node: (-(len(dag.parents[node]) + 1) * (len(dag.children[node]) + 1), node))
        supports[band * share : band * share + len(nodes[:share])] = nodes[:share]
    return supports


def labels_of(edges: EdgeList, dimensions: int, seed: int, method: str) -> dict[str, Array]:
    """Every array of `kernels.answers.Labels`."""
    dag = condensed(edges)
    labels = [dimension_of(dag, dimension, seed, method) for dimension in range(dimensions)]
    below, supports = reached(dag.children), supports_of(dag)
    reaches = [sum(1 << bit for bit, s in enumerate(supports) if s in below[node]) for node in range(len(dag.names))]
    reach = [sum(1 << bit for bit, s in enumerate(supports) if s >= 0 and node in below[s]) for node in range(len(dag.names))]
    index = np.int32
    return {
        "level": np.array(levels(dag.parents), np.int32),
        "height": np.array(levels(dag.children), np.int32),
        **{name: np.array([label[name] for label in labels], index) for name in ("low", "post", "first", "last")},
        "supports": np.array(supports, index),
        "reaches": np.array(reaches, np.uint64),
        "reached": np.array(reach, np.uint64),
    }


def digraph(src: Array, dst: Array, num_vertices: int) -> Graph:
    """A directed graph whose ids are its rows."""
    return graph_of_arcs(src, dst, None, num_vertices, symmetric=False)


def closure(graph: Graph) -> Array:
    """Whether each row reaches each row, bool [V, V]."""
    rows = [graph.out.indices[begin:end].tolist() for begin, end in zip(graph.out.offsets, graph.out.offsets[1:], strict=False)]
    matrix = np.zeros((len(rows), len(rows)), np.bool_)
    for row, others in enumerate(reached(rows)):
        matrix[row, list(others)] = True
    return matrix


def paths_of(graph: Graph, src: Array, dst: Array, *most_rows: int) -> list[list[int]]:
    """The witness path of each pair, empty if there is none; the first pair without a path is the first that is refused."""
    parts, first = list(shortest_paths(graph, src, dst, *most_rows)), 0
    for part in parts:
        queries = slice(first, first := first + len(part.lengths))
        missing = np.flatnonzero(to_host(part.lengths) == 0)
        assert first_wrong_path(graph, src[queries], dst[queries], part) == (missing[0] if len(missing) else -1)
    bounds = [(to_host(part.nodes).tolist(), to_host(part.begins).tolist()) for part in parts]
    return [nodes[begin:end] for nodes, begins in bounds for begin, end in pairwise(begins)]
