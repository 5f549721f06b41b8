"""Labels on the GPU: passes over a topological order in which nodes wait for each other, each one cooperative launch.

A pass serves both directions, and up to two dimensions of one direction at a time.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import cupy
import numpy as np

from kernels.answers import Condensation, Labels
from kernels.graph import NO_ROW, Array, Csr
from kernels.reachability import NUM_SUPPORTS
from kernels.reachability.gpu.launch import launch
from kernels.reachability.keys import salt_of

_CONTROL = 17  # words, as in order.cu
FUSED = 2  # dimensions of a pass, as in sweeps.cuh
_NOTHING = np.uintp(0)


class Way(NamedTuple):
    """The DAG in one direction: the arcs to a node's parents in the trees, those to its children, its depth, and the order."""

    near: Csr
    far: Csr
    depth: Array
    order: Array
    backward: bool


class Trees(NamedTuple):
    """Up to two dimensions of one direction: salts, and of each forest [C] parents, sizes and smallest numbers."""

    numbers: tuple[int, ...]
    ascending: bool  # whether the first dimension visits a row as it is
    salts: tuple[np.uint64, ...]
    parents: tuple[Array, ...]
    sizes: tuple[Array, ...]
    firsts: tuple[Array, ...]


def label(condensation: Condensation, dimensions: int, seed: int, method: str) -> Labels:
    """Answer `kernels.reachability.label` on CuPy arrays."""
    if method == "dfs":
        from kernels.reachability.gpu import dfs as cuda_dfs

        return cuda_dfs.label(condensation, dimensions, seed)
    num_nodes, row = condensation.num_nodes, condensation.names.dtype
    first, low, post = (cupy.empty((dimensions, num_nodes), row) for _ in range(3))
    last = cupy.zeros((dimensions, num_nodes), row)  # until the intervals are known, the sizes of the subtrees
    order = order_of(condensation)
    level, height = (cupy.empty(num_nodes, np.int32) for _ in range(2))
    ahead = Way(condensation.parents, condensation.children, level, order, False)
    behind = Way(condensation.children, condensation.parents, height, order, True)
    measure(behind._replace(depth=level))
    supports, reaches, reached = choose_supports(condensation, level)
    # A way's trees grow away from its roots; their sizes come in the pass that measures the other way's depth.
    groups = {way.backward: _groups(way, range(int(way.backward), dimensions, 2), seed) for way in (ahead, behind)}
    forward = [draw_parents(ahead, *group, last, first) for group in groups[False]]
    _measure_all(ahead._replace(depth=height), forward, reaches)
    backward = [draw_parents(behind, *group, last, first) for group in groups[True]]
    _measure_all(behind._replace(depth=level), backward, reached)
    for way, trees in [*((ahead, one) for one in forward), *((behind, one) for one in backward)]:
        place(way, trees)
        widen(way, trees, low, post)
    return Labels(
        method, seed, level, height, low, post, first, last, supports, reaches, reached, (False,) * dimensions
    )  # fmt: skip


def topological_order(out: Csr, into: Csr, row: np.dtype[Any]) -> Array | None:
    """Return the nodes so that every arc leads to a later one, or None if there is a cycle."""
    num_nodes = len(out.offsets) - 1
    order, waiting, control = cupy.empty(num_nodes, row), cupy.empty(num_nodes, row), cupy.zeros(_CONTROL, np.int64)
    size = np.int64(num_nodes)
    launch("order", "start_order", num_nodes, row, into.offsets, size, waiting, order)
    launch("order", "queue_roots", num_nodes, row, waiting, size, order, control)
    launch("order", "order_nodes", num_nodes, row, out.offsets, out.indices, size, waiting, order, control)
    return order if int(control[0]) == num_nodes else None


def order_of(condensation: Condensation) -> Array:
    """Return a topological order of the nodes; ValueError if there is a cycle."""
    order: Array | None = vars(condensation).get("_order")  # where the graph itself had one
    if order is None:
        order = topological_order(condensation.children, condensation.parents, condensation.names.dtype)
    if order is None:
        raise ValueError("label: the condensation has a cycle")
    return order


def choose_supports(condensation: Condensation, level: Array) -> tuple[Array, Array, Array]:
    """Return the supports [64], and for each node its own bit, twice: what it reaches and what reaches it, before any arc."""
    num_nodes, row = condensation.num_nodes, condensation.names.dtype
    supports = cupy.full(NUM_SUPPORTS, NO_ROW, row)
    reaches, reached = cupy.zeros(num_nodes, np.uint64), cupy.zeros(num_nodes, np.uint64)
    if num_nodes:
        picks = cupy.zeros((NUM_SUPPORTS, 2), np.uint64)
        picks[:, 1] = 2**64 - 1
        offsets = (condensation.children.offsets, condensation.parents.offsets)
        arguments = (
            level,
            level.max(),
            *offsets,
            np.int64(num_nodes),
            supports,
            reaches,
            reached,
            picks,
            cupy.zeros(1, np.uint32),
        )
        launch("supports", "choose_supports", num_nodes, row, *arguments)
    return supports, reaches, reached


def draw_parents(way: Way, numbers: tuple[int, ...], salts: tuple[np.uint64, ...], sizes: Array, first: Array) -> Trees:
    """Draw the forests of some dimensions; `sizes` and `first` [D, C] are filled by `measure` and `place`."""
    num_nodes, row = len(way.depth), way.order.dtype
    parents = tuple(cupy.empty(num_nodes, row) for _ in numbers)
    trees = Trees(
        numbers, numbers[0] == 0, salts, parents, *(tuple(whole[number] for number in numbers) for whole in (sizes, first))
    )
    arguments = (way.near.offsets, way.near.indices, way.depth, np.int64(num_nodes), *_head(trees), *pair(parents))
    launch("tree", "choose_parents", num_nodes, row, *arguments)
    return trees


def measure(way: Way, trees: Trees | None = None, bits: Array | None = None) -> None:
    """Fill the depth as seen from the far ends, pass on the bits of supports, and size the subtrees."""
    num_nodes, row = len(way.order), way.order.dtype
    marks = cupy.zeros((num_nodes, 2), np.uint64)
    forests = () if trees is None else (*pair(trees.parents), *pair(trees.sizes))
    arguments = (
        way.far.offsets, way.far.indices, way.order, np.int64(num_nodes), np.bool_(not way.backward), marks, way.depth,
        _NOTHING if bits is None else bits, np.int32(0 if trees is None else len(trees.numbers)), *(forests or (_NOTHING,) * 4),
    )  # fmt: skip
    launch("tree", "measure", num_nodes, row, *arguments)


def _measure_all(way: Way, forests: list[Trees], bits: Array) -> None:
    if not forests:
        measure(way, None, bits)
    for trees in forests:
        measure(way, trees, bits)


def place(way: Way, trees: Trees) -> None:
    """Fill the smallest number of each node's subtree, roots first."""
    num_nodes, row = len(way.order), way.order.dtype
    if not num_nodes:
        return
    size = np.int64(num_nodes)
    is_root = way.depth == 0
    ranks, first_root = cupy.cumsum(is_root, dtype=np.int64), cupy.empty(1, np.int64)
    for number, salt, sizes, firsts in zip(trees.numbers, trees.salts, trees.sizes, trees.firsts, strict=True):
        ends = cupy.cumsum(sizes * is_root, dtype=np.int64)
        random = (np.bool_(number == 0), salt)
        launch("intervals", "find_first_root", num_nodes, row, way.depth, ranks, size, *random, first_root)
        launch("intervals", "place_roots", num_nodes, row, way.depth, ends, size, *random, first_root, sizes, firsts)
    place_below_roots(way, trees)


def place_below_roots(way: Way, trees: Trees) -> None:
    """Fill the smallest number of each node's subtree, zero before, where the roots have theirs."""
    arrays = (*pair(trees.parents), *pair(trees.sizes), *pair(trees.firsts))
    sweep = (way.far.offsets, way.far.indices, way.order, np.int64(len(way.order)), np.bool_(way.backward))
    launch("intervals", "place_subtrees", len(way.order), way.order.dtype, *sweep, *_head(trees), *arrays)


def widen(way: Way, trees: Trees, low: Array, post: Array) -> None:
    """Fill the intervals of these dimensions, `low` and `post` [D, C]; the sizes become the nodes' own numbers."""
    num_nodes, row = len(way.order), way.order.dtype
    spans = cupy.zeros((num_nodes, 2 * FUSED), row)
    rows = [tuple(whole[number] for number in trees.numbers) for whole in (low, post)]
    arrays = (arg for each in (trees.sizes, trees.firsts, *rows) for arg in pair(each))
    sweep = (way.far.offsets, way.far.indices, way.order, np.int64(num_nodes), np.bool_(not way.backward))
    launch("intervals", "widen_intervals", num_nodes, row, *sweep, spans, np.int32(len(trees.numbers)), *arrays)


def _groups(way: Way, numbers: range, seed: int) -> list[tuple[tuple[int, ...], tuple[np.uint64, ...]]]:
    """The dimensions of a way, `FUSED` at a time, with their salts."""
    each = [tuple(numbers[at : at + FUSED]) for at in range(0, len(numbers), FUSED)]
    return [(group, tuple(np.uint64(salt_of(seed, number)) for number in group)) for group in each]


def _head(trees: Trees) -> tuple[Any, ...]:
    """Count, whether the first visits rows as they are, and two salts."""
    return (
        np.int32(len(trees.numbers)),
        np.bool_(trees.ascending),
        *trees.salts,
        *(np.uint64(0),) * (FUSED - len(trees.salts)),
    )


def pair(arrays: tuple[Array, ...]) -> tuple[Any, ...]:
    """Arguments of a pass for an array a dimension: null for those that there are not."""
    return (*arrays, *(_NOTHING,) * (FUSED - len(arrays)))
