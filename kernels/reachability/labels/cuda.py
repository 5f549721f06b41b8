"""Labels on the GPU: passes over a topological order, each one cooperative launch (passes_cuda.py)."""

import cupy
import numpy as np

from kernels.answers import Condensation, Labels
from kernels.gpu.deep import unless_deep
from kernels.graph import Array
from kernels.reachability.constants import FUSED_DIMENSIONS
from kernels.reachability.keys import salt_of
from kernels.reachability.labels.dfs.cuda import label as label_by_dfs
from kernels.reachability.labels.passes_cuda import (
    Forests,
    OrderedDag,
    choose_supports,
    draw_parents,
    measure,
    place,
    widen,
)
from kernels.reachability.order.cuda import order_of


def label(condensation: Condensation, dimensions: int, seed: int, method: str) -> Labels:
    """Answer `kernels.reachability.label` on CuPy arrays."""
    return unless_deep(_label, "kernels.reachability.labels.cpu:label", condensation, range(dimensions), seed, method)


def _label(condensation: Condensation, dimensions: range, seed: int, method: str) -> Labels:
    """The same; raises Deep."""
    return (label_by_dfs if method == "dfs" else _label_by_tree)(condensation, len(dimensions), seed)


def _label_by_tree(condensation: Condensation, dimensions: int, seed: int) -> Labels:
    num_nodes, row = condensation.num_nodes, condensation.names.dtype
    first, low, post = (cupy.empty((dimensions, num_nodes), row) for _ in range(3))
    last = cupy.zeros((dimensions, num_nodes), row)  # until the intervals are known, the sizes of the subtrees
    order = order_of(condensation)
    level, height = (cupy.empty(num_nodes, np.int32) for _ in range(2))
    ahead = OrderedDag(condensation.parents, condensation.children, level, order, False)
    behind = OrderedDag(condensation.children, condensation.parents, height, order, True)
    measure(behind._replace(depth=level))
    supports, reaches, reached = choose_supports(condensation, level)
    # The sizes of a direction's forests come from the pass that measures the depth of the other direction.
    forward = [draw_parents(ahead, *group, last, first) for group in _groups(range(0, dimensions, 2), seed)]
    _measure_all(ahead._replace(depth=height), forward, reaches)
    backward = [draw_parents(behind, *group, last, first) for group in _groups(range(1, dimensions, 2), seed)]
    _measure_all(behind._replace(depth=level), backward, reached)
    for way, forests in [*((ahead, one) for one in forward), *((behind, one) for one in backward)]:
        place(way, forests)
        widen(way, forests, low, post)
    compared = (False,) * dimensions
    return Labels("tree", seed, level, height, low, post, first, last, supports, reaches, reached, compared)


def _measure_all(way: OrderedDag, groups: list[Forests], bits: Array) -> None:
    if not groups:
        measure(way, None, bits)
    for forests in groups:
        measure(way, forests, bits)


def _groups(numbers: range, seed: int) -> list[tuple[tuple[int, ...], tuple[np.uint64, ...]]]:
    """The dimensions of a direction, `FUSED_DIMENSIONS` at a time, with their salts."""
    groups = [tuple(numbers[at : at + FUSED_DIMENSIONS]) for at in range(0, len(numbers), FUSED_DIMENSIONS)]
    return [(group, tuple(salt_of(seed, number) for number in group)) for group in groups]
