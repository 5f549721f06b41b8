"""A fair comparison: graphs are built and answers compared before timing, runs alternate, medians count."""

import time
from collections.abc import Callable, Iterator
from dataclasses import asdict, dataclass
from functools import cached_property
from importlib.metadata import version
from typing import Any

import igraph
import networkit
import numpy as np
from scipy.sparse import csr_array

from kernels.graph import Array, Graph

RUNS = 5
OURS = "graphmill"


@dataclass(frozen=True)
class Contender:
    """One library's function for an algorithm."""

    library: str  # name of its distribution
    solve: Callable[[], Any]  # what is timed
    answer: Callable[[Any], Array]  # takes what `solve` returned to an array that has to equal every other contender's; not timed


@dataclass(frozen=True)
class Contest:
    """One algorithm on one graph; our contender first."""

    algorithm: str
    contenders: tuple[Contender, ...]


@dataclass(frozen=True)
class ContestRow:
    """One line of the table."""

    graph: str
    vertices: int
    arcs: int
    algorithm: str
    library: str
    version: str
    milliseconds: float


class Peers:
    """A graph in each peer's format, built on first use. All are directed and have the same arcs."""

    def __init__(self, graph: Graph) -> None:
        self.graph = graph
        self.src = np.repeat(np.arange(graph.num_vertices), np.diff(graph.out.offsets))
        self.weighted = graph.out.weights is not None
        self.weights = np.ones(graph.num_arcs) if graph.out.weights is None else graph.out.weights.astype(np.float64)

    @cached_property
    def scipy(self) -> csr_array:
        """Matrix of float64 weights, the type that csgraph works in, with 32-bit offsets."""
        out, order = self.graph.out, self.graph.num_vertices
        return csr_array((self.weights, out.indices, out.offsets.astype(np.int32)), (order, order))

    @cached_property
    def igraph(self) -> igraph.Graph:
        """Its weights are the edge attribute `weight`."""
        ends = np.column_stack((self.src, self.graph.out.indices))
        graph = igraph.Graph(self.graph.num_vertices, ends, directed=True)
        graph.es["weight"] = self.weights
        return graph

    @cached_property
    def networkit(self) -> networkit.Graph:
        """Weighted if the graph is."""
        coordinates = (self.weights, (self.src.astype(np.uint64), self.graph.out.indices.astype(np.uint64)))
        return networkit.GraphFromCoo(coordinates, self.graph.num_vertices, weighted=self.weighted, directed=True)


def race(name: str, graph: Graph, contest: Contest) -> Iterator[ContestRow]:
    """Compare all answers, then time the contenders in turn; raise AssertionError if answers differ."""
    ours = contest.contenders[0]
    expected = ours.answer(ours.solve())
    for peer in contest.contenders[1:]:
        np.testing.assert_array_equal(peer.answer(peer.solve()), expected, f"{name}, {contest.algorithm}: {peer.library} differs")
    seconds = np.array([[_time(contender.solve) for contender in contest.contenders] for _ in range(RUNS)])
    for contender, median in zip(contest.contenders, np.median(seconds, axis=0), strict=True):
        shape = name, graph.num_vertices, graph.num_arcs
        yield ContestRow(*shape, contest.algorithm, contender.library, version(contender.library), round(1000 * float(median), 3))


def _time(solve: Callable[[], Any]) -> float:
    """Seconds of a second call, because another contender's data is in the caches before the first."""
    solve()
    start = time.perf_counter()
    solve()
    return time.perf_counter() - start


def markdown(rows: list[ContestRow]) -> str:
    """Table with a line per graph and algorithm, a column per library, the fastest bold, in milliseconds."""
    libraries = list(dict.fromkeys(row.library for row in rows))
    lines = [f"| graph | vertices | arcs | algorithm | {' | '.join(libraries)} |", f"|---|---|---|---|{'---|' * len(libraries)}"]
    contests: dict[tuple[str, int, int, str], dict[str, float]] = {}
    for row in rows:
        contests.setdefault((row.graph, row.vertices, row.arcs, row.algorithm), {})[row.library] = row.milliseconds
    for (graph, vertices, arcs, algorithm), times in contests.items():
        best = min(times.values())
        cells = ["" if time is None else _cell(time, best) for time in map(times.get, libraries)]
        lines.append(f"| {graph} | {vertices:,} | {arcs:,} | {algorithm} | {' | '.join(cells)} |")
    return "\n".join(lines)


def _cell(milliseconds: float, best: float) -> str:
    text = f"{milliseconds:,.{max(0, 2 - int(np.log10(max(milliseconds, 0.01))))}f}"
    return f"**{text}**" if milliseconds == best else text


def as_columns(rows: list[ContestRow]) -> dict[str, list[Any]]:
    """The rows as the columns of a table."""
    records = [asdict(row) for row in rows]
    return {name: [record[name] for record in records] for name in records[0]}
