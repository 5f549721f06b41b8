"""Labels of method "dfs" on the GPU: depth-first parents from counts of paths, or by comparing paths if the counts overflow."""

import cupy
import numpy as np

from kernels.answers import Condensation, Labels
from kernels.gpu.loader import launch
from kernels.graph import NO_ROW, Array, Csr
from kernels.reachability.constants import LARGEST_PATH_SUM, SWEEP_THREADS
from kernels.reachability.keys import salt_of
from kernels.reachability.labels.passes_cuda import Forests, OrderedDag, choose_supports, measure, place_below_roots, widen
from kernels.reachability.order.cuda import order_of

_SOURCE = "reachability/labels/dfs/dfs.cu"


def label(condensation: Condensation, dimensions: int, seed: int) -> Labels:
    """Answer `kernels.reachability.label` by method "dfs" on CuPy arrays. Takes about 24 bytes per arc more than the answer."""
    num_nodes, row = condensation.num_nodes, condensation.names.dtype
    order = order_of(condensation)
    level, height = (cupy.empty(num_nodes, np.int32) for _ in range(2))
    first, last, low, post = (cupy.zeros((dimensions, num_nodes), row) for _ in range(4))
    ahead = OrderedDag(condensation.parents, condensation.children, height, order, False)
    behind = OrderedDag(condensation.children, condensation.parents, level, order, True)
    measure(behind)
    supports, reaches, reached = choose_supports(condensation, level)
    measure(behind, None, reached)
    roots = cupy.flatnonzero(level == 0)
    paths = count_paths(ahead)
    compares = paths is None or bool(num_nodes and float(paths[roots].sum(dtype=np.float64)) > LARGEST_PATH_SUM)
    for number in range(dimensions):
        salt = salt_of(seed, number)
        rows, starts = ahead.out, roots
        if number:
            rows = sort_rows(rows, salt)
            starts = sort_roots(roots, salt, num_nodes)
        if paths is None or compares:
            parent = first_parents(ahead, level, salt, number == 0)
        else:
            parent = cheapest_parents(ahead._replace(out=rows), starts, paths)
        forests = Forests((number,), True, (salt,), (parent,), (last[number],), (first[number],))
        measure(ahead, forests, reaches)
        sizes = last[number][starts].astype(np.int64)
        first[number][starts] = (cupy.cumsum(sizes) - sizes + 1).astype(row)
        place_below_roots(ahead._replace(out=rows), forests)
        widen(ahead, forests, low, post)
    compared = (compares,) * dimensions
    return Labels("dfs", seed, level, height, low, post, first, last, supports, reaches, reached, compared)


def count_paths(way: OrderedDag) -> Array | None:
    """Count the paths that start at each node, int64 [C]; None if the counts do not fit int64."""
    num_nodes, row = len(way.order), way.order.dtype
    paths, overflow = cupy.zeros(num_nodes, np.int64), cupy.zeros(1, np.uint32)
    arguments = way.out.offsets, way.out.indices, way.order, np.int64(num_nodes), paths, overflow
    launch(_SOURCE, "count_paths", SWEEP_THREADS, num_nodes, *arguments, ROW=row)
    return None if int(overflow[0]) else paths


def cheapest_parents(way: OrderedDag, roots: Array, paths: Array) -> Array:
    """Find parents by counts; the rows of `way.out` and `roots` are in the order of visits."""
    num_nodes, row = len(way.order), way.order.dtype
    parent: Array = cupy.full(num_nodes, NO_ROW, row)
    cost = cupy.full(num_nodes, np.iinfo(np.int64).max)
    cost[roots] = cupy.cumsum(paths[roots]) - paths[roots] + (len(roots) > 1)
    waiting = cupy.diff(way.into.offsets).astype(row)
    children, size = (way.out.offsets, way.out.indices), np.int64(num_nodes)
    launch(_SOURCE, "spread_costs", SWEEP_THREADS, num_nodes, *children, way.order, size, paths, cost, waiting, ROW=row)
    launch(_SOURCE, "find_parents", SWEEP_THREADS, num_nodes, *children, size, paths, cost, parent, ROW=row)
    return parent


def first_parents(way: OrderedDag, level: Array, salt: np.uint64, ascending: bool) -> Array:
    """Find parents by comparing paths; takes C entries for each doubling of the depth."""
    num_nodes, row = len(way.order), way.order.dtype
    jumps = (int(level.max()) + 1).bit_length()
    ancestors, depth = cupy.full((jumps, num_nodes + 1), num_nodes, row), cupy.zeros(num_nodes + 1, np.int32)
    parent: Array = cupy.empty(num_nodes, row)
    sweep = way.into.offsets, way.into.indices, way.order, np.int64(num_nodes)
    inputs = np.bool_(ascending), salt, np.int32(jumps), ancestors, depth, parent
    launch(_SOURCE, "compare_paths", SWEEP_THREADS, num_nodes, *sweep, *inputs, ROW=row)
    return parent


def sort_roots(roots: Array, salt: np.uint64, num_nodes: int) -> Array:
    """Sort roots, int64, by their keys, as the heads of a virtual node, then by node."""
    keys = _keys(salt, cupy.full_like(roots, num_nodes), roots)
    ascending: Array = roots[cupy.lexsort(cupy.stack([roots.view(np.uint64), keys]))]
    return ascending


def sort_rows(rows: Csr, salt: np.uint64) -> Csr:
    """Sort each row by the keys of its arcs, then by node."""
    tails = cupy.searchsorted(rows.offsets, cupy.arange(len(rows.indices), dtype=np.int64), side="right") - 1
    heads = rows.indices.astype(np.int64)
    sorting = cupy.lexsort(cupy.stack([heads.view(np.uint64), _keys(salt, tails, heads), tails.view(np.uint64)]))
    return Csr(rows.offsets, rows.indices[sorting], None)


def _keys(salt: np.uint64, tails: Array, heads: Array) -> Array:
    """Keys of arcs between these nodes, int64 both."""
    keys: Array = cupy.empty(len(heads), np.uint64)
    arguments = tails, heads, np.int64(len(heads)), salt, keys
    launch(_SOURCE, "draw_keys", SWEEP_THREADS, len(heads), *arguments, ROW=np.dtype(np.int64))
    return keys
