"""Answers of every algorithm with one wrong value, and the certificates that have to refuse them."""

from collections.abc import Callable, Iterator
from dataclasses import fields, is_dataclass, replace
from typing import Any

import numpy as np

from kernels.answers import Certificate
from kernels.graph import Array, Graph
from kernels.registry import ALGORITHMS
from tests.graphs import EdgeList, graph_of

CERTIFIED = tuple(algorithm.name for algorithm in ALGORITHMS)
# Those that float32 does not have become 0 or the nearest that it has. An answer that is proved to a tolerance has no neighbours.
NO_ANSWERS = (np.nan, -np.nan, -0.0, 0.0, np.inf, -np.inf, 5e-324, -5e-324, 1e-310, -1.0, -2.0)
TOLERANT = ("pagerank", "betweenness", "edge_betweenness")


def weighted(dtype: type, *, zeros: bool = False, directed: bool = True) -> Graph:
    """Two components with a cycle, a dead end and a vertex without arcs; on request with arcs of length 0."""
    least = 0.0 if zeros else 0.25
    edges = ((0, 1, least), (1, 2, 1.5), (2, 3, least), (3, 0, 2.0), (4, 5, 0.5), (3, 1, 5e-3), (6, 6, 1.0), (3, 7, 0.125))
    scale = 1 if np.dtype(dtype).kind == "f" else 1000
    return graph_of(EdgeList("weighted", tuple((*edge[:2], edge[2] * scale) for edge in edges), directed), dtype=dtype)


def proved(graph: Graph, name: str) -> tuple[Any, Callable[[Graph, Any], Certificate]]:
    """The right answer of an algorithm, and its certificate."""
    algorithm = next(algorithm for algorithm in ALGORITHMS if algorithm.name == name)
    row = graph.rows_by_id.dtype
    asked = {"max_flow": [np.array([0, 4, 2], row), np.array([3, 5, 6], row)], "bfs": [0], "sssp": [0]}
    return algorithm.resolve("solver")(graph, *asked.get(name, [])), algorithm.resolve("certificate")


def arrays(answer: Any, path: tuple[str, ...] = ()) -> Iterator[tuple[tuple[str, ...], Array]]:
    """The arrays of an answer, also those of dataclasses inside, with the names that lead to them."""
    for field in fields(answer):
        value = getattr(answer, field.name)
        if is_dataclass(value):
            yield from arrays(value, (*path, field.name))
        elif isinstance(value, np.ndarray):
            yield (*path, field.name), value


def with_array(answer: Any, path: tuple[str, ...], array: Array) -> Any:
    """The answer with another array."""
    name, *inner = path
    return replace(answer, **{name: with_array(getattr(answer, name), tuple(inner), array) if inner else array})


def with_float(name: str, answer: Any) -> Iterator[Any]:
    """Each float replaced by what is no answer, by its negative, and by its neighbours."""
    for path, array in arrays(answer):
        for place in range(len(array)) if array.dtype.kind == "f" else ():
            right = array[place]
            near = [] if name in TOLERANT else [np.nextafter(right, array.dtype.type(end)) for end in (np.inf, -np.inf)]
            for value in (*NO_ANSWERS, -right, *near):
                other = array.copy()
                with np.errstate(over="ignore", under="ignore"):
                    other[place] = value
                if other.tobytes() != array.tobytes():
                    yield with_array(answer, path, other)


def with_integer(answer: Any) -> Iterator[Any]:
    """Each array of integers with one other value at a few places, shortened, and of another type."""
    for path, array in arrays(answer):
        if array.dtype.kind != "i" or array.ndim != 1:
            continue
        for place in range(0, len(array), max(1, len(array) // 4)):
            for change in (1, -1, 100):
                other = array.copy()
                other[place] += change
                yield with_array(answer, path, other)
        yield with_array(answer, path, array[:-1])
        yield with_array(answer, path, array.astype(np.int16))
