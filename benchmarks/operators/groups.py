"""What the benchmark of the operators measures: groups of parts, which `--only` names, and how long they take."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial
from pathlib import Path

import cupy as cp

from benchmarks.one_gpu.graphs import GeneratedEdges, graphs, rmat, road_like_grid
from benchmarks.operators import abstractions, algorithms, locality, memory, searches, stand_ins
from benchmarks.operators.energy import Meter
from benchmarks.operators.tables import OperatorRow
from kernels.graph import Graph

WITHOUT_GRAPH = "no graph"  # the group with the operators of rows, the patterns of access and the calls


@dataclass(frozen=True)
class Portion:
    """Rows that are measured together; if they end by an error, a row of this table and graph says so."""

    table: int
    graph: str
    rows: Callable[[], Iterator[OperatorRow]]


@dataclass(frozen=True)
class Group:
    """Parts, and about how many seconds they take on an H100, beside 10 to start."""

    seconds: int
    parts: Callable[[], Iterator[Portion]]


def groups(folder: Path | None) -> dict[str, Group]:
    """All groups by name; of directed R-MAT, what is not measured on symmetric graphs; `folder` has further graphs."""
    known = graphs(folder)
    medium, large = algorithms.MEDIUM, algorithms.LARGE
    return {
        WITHOUT_GRAPH: Group(20, _without_graph),
        "R-MAT 10": Group(40, partial(_of_algorithms, "R-MAT 10", lambda: rmat(10), algorithms.SMALL)),
        "R-MAT 24, directed": Group(15, partial(_of_algorithms, "R-MAT 24, directed", known["R-MAT 24, directed"], large)),
        "stand-ins": Group(25, _of_stand_ins),
        "R-MAT 20": Group(40, partial(_of_graph, "R-MAT 20", lambda: rmat(20), medium)),
        "R-MAT 24": Group(20, partial(_of_graph, "R-MAT 24", rmat, large)),
        "uniform 24": Group(30, partial(_of_graph, "uniform 24", uniform, large)),
        "grid 2000 x 2000": Group(40, partial(_of_graph, "grid 2000 x 2000", lambda: road_like_grid(2000), None)),
        **{name: Group(20, partial(_of_graph, name, load, None)) for name, load in known.items() if name.startswith("cnr-2000")},
        "New York": Group(20, partial(_of_graph, "New York", known["New York"], None)),
    }


def uniform(scale: int = 24) -> GeneratedEdges:
    """Arcs between vertices drawn uniformly (Erdos and Renyi), 16 edges a vertex, both directions, weighted."""
    random = cp.random.default_rng(scale)
    src, dst = (random.integers(0, 1 << scale, 16 << scale, dtype=cp.int64) for _ in range(2))
    return GeneratedEdges(src, dst, None, range(1 << scale), True, "degree", weighted=True)


def _without_graph() -> Iterator[Portion]:
    yield Portion(13, "none", lambda: searches.idle(Meter()))
    yield Portion(3, "none", memory.patterns)
    yield Portion(6, "none", abstractions.rows_alone)


def _of_stand_ins() -> Iterator[Portion]:
    for each in stand_ins.STAND_INS:
        yield Portion(2, each.title, partial(stand_ins.of_stand_in, each))


def _of_algorithms(name: str, load: Callable[[], GeneratedEdges], size: int) -> Iterator[Portion]:
    graph = load().graph()
    yield Portion(16, name, lambda: algorithms.of_graph(graph, name, size))


def _of_graph(name: str, load: Callable[[], GeneratedEdges], size: int | None) -> Iterator[Portion]:
    yield from _on_graph(load().graph(), name, size)
    if size == algorithms.LARGE:  # the graph is gone, and made again in two orders
        yield Portion(17, name, lambda: locality.ablation(load, name))


def _on_graph(graph: Graph, name: str, size: int | None) -> Iterator[Portion]:
    """On graphs of a size that algorithms know also what all operators do, on large ones also frontiers."""
    if size is not None:
        yield Portion(7, name, lambda: abstractions.of_graph(graph, name))
        yield Portion(18, name, lambda: locality.packed(graph, name))
        yield Portion(16, name, lambda: algorithms.of_graph(graph, name, size))
    if size == algorithms.LARGE:
        yield Portion(19, name, lambda: locality.mixed_frontiers(graph, name))
    yield Portion(12, name, lambda: searches.of_graph(graph, name))
