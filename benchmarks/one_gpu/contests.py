"""How benchmarks and checks call the kernels: methods, inputs, certificates, and the bytes that any method has to move."""

import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass, fields, is_dataclass
from typing import Any

import cupy as cp
import numpy as np

from benchmarks.one_gpu.graphs import WINDOW, GeneratedEdges
from benchmarks.one_gpu.timing import random_sources
from benchmarks.published import bfs as published_bfs
from benchmarks.published import forest as published_forest
from benchmarks.published import sssp as published_sssp
from benchmarks.published import wcc as published_wcc
from kernels import registry
from kernels.algorithm import Algorithm
from kernels.answers import Certificate, Paths, Scores
from kernels.betweenness import betweenness
from kernels.betweenness.certificate import certify_betweenness
from kernels.betweenness.parameters import DELTA
from kernels.communities import communities
from kernels.communities.certificate import certify_communities
from kernels.cpu.parallel import inverse
from kernels.graph import Array, Csr, Graph
from kernels.layout.cleaning import clean
from kernels.layout.laid_out import take_rows
from kernels.layout.orders import by_degree_in_windows
from kernels.layout.rules import ArcRules, Edges

SCORE_TOLERANCE = 1e-6  # sum of differences, see kernels/pagerank
DIJKSTRA_ROWS = 1 << 16  # "dijkstra" passes over all rows for each row
SAMPLED = 1000  # sources of betweenness
_ALL = 1 << 40  # a window that contains all rows
SEARCHED_ROWS = 1 << 21  # the source documents' searches take seconds on larger graphs


def equal(found: Any, expected: Any) -> None:
    """Raise AssertionError unless two answers have the same arrays."""
    for field in (field for field in fields(expected) if field.compare):
        one, other = getattr(found, field.name), getattr(expected, field.name)
        if is_dataclass(other):
            equal(one, other)
        elif other is not None:
            np.testing.assert_array_equal(cp.asnumpy(one), other, field.name)


def near(found: Scores, expected: Scores) -> None:
    """Raise AssertionError if the sum of the differences of two PageRanks exceeds the tolerance."""
    difference = float(np.abs(cp.asnumpy(found.scores) - expected.scores).sum())
    assert difference <= SCORE_TOLERANCE, f"the scores differ by {difference} in sum"


def no_arguments(graph: Graph, count: int) -> list[tuple[Any, ...]]:
    """Inputs of a kernel that takes the graph alone."""
    return [()] * count


def searches(graph: Graph, count: int) -> list[tuple[Any, ...]]:
    """Random sources; none if the graph has no arc."""
    return [(source,) for source in random_sources(graph, count)] if graph.num_arcs else []


def edge_lists(edges: GeneratedEdges, count: int) -> list[tuple[Any, ...]]:
    """An edge list as it was generated or read, and the rules by which its graph was made."""
    window = WINDOW if edges.order == "windowed" else _ALL
    return [(edges.src, edges.dst, edges.weights, edges.declared, edges.symmetric, window)] * count


def build_out_csr(graph: Graph, src: Array, dst: Array, weights: Array | None, declared: range, both: bool, window: int) -> Csr:
    """Lay out the out-direction of an edge list."""
    _, arcs, _ = clean(Edges(src, dst, weights), ArcRules(declared, both, keep_self_loops=False, keep_parallel=False))
    order = by_degree_in_windows(arcs.offsets[1:] - arcs.offsets[:-1], window)
    return take_rows(arcs, order, inverse(order))


def certify_layout(graph: Graph, laid_out: Csr) -> Certificate:
    """Check that the arrays equal those of the graph that CuPy built from the same edges."""
    pairs = zip(vars(laid_out).values(), vars(graph.out).values(), strict=True)
    same = all(one is None or bool(cp.array_equal(one, other)) for one, other in pairs)
    return Certificate(same, "" if same else "the rows differ from the graph's", ("the rows are the graph's",))


@dataclass(frozen=True)
class ComparedKernel:
    """One kernel."""

    name: str
    solver: Callable[..., Any]  # `solver(graph, *inputs)`
    certify: Callable[[Graph, Any], Certificate]  # `certify(graph, answer)`
    # `inputs(graph, count)`: the arguments of `count` calls; for the layout `inputs(edges, count)`
    inputs: Callable[[Any, int], list[tuple[Any, ...]]] = no_arguments
    require_equal: Callable[[Any, Any], None] = equal  # compares with the CPU's answer
    weighted: bool = False  # whether it reads weights
    both_ways: bool = False  # whether it also has to read in-arcs if they differ from the out-arcs
    directed: bool = False  # whether it only runs on directed graphs, because another kernel answers the same on symmetric ones
    cpu_arcs: int = 1 << 40  # arcs up to which it is compared with the CPU's answer
    variants: tuple[str, ...] = ()  # the source documents' methods
    published: Callable[..., Any] | None = None  # `published(graph, *inputs, method)` for these methods

    def solve(self, graph: Graph, *inputs: Any, method: str = "") -> Any:
        """The answer of the kernel, or of a method of a source document."""
        return self.published(graph, *inputs, method) if method and self.published else self.solver(graph, *inputs)

    @property
    def reads_edges(self) -> bool:
        """Whether it builds a graph instead of reading one."""
        return self.inputs is edge_lists

    def runs_on(self, graph: Graph) -> bool:
        """Whether the kernel runs on this graph."""
        return (graph.out.weights is not None or not self.weighted) and not (graph.symmetric and self.directed)

    def methods(self, graph: Graph) -> Iterator[dict[str, str]]:
        """Keyword arguments of each method that finishes on this graph in reasonable time, the default first."""
        yield {}
        if not self.runs_on(graph) or (self.inputs is searches and graph.num_vertices > SEARCHED_ROWS):
            return
        for method in self.variants:
            if method != "dijkstra" or graph.num_vertices <= DIJKSTRA_ROWS:
                yield {"method": method}

    def necessary_bytes(self, graph: Graph, call: tuple[Any, ...], answer: Any) -> int:
        """Bytes that any method has to move: its arcs or edges read once, and its answer written once."""
        if self.reads_edges:
            edges = sum(getattr(argument, "nbytes", 0) for argument in call)
            return int(edges + array_bytes(answer))
        sides = [graph.out] if graph.symmetric or not self.both_ways else [graph.out, graph.into]
        return sum(csr_bytes(side, self.weighted) for side in sides) + array_bytes(answer)

    def arcs(self, graph: Graph, answer: Any) -> int:
        """Arcs that the answer covers: for a search, those that leave the rows it reached."""
        if not isinstance(answer, Paths):
            return graph.num_arcs
        return int(cp.diff(graph.out.offsets)[answer.distance >= 0].sum())


SPECIAL: dict[str, dict[str, Any]] = {  # what the registry does not state of an algorithm
    "bfs": {"published": published_bfs.search, "variants": published_bfs.METHODS},
    "sssp": {"weighted": True, "published": published_sssp.search, "variants": published_sssp.METHODS},
    "mst": {"name": "forest", "weighted": True, "published": published_forest.span, "variants": published_forest.METHODS},
    "wcc": {"published": published_wcc.components, "variants": published_wcc.METHODS},
    "scc": {"both_ways": True, "directed": True},
}


def _kernel(algorithm: Algorithm) -> ComparedKernel:
    options = {
        "name": algorithm.name,
        "inputs": searches if algorithm.has_sources else no_arguments,
        "require_equal": equal if algorithm.exact else near,
    }
    functions = algorithm.resolve("solver"), algorithm.resolve("certificate")
    return ComparedKernel(solver=functions[0], certify=functions[1], **(options | SPECIAL.get(algorithm.name, {})))


ALGORITHMS = tuple(_kernel(algorithm) for algorithm in registry.ALGORITHMS if algorithm.by_default and not algorithm.has_index)


def sampled(graph: Graph) -> dict[str, Any]:
    """Options with which betweenness draws SAMPLED sources, and counts arcs."""
    epsilon = math.sqrt(math.log(2 * max(graph.num_vertices, 1) / DELTA) / (2 * SAMPLED))
    return {"weights": False, "exact_below": 0, "epsilon": min(epsilon * (1 + 1e-9), 0.99)}


def one_call(graph: Graph, count: int) -> list[tuple[Any, ...]]:
    """Inputs of a kernel that takes the graph alone, and may take seconds: it is timed once, after a call to warm up."""
    return [()]


REQUESTED = (
    ComparedKernel(
        "betweenness",
        lambda graph: betweenness(graph, **sampled(graph)),
        lambda graph, answer: certify_betweenness(graph, answer, **sampled(graph)),
        one_call,
        both_ways=True,
        cpu_arcs=1 << 18,
    ),
    ComparedKernel("communities", communities, certify_communities, one_call, both_ways=True, cpu_arcs=1 << 26),
)
KERNELS = (*ALGORITHMS, ComparedKernel("layout", build_out_csr, certify_layout, edge_lists, cpu_arcs=1 << 24), *REQUESTED)


def arcs_of(graph: Graph) -> tuple[Array, Array, Array | None]:
    """Tails, heads and weights of all arcs."""
    src = cp.zeros(graph.num_arcs, graph.out.indices.dtype)
    starts = graph.out.offsets[1:-1]
    starts, rows = cp.unique(starts[starts < graph.num_arcs], return_counts=True)
    src[starts] = rows.astype(src.dtype)
    return cp.cumsum(src, dtype=src.dtype), graph.out.indices, graph.out.weights


def repeats(answer: Any) -> int:
    """Number of timed units in a call: iterations of PageRank, otherwise 1."""
    return answer.iterations if isinstance(answer, Scores) else 1


def csr_bytes(csr: Csr, weighted: bool = True) -> int:
    """Bytes of a direction's arrays."""
    weights = csr.weights.nbytes if weighted and csr.weights is not None else 0
    return int(csr.offsets.nbytes + csr.indices.nbytes + weights)


def graph_bytes(graph: Graph) -> int:
    """Bytes of a graph's CSR, both directions if they differ."""
    return csr_bytes(graph.out) + (0 if graph.symmetric else csr_bytes(graph.into))


def array_bytes(answer: Any) -> int:
    """Bytes of the arrays that a dataclass holds."""
    return int(sum(array.nbytes for array in vars(answer).values() if hasattr(array, "nbytes")))
