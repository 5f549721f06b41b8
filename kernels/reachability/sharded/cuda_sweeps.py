"""Sweeps over an acyclic graph on the GPU: a superstep's nodes wait for each other in one launch, as in reachability/sweeps.cuh.

What a node tells others is never zero, the value before, so a ghost is there once its value has come. Dimensions go two at a time
through the kernels of the one-worker labels; the others are in sweeps.cu.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import cupy
import numpy as np

from kernels.distributed.gpu.constants import LEVEL_CHUNK
from kernels.distributed.gpu.levels import Levels
from kernels.gpu.loader import launch, pointer
from kernels.graph import Array, Csr
from kernels.reachability.labels.constants import FUSED_DIMENSIONS
from kernels.reachability.labels.cuda_passes import INTERVALS, TREE, padded
from kernels.reachability.order.constants import SWEEP_THREADS
from kernels.reachability.sharded.sweeps import Way, Work
from kernels.reachability.sharded.trees import Forest

_SOURCE, _THREADS = "reachability/sharded/sweeps.cu", SWEEP_THREADS


class Peeler:
    """Finds the order of a sweep, see `kernels.reachability.sharded.sweeps.plan`.

    Parameters
    ----------
    far : Csr
        With the ghosts' arcs to own nodes.
    waiting, depth, order
    """

    def __init__(self, far: Csr, waiting: Array, depth: Array, order: Array):
        self._row, self._ordered = order.dtype, cupy.zeros(1, np.uint64)
        self._levels = Levels(_SOURCE, "peel", self._row, len(depth) + len(far.indices) // LEVEL_CHUNK)
        self._rows = far.offsets, far.indices, self._row.type(len(waiting))
        self._found = waiting, depth, order, self._ordered

    def __call__(self, starts: Array) -> int:
        """Go on from nodes that wait for nobody any more, own ones or ghosts; return how many are in the order."""
        self._levels.run(*self._rows, starts.astype(self._row), np.int64(len(starts)), *self._found)
        return int(self._ordered[0])


def draw(way: Way, forest: Forest, parent: Array) -> None:
    """Draw each own node's parent, by its local number, into `parent` [n]."""
    near, count = way.near, np.int64(len(parent))
    arguments = near.offsets, near.indices, forest.numbers, way.depth, count, np.bool_(forest.ascending), forest.salt, parent
    launch(_SOURCE, "draw_parents", _THREADS, len(parent), *arguments, ROW=parent.dtype)


def measuring(way: Way, bits: Array, forests: Sequence[Forest]) -> list[Work]:
    """Pass on the bits of supports, and size the subtrees of forests that grow the other way."""
    groups = _groups(forests) or [()]
    return [_measuring(way, bits if number == 0 else None, group) for number, group in enumerate(groups)]


def _measuring(way: Way, bits: Array | None, forests: Sequence[Forest]) -> Work:
    near, count, parents = way.near, np.int32(len(forests)), tuple(forest.parent for forest in forests)
    sizes = tuple(forest.size for forest in forests)
    marks = cupy.zeros((len(way.depth), 2), np.uint64)
    found = marks, way.depth, pointer(bits), count, *padded(parents), *padded(sizes)

    def update(nodes: Array) -> None:
        arguments = near.offsets, near.indices, nodes, np.int64(len(nodes)), np.bool_(False), *found
        if len(nodes):
            launch(TREE, "measure", SWEEP_THREADS, len(nodes), *arguments, ROW=nodes.dtype)

    return Work(update, [*marks.T, *sizes])


def deal(forest: Forest) -> None:
    """Fill in what the children of own nodes get of their parents' numbers."""
    far, row, num_own = forest.way.far, forest.numbers.dtype, forest.num_own
    turn = np.int64(forest.num_nodes), np.bool_(forest.ascending), forest.salt
    trees = forest.parent, forest.size, forest.before
    arguments = far.offsets, far.indices, forest.numbers, np.int64(num_own), *turn, *trees
    launch(_SOURCE, "deal_numbers", _THREADS, num_own, *arguments, ROW=row)


def placing(forest: Forest) -> Work:
    """The first number of each subtree."""
    trees = forest.parent, forest.before, forest.first

    def update(nodes: Array) -> None:
        if len(nodes):
            launch(_SOURCE, "place_nodes", _THREADS, len(nodes), nodes, np.int64(len(nodes)), *trees, ROW=nodes.dtype)

    return Work(update, [forest.first])


def widening(forests: Sequence[Forest]) -> list[Work]:
    """The extremes of what each node reaches; sizes become the nodes' own numbers."""
    return [_widening(group) for group in _groups(forests)]


def _widening(forests: Sequence[Forest]) -> Work:
    for forest in forests:
        forest.low, forest.post = cupy.empty_like(forest.size), cupy.empty_like(forest.size)
        forest.last = forest.size
    far, size, row = forests[0].way.far, len(forests[0].numbers), forests[0].numbers.dtype
    spans = cupy.zeros((size, 2 * FUSED_DIMENSIONS), row)
    names = "size", "first", "low", "post"
    arrays = [part for name in names for part in padded(tuple(getattr(forest, name) for forest in forests))]

    def update(nodes: Array) -> None:
        arguments: tuple[Any, ...] = (far.offsets, far.indices, nodes, np.int64(len(nodes)), np.bool_(False), spans)
        if len(nodes):
            launch(INTERVALS, "widen_intervals", SWEEP_THREADS, len(nodes), *arguments, np.int32(len(forests)), *arrays, ROW=row)

    return Work(update, list(spans.T[: 2 * len(forests)]))


def _groups(forests: Sequence[Forest]) -> list[Sequence[Forest]]:
    return [forests[at : at + FUSED_DIMENSIONS] for at in range(0, len(forests), FUSED_DIMENSIONS)]
