"""The passes that label nodes on the GPU: over a topological order in which nodes wait for each other, one launch each.

A pass serves both directions, and up to FUSED_DIMENSIONS dimensions of one direction at a time.
"""

from typing import Any, NamedTuple

import cupy
import numpy as np

from kernels.answers import Condensation
from kernels.gpu.loader import launch, pointer
from kernels.graph import NO_ROW, Array, Csr
from kernels.reachability.constants import FUSED_DIMENSIONS, NUM_SUPPORTS, SUPPORT_THREADS, SWEEP_THREADS

TREE, INTERVALS = "reachability/labels/tree.cu", "reachability/labels/intervals.cu"


class OrderedDag(NamedTuple):
    """The DAG, or the reversed one if `backward`: in-arcs and out-arcs, the nodes' depths, and a topological order of the DAG."""

    into: Csr
    out: Csr
    depth: Array
    order: Array
    backward: bool


class Forests(NamedTuple):
    """Up to FUSED_DIMENSIONS dimensions of a direction: salts, and each forest's parents, subtree sizes and first numbers [C]."""

    numbers: tuple[int, ...]
    ascending: bool  # whether the first dimension visits heads in ascending order
    salts: tuple[np.uint64, ...]
    parents: tuple[Array, ...]
    sizes: tuple[Array, ...]
    firsts: tuple[Array, ...]


def choose_supports(condensation: Condensation, level: Array) -> tuple[Array, Array, Array]:
    """Return the supports [64], and twice the bits of the nodes' own supports, which become `reaches` and `reached`."""
    num_nodes, row = condensation.num_nodes, condensation.names.dtype
    supports = cupy.full(NUM_SUPPORTS, NO_ROW, row)
    reaches, reached = cupy.zeros(num_nodes, np.uint64), cupy.zeros(num_nodes, np.uint64)
    if num_nodes:
        picks = cupy.zeros((NUM_SUPPORTS, 2), np.uint64)
        picks[:, 1] = 2**64 - 1
        nodes = level, level.max(), condensation.children.offsets, condensation.parents.offsets, np.int64(num_nodes)
        outputs = supports, reaches, reached, picks, cupy.zeros(1, np.uint32)
        launch("reachability/labels/supports.cu", "choose_supports", SUPPORT_THREADS, num_nodes, *nodes, *outputs, ROW=row)
    return supports, reaches, reached


def draw_parents(way: OrderedDag, numbers: tuple[int, ...], salts: tuple[np.uint64, ...], sizes: Array, first: Array) -> Forests:
    """Draw the forests of some dimensions; `measure` fills their rows of `sizes` [D, C], and `place` those of `first` [D, C]."""
    num_nodes, row = len(way.depth), way.order.dtype
    parents = tuple(cupy.empty(num_nodes, row) for _ in numbers)
    of_numbers = (tuple(table[number] for number in numbers) for table in (sizes, first))
    forests = Forests(numbers, numbers[0] == 0, salts, parents, *of_numbers)
    arcs = way.into.offsets, way.into.indices, way.depth, np.int64(num_nodes)
    launch(TREE, "choose_parents", SWEEP_THREADS, num_nodes, *arcs, *_head(forests), *padded(parents), ROW=row)
    return forests


def measure(way: OrderedDag, forests: Forests | None = None, bits: Array | None = None) -> None:
    """Fill `way.depth` with the longest paths along out-arcs, pass the bits of supports on, and size the subtrees of forests."""
    num_nodes, row = len(way.order), way.order.dtype
    marks = cupy.zeros((num_nodes, 2), np.uint64)
    count = 0 if forests is None else len(forests.numbers)
    trees = (*padded(() if forests is None else forests.parents), *padded(() if forests is None else forests.sizes))
    sweep = way.out.offsets, way.out.indices, way.order, np.int64(num_nodes), np.bool_(not way.backward)
    inputs = marks, way.depth, pointer(bits), np.int32(count)
    launch(TREE, "measure", SWEEP_THREADS, num_nodes, *sweep, *inputs, *trees, ROW=row)


def place(way: OrderedDag, forests: Forests) -> None:
    """Fill the smallest number of each node's subtree, roots first."""
    num_nodes, row = len(way.order), way.order.dtype
    if not num_nodes:
        return
    size = np.int64(num_nodes)
    is_root = way.depth == 0
    counts, first_root = cupy.cumsum(is_root, dtype=np.int64), cupy.empty(1, np.int64)
    for number, salt, sizes, firsts in zip(forests.numbers, forests.salts, forests.sizes, forests.firsts, strict=True):
        ends = cupy.cumsum(sizes * is_root, dtype=np.int64)
        turn = np.bool_(number == 0), salt, first_root
        launch(INTERVALS, "find_first_root", SWEEP_THREADS, num_nodes, way.depth, counts, size, *turn, ROW=row)
        launch(INTERVALS, "place_roots", SWEEP_THREADS, num_nodes, way.depth, ends, size, *turn, sizes, firsts, ROW=row)
    place_below_roots(way, forests)


def place_below_roots(way: OrderedDag, forests: Forests) -> None:
    """Fill the smallest number of each node's subtree; those of roots are given, the others are zero before."""
    num_nodes, row = len(way.order), way.order.dtype
    arrays = *padded(forests.parents), *padded(forests.sizes), *padded(forests.firsts)
    sweep = way.out.offsets, way.out.indices, way.order, np.int64(num_nodes), np.bool_(way.backward)
    launch(INTERVALS, "place_subtrees", SWEEP_THREADS, num_nodes, *sweep, *_head(forests), *arrays, ROW=row)


def widen(way: OrderedDag, forests: Forests, low: Array, post: Array) -> None:
    """Fill the intervals of these dimensions, `low` and `post` [D, C]; the sizes become the nodes' own numbers."""
    num_nodes, row = len(way.order), way.order.dtype
    spans = cupy.zeros((num_nodes, 2 * FUSED_DIMENSIONS), row)
    intervals = [tuple(table[number] for number in forests.numbers) for table in (low, post)]
    arrays = [argument for each in (forests.sizes, forests.firsts, *intervals) for argument in padded(each)]
    sweep = way.out.offsets, way.out.indices, way.order, np.int64(num_nodes), np.bool_(not way.backward)
    count = np.int32(len(forests.numbers))
    launch(INTERVALS, "widen_intervals", SWEEP_THREADS, num_nodes, *sweep, spans, count, *arrays, ROW=row)


def _head(forests: Forests) -> tuple[Any, ...]:
    """The number of dimensions, whether the first visits heads in ascending order, and FUSED_DIMENSIONS salts."""
    no_salts = (np.uint64(0),) * (FUSED_DIMENSIONS - len(forests.salts))
    return (np.int32(len(forests.numbers)), np.bool_(forests.ascending), *forests.salts, *no_salts)


def padded(arrays: tuple[Array, ...]) -> tuple[Any, ...]:
    """Arguments of a pass for one array per dimension: null pointers for absent dimensions."""
    return (*arrays, *(pointer(None),) * (FUSED_DIMENSIONS - len(arrays)))
