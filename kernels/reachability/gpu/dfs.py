"""Labels of method "dfs" on the GPU: the depth-first parents from counts of paths, or by comparing paths where those overflow."""

from __future__ import annotations

import cupy
import numpy as np

from kernels.answers import Condensation, Labels
from kernels.graph import NO_ROW, Array, Csr
from kernels.reachability.gpu.labels import (
    Trees,
    Way,
    choose_supports,
    measure,
    order_of,
    place_below_roots,
    widen,
)
from kernels.reachability.gpu.launch import launch
from kernels.reachability.keys import salt_of

_LARGEST = 2**62  # as in dfs.cu


def label(condensation: Condensation, dimensions: int, seed: int) -> Labels:
    """Answer `kernels.reachability.label` by method "dfs" on CuPy arrays; beside the answer it takes about 24 bytes an arc."""
    num_nodes, row = condensation.num_nodes, condensation.names.dtype
    order = order_of(condensation)
    level, height = (cupy.empty(num_nodes, np.int32) for _ in range(2))
    first, last, low, post = (cupy.zeros((dimensions, num_nodes), row) for _ in range(4))
    ahead = Way(condensation.parents, condensation.children, height, order, False)
    behind = Way(condensation.children, condensation.parents, level, order, True)
    measure(behind)
    supports, reaches, reached = choose_supports(condensation, level)
    measure(behind, None, reached)
    roots = cupy.flatnonzero(level == 0)
    paths = count_paths(ahead)
    compares = paths is None or bool(num_nodes and float(paths[roots].sum(dtype=np.float64)) > _LARGEST)
    for number in range(dimensions):
        salt = salt_of(seed, number)
        rows, starts = ahead.far, roots
        if number:
            rows = sort_rows(rows, salt)
            starts = sort_roots(roots, salt, num_nodes)
        if compares:
            parent = first_parents(ahead, level, salt, number == 0)
        else:
            parent = cheapest_parents(ahead._replace(far=rows), starts, paths)
        trees = Trees((number,), True, (salt,), (parent,), (last[number],), (first[number],))
        measure(ahead, trees, reaches)
        sizes = last[number][starts].astype(np.int64)
        first[number][starts] = (cupy.cumsum(sizes) - sizes + 1).astype(row)
        place_below_roots(ahead._replace(far=rows), trees)
        widen(ahead, trees, low, post)
    compared = (compares,) * dimensions
    return Labels("dfs", seed, level, height, low, post, first, last, supports, reaches, reached, compared)


def count_paths(way: Way) -> Array | None:
    """Paths that start at each node, int64 [C]; None where int64 does not hold them."""
    num_nodes = len(way.order)
    paths, overflow = cupy.zeros(num_nodes, np.int64), cupy.zeros(1, np.uint32)
    arguments = (way.far.offsets, way.far.indices, way.order, np.int64(num_nodes), paths, overflow)
    launch("dfs", "count_paths", num_nodes, way.order.dtype, *arguments)
    return None if int(overflow[0]) else paths


def cheapest_parents(way: Way, roots: Array, paths: Array) -> Array:
    """Parents by counts; `way.far` are the rows, and `roots` the roots, in the order of visits."""
    num_nodes, row = len(way.order), way.order.dtype
    cost, parent = cupy.full(num_nodes, np.iinfo(np.int64).max), cupy.full(num_nodes, NO_ROW, row)
    cost[roots] = cupy.cumsum(paths[roots]) - paths[roots] + (len(roots) > 1)
    waiting = cupy.diff(way.near.offsets).astype(row)
    size = np.int64(num_nodes)
    launch("dfs", "spread_costs", num_nodes, row, way.far.offsets, way.far.indices, way.order, size, paths, cost, waiting)
    arguments = (way.far.offsets, way.far.indices, size, paths, cost, parent)
    launch("dfs", "find_parents", num_nodes, row, *arguments)
    return parent


def first_parents(way: Way, level: Array, salt: np.uint64, ascending: bool) -> Array:
    """Parents by comparing paths; takes C entries for each doubling of the depth."""
    num_nodes, row = len(way.order), way.order.dtype
    jumps = (int(level.max()) + 1).bit_length()
    ancestors, depth = cupy.full((jumps, num_nodes + 1), num_nodes, row), cupy.zeros(num_nodes + 1, np.int32)
    parent = cupy.empty(num_nodes, row)
    sweep = (way.near.offsets, way.near.indices, way.order, np.int64(num_nodes))
    arguments = (*sweep, np.bool_(ascending), salt, np.int32(jumps), ancestors, depth, parent)
    launch("dfs", "compare_paths", num_nodes, row, *arguments)
    return parent


def sort_roots(roots: Array, salt: np.uint64, num_nodes: int) -> Array:
    """Roots, int64, by their keys, as the heads of a virtual node, then by node."""
    keys = _keys(salt, cupy.full_like(roots, num_nodes), roots)
    return roots[cupy.lexsort(cupy.stack([roots.view(np.uint64), keys]))]


def sort_rows(rows: Csr, salt: np.uint64) -> Csr:
    """Each row by the keys of its arcs, then by node."""
    near = cupy.searchsorted(rows.offsets, cupy.arange(len(rows.indices), dtype=np.int64), side="right") - 1
    far = rows.indices.astype(np.int64)
    sorting = cupy.lexsort(cupy.stack([far.view(np.uint64), _keys(salt, near, far), near.view(np.uint64)]))
    return Csr(rows.offsets, rows.indices[sorting], None)


def _keys(salt: np.uint64, near: Array, far: Array) -> Array:
    """Keys of arcs between these nodes, int64 both."""
    keys = cupy.empty(len(far), np.uint64)
    launch("dfs", "draw_keys", len(far), np.dtype(np.int64), near, far, np.int64(len(far)), salt, keys)
    return keys
