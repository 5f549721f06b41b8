"""Run a sharded kernel on threads and concatenate its parts."""

from collections.abc import Callable
from typing import Any

import numpy as np

from kernels.answers import Forest
from kernels.distributed.dealing import Dealing, deal, leaving_arcs, sampled_rows
from kernels.distributed.shard import ShardAnswer
from kernels.distributed.threads import run_ranks
from kernels.graph import OFFSET, Array, Graph
from kernels.layout.laid_out import take_rows
from tests.counts import of_the_day
from tests.sharded.shards import cut_of, even_bounds, split

SIZES = (1, 2, 3, 4, 7, 8)
SOME_SIZES = of_the_day((1, 2, 3), (4, 7, 8))
DEADLINE = 10.0**6  # seconds; a rank that compiles on a busy machine takes longer than any that would be worth to wait for


def on_shards(kernel: Callable[..., ShardAnswer[Any]], graph: Graph, bounds: Array, *arguments: Any) -> list[ShardAnswer[Any]]:
    """The parts of all ranks, in rank order."""
    shards = split(graph, bounds)
    return run_ranks(len(shards), lambda ranks: kernel(shards[ranks.rank], ranks, *arguments), DEADLINE)


def evenly(kernel: Callable[..., ShardAnswer[Any]], graph: Graph, size: int, *arguments: Any) -> list[ShardAnswer[Any]]:
    """The parts of `size` ranks that own about the same number of arcs."""
    return on_shards(kernel, graph, even_bounds(graph, size), *arguments)


def dealing_of(graph: Graph, size: int) -> Dealing:
    """The dealing of a graph in memory."""
    directions = (graph.out,) if graph.symmetric else (graph.out, graph.into)
    rows = sampled_rows(graph.num_vertices)
    cut = cut_of(sum(np.diff(csr.offsets) for csr in directions))
    return deal(cut, lambda bounds: leaving_arcs(bounds, rows, rows, graph.out), size)


def dealt(graph: Graph, dealing: Dealing) -> Graph:
    """The same graph with dealt rows."""
    rows = np.arange(graph.num_vertices, dtype=graph.rows_by_id.dtype)
    stored, numbers = dealing.stored(rows), dealing.dealt(rows)
    out = take_rows(graph.out, stored, numbers)
    into = out if graph.symmetric else take_rows(graph.into, stored, numbers)
    return Graph(graph.ids[stored], numbers[graph.rows_by_id], out, into, graph.directed)


def whole(parts: list[ShardAnswer[Any]], name: str) -> Array:
    """One array of the answer for all rows."""
    return np.concatenate([getattr(part.answer, name) for part in parts])


def bounds_of(cuts: list[int], num_vertices: int) -> Array:
    """Bounds from cuts in any order, which may repeat or exceed the number of rows."""
    return np.array([0, *sorted(min(cut, num_vertices) for cut in cuts), num_vertices], OFFSET)


def assert_forest(graph: Graph, parts: list[ShardAnswer[Forest]], expected: Forest) -> None:
    """Check that the parts form the forest, and that each rank has the edges of its own rows in order."""
    arrays = {name: whole(parts, name) for name in vars(expected)}
    order = np.lexsort((graph.ids[arrays["dst"]], graph.ids[arrays["src"]]))
    for name, array in vars(expected).items():
        ours = arrays[name] if name == "labels" else arrays[name][order]
        np.testing.assert_array_equal(ours, array)
        assert ours.dtype == array.dtype
    stops = np.cumsum([len(part.answer.labels) for part in parts])
    for part, stop in zip(parts, stops, strict=True):
        src, dst = part.answer.src, part.answer.dst
        assert ((src < stop) & (src >= stop - len(part.answer.labels))).all()
        assert (np.lexsort((graph.ids[dst], graph.ids[src])) == np.arange(len(src))).all()
    assert len({part.supersteps for part in parts}) == 1
