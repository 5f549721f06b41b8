"""Two values of a neighbour in two arrays of 4 bytes, or packed in one word of 8: what both backends' benchmarks compare."""

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from kernels.graph import Array, Graph
from kernels.library.operators import atomic_min

FAR = 1 << 30  # of a level and a parent: not reached
Function = Callable[..., Any]


class Quotients(NamedTuple):
    """Functions of an arc for `advance` with `collect="sum"`: the neighbour's rank / degree; `keep` takes a row's sum."""

    of_two: Function
    of_packed: Function
    of_share: Function  # made once for each row
    keep: Function


def quotients(graph: Graph) -> Quotients:
    """The functions, with arrays where the graph is."""
    size, like = graph.num_vertices, graph.ids
    rank, degrees = np.arange(size, dtype=np.int32, like=like) % 1000, np.maximum(np.diff(graph.out.offsets), 1)
    degree, both = degrees.astype(np.int32), rank.astype(np.int64) << 32 | degrees
    share, sums = (rank / degrees).astype(np.float32), np.zeros(size, like=like)

    def of_two(neighbour):
        return rank[neighbour] / degree[neighbour]

    def of_packed(neighbour):
        word = both[neighbour]
        return (word >> 32) / (word & 4294967295)

    def of_share(neighbour):
        return share[neighbour]

    def keep(row, total):
        sums[row] = total

    return Quotients(of_two, of_packed, of_share, keep)


class Visits(NamedTuple):
    """Functions of an arc for a search by `repeat_advance`, and the arrays [V] that they write; `state` is level and parent."""

    levels: Array
    parents: Array
    state: Array
    visit_two: Function
    visit_packed: Function

    def agree(self, reached: Array) -> bool:
        """Whether both have found the same levels and parents for these rows."""
        same_levels = (self.state >> 32)[reached] == self.levels[reached]
        return bool((same_levels & ((self.state & (FAR - 1))[reached] == self.parents[reached])).all())


def visits(graph: Graph) -> Visits:
    """The functions, with uninitialised arrays where the graph is."""
    levels, parents = (np.empty(graph.num_vertices, np.int32, like=graph.ids) for _ in range(2))
    state = np.empty(graph.num_vertices, np.int64, like=graph.ids)

    def visit_two(row, neighbour, round):
        if levels[neighbour] < round or parents[neighbour] <= row:
            return False
        levels[neighbour] = round
        atomic_min(parents, neighbour, row)
        return True

    def visit_packed(row, neighbour, round):
        word = (round << 32) | row
        return state[neighbour] > word and atomic_min(state, neighbour, word)

    return Visits(levels, parents, state, visit_two, visit_packed)
