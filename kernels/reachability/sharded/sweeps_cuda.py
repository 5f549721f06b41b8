"""Sweeps over an acyclic graph on the GPU: the nodes of a superstep wait for each other in one launch, as in order/sweeps.cuh.

A published value is never zero, the value before, so a ghost is ready once its value has been received. The kernels of the labels
of a single rank serve up to FUSED_DIMENSIONS dimensions at a time; sweeps.cu has the other kernels.
"""

from collections.abc import Sequence

import cupy
import numpy as np

from kernels.distributed.gpu.constants import LEVEL_CHUNK
from kernels.distributed.gpu.levels import Levels
from kernels.gpu.loader import launch, pointer
from kernels.graph import Array, Csr
from kernels.reachability.constants import FUSED_DIMENSIONS, SWEEP_THREADS
from kernels.reachability.labels.passes_cuda import INTERVALS, TREE, padded
from kernels.reachability.sharded.forest import NumberedForest
from kernels.reachability.sharded.schedule import ScheduledDag, SweepWork

_SOURCE = "reachability/sharded/sweeps.cu"


class Peeler:
    """Finds the order of a sweep, see `kernels.reachability.sharded.sweeps.find_schedule`.

    Args:
        out: Including the ghosts' arcs to own nodes.
    """

    def __init__(self, out: Csr, waiting: Array, depth: Array, order: Array):
        self._row, self._ordered = order.dtype, cupy.zeros(1, np.uint64)
        self._levels = Levels(_SOURCE, "peel", self._row, len(depth) + len(out.indices) // LEVEL_CHUNK)
        self._rows = out.offsets, out.indices, self._row.type(len(waiting))
        self._peeling = waiting, depth, order, self._ordered

    def __call__(self, starts: Array) -> int:
        """Continue from nodes that wait for no other node, own ones or ghosts; return the length of the order."""
        self._levels.run(*self._rows, starts.astype(self._row), np.int64(len(starts)), *self._peeling)
        return int(self._ordered[0])


def draw_parents(direction: ScheduledDag, numbers: Array, ascending: bool, salt: np.uint64, parent: Array) -> None:
    """Draw each own node's parent, a local node, into `parent` [n]."""
    into, count = direction.into, np.int64(len(parent))
    arguments = into.offsets, into.indices, numbers, direction.depth, count, np.bool_(ascending), salt, parent
    launch(_SOURCE, "draw_parents", SWEEP_THREADS, len(parent), *arguments, ROW=parent.dtype)


def measuring(direction: ScheduledDag, bits: Array, forests: Sequence[NumberedForest]) -> list[SweepWork]:
    """Gather the bits of supports, and size the subtrees of forests of the other direction."""
    groups = _groups(forests) or [()]
    return [_measuring(direction, bits if number == 0 else None, group) for number, group in enumerate(groups)]


def _measuring(direction: ScheduledDag, bits: Array | None, forests: Sequence[NumberedForest]) -> SweepWork:
    into, count = direction.into, np.int32(len(forests))
    parents, sizes = (tuple(getattr(forest, name) for forest in forests) for name in ("parent", "size"))
    marks = cupy.zeros((len(direction.depth), 2), np.uint64)
    inputs = marks, direction.depth, pointer(bits), count, *padded(parents), *padded(sizes)

    def update(nodes: Array) -> None:
        if len(nodes):
            sweep = into.offsets, into.indices, nodes, np.int64(len(nodes)), np.bool_(False)
            launch(TREE, "measure", SWEEP_THREADS, len(nodes), *sweep, *inputs, ROW=nodes.dtype)

    return SweepWork(update, [*marks.T, *sizes])


def fill_before(forest: NumberedForest) -> None:
    """Fill `before` of the children of own nodes."""
    out, num_own = forest.direction.out, forest.num_own
    turn = np.int64(forest.num_nodes), np.bool_(forest.ascending), forest.salt
    arguments = out.offsets, out.indices, forest.numbers, np.int64(num_own), *turn, forest.parent, forest.size, forest.before
    launch(_SOURCE, "deal_numbers", SWEEP_THREADS, num_own, *arguments, ROW=forest.numbers.dtype)


def placing(forest: NumberedForest) -> SweepWork:
    """Fill the first number of each subtree."""
    trees = forest.parent, forest.before, forest.first

    def update(nodes: Array) -> None:
        if len(nodes):
            launch(_SOURCE, "place_nodes", SWEEP_THREADS, len(nodes), nodes, np.int64(len(nodes)), *trees, ROW=nodes.dtype)

    return SweepWork(update, [forest.first])


def widening(forests: Sequence[NumberedForest]) -> list[SweepWork]:
    """Fill the extremes of what each node reaches; sizes become the nodes' own numbers."""
    return [_widening(group) for group in _groups(forests)]


def _widening(forests: Sequence[NumberedForest]) -> SweepWork:
    for forest in forests:
        forest.low, forest.post = cupy.empty_like(forest.size), cupy.empty_like(forest.size)
        forest.last = forest.size
    out, size, row = forests[0].direction.out, len(forests[0].numbers), forests[0].numbers.dtype
    spans = cupy.zeros((size, 2 * FUSED_DIMENSIONS), row)
    names = "size", "first", "low", "post"
    arrays = [part for name in names for part in padded(tuple(getattr(forest, name) for forest in forests))]
    inputs = spans, np.int32(len(forests)), *arrays

    def update(nodes: Array) -> None:
        if len(nodes):
            sweep = out.offsets, out.indices, nodes, np.int64(len(nodes)), np.bool_(False)
            launch(INTERVALS, "widen_intervals", SWEEP_THREADS, len(nodes), *sweep, *inputs, ROW=row)

    return SweepWork(update, list(spans.T[: 2 * len(forests)]))


def _groups(forests: Sequence[NumberedForest]) -> list[Sequence[NumberedForest]]:
    return [forests[at : at + FUSED_DIMENSIONS] for at in range(0, len(forests), FUSED_DIMENSIONS)]
