"""Sweeps on the GPU: one launch finds the lengths of all trees of a batch, another one proves them; 32 trees are a group."""

from typing import Any

import cupy
import numpy as np

from kernels.answers import Hierarchy, HierarchyArcs
from kernels.gpu.loader import launch, pointer
from kernels.graph import OFFSET, UNREACHED, Array, Graph
from kernels.paths.lengths import far_of, length_type
from kernels.paths.predecessors_cuda import types_of
from kernels.trees.constants import GROUP, RAISED, RAISED_BY, TREE_THREADS
from kernels.trees.proof.cuda import measure, prove, with_zero_steps
from kernels.trees.swept import SweptTrees

_SWEEP, _OUTWARDS = "trees/sweep.cu", "trees/outwards.cu"


def solve(
    graph: Graph, hierarchy: Hierarchy, rows: Array, sums: np.dtype[Any], predecessors: bool, to: Array | None = None
) -> SweptTrees:
    """As `kernels.trees.cpu.solve`."""
    swept = _solve(graph, hierarchy, rows, sums, predecessors)
    return swept if to is None else swept._replace(distances=swept.distances[:, to])


def _solve(graph: Graph, hierarchy: Hierarchy, rows: Array, sums: np.dtype[Any], predecessors: bool) -> SweptTrees:
    lengths = _sweep(hierarchy, rows, sums, None)
    if not hierarchy.exact:
        _add_outwards(graph, hierarchy, rows, lengths, sums)
    swept = prove(graph, hierarchy, rows, lengths, sums, predecessors)
    if not (swept.waiting & ~swept.loose).any():
        return swept
    if predecessors:
        return with_zero_steps(graph, swept)
    stated = with_zero_steps(graph, prove(graph, hierarchy, rows, lengths, sums, True))
    return stated._replace(predecessors=None)


def measured(graph: Graph, hierarchy: Hierarchy, rows: Array) -> Array | None:
    """See `kernels.trees.proof.cuda.measure`; of the trees from some rows, whose distances are int32."""
    return measure(graph, hierarchy, rows, _sweep(hierarchy, rows, np.dtype(np.int32), None))


def solve_to(hierarchy: Hierarchy, rows: Array, sums: np.dtype[Any], chosen: Array, targets: Array) -> Array:
    """As `kernels.trees.cpu.solve_to`."""
    lengths = _sweep(hierarchy, rows, sums, chosen).reshape(hierarchy.num_vertices, -1)[targets, : len(rows)].T
    distances: Array = cupy.ascontiguousarray(lengths).view(sums)
    distances[lengths == length_type(sums)(far_of(sums))] = UNREACHED
    return distances


def ancestors(hierarchy: Hierarchy, targets: Array) -> Array:
    """As `kernels.trees.cpu.ancestors`."""
    marked, barrier = cupy.zeros(hierarchy.num_vertices, np.uint8), cupy.zeros(1, np.uint32)
    marked[targets] = 1
    down, levels = hierarchy.down, (hierarchy.level_starts, np.int64(hierarchy.num_levels))
    launch(_SWEEP, "mark_above", TREE_THREADS, None, down.offsets, down.others, *levels, marked, barrier, **_types(hierarchy))
    above: Array = cupy.flatnonzero(marked).astype(hierarchy.rows.dtype)
    return above


def _sweep(hierarchy: Hierarchy, rows: Array, sums: np.dtype[Any], chosen: Array | None) -> Array:
    """Lengths (uint32 or uint64, encoded as in lengths.cuh) of all positions and padded trees, or of the `chosen` positions."""
    groups, levels = -(-len(rows) // GROUP), hierarchy.level_starts
    lines = hierarchy.num_vertices * groups
    lengths: Array = cupy.empty(lines * GROUP, length_type(sums))
    queue, queued = cupy.empty(lines, OFFSET), cupy.zeros(len(levels), np.uint64)
    touched, barrier = cupy.zeros(-(-lines // 32), np.uint32), cupy.zeros(1, np.uint32)
    up = _arcs(hierarchy, hierarchy.up, sums)
    down = up if hierarchy.symmetric else _arcs(hierarchy, hierarchy.down, sums)
    starts = levels if chosen is None else cupy.searchsorted(chosen, levels.astype(chosen.dtype)).astype(OFFSET)
    launch(_SWEEP, "sweep", TREE_THREADS, None, *up, *down, levels, np.int64(hierarchy.num_levels), _starts(hierarchy, rows),
           np.int64(groups), pointer(chosen), starts, lengths, touched, queue, queued, barrier,
           **_types(hierarchy, sums))  # fmt: skip
    return lengths


def _add_outwards(graph: Graph, hierarchy: Hierarchy, rows: Array, lengths: Array, sums: np.dtype[Any]) -> None:
    """Lower float lengths of all positions, right but for rounding, to sums that are rounded once per arc of the graph."""
    out, lines = graph.out, len(lengths) // GROUP
    heads = hierarchy.derived.get(_add_outwards, lambda: hierarchy.positions[out.indices])
    arcs = out.offsets, heads, out.weights, hierarchy.rows, np.int64(graph.num_vertices)
    lists, counts = cupy.empty(2 * lines, OFFSET), cupy.zeros(3, np.uint64)
    waiting, barrier = cupy.zeros(-(-lines // 32), np.uint32), cupy.zeros(1, np.uint32)
    launch(_OUTWARDS, "add_outwards", TREE_THREADS, None, *arcs, _starts(hierarchy, rows), np.int64(lines // graph.num_vertices),
           np.float64(RAISED), np.float64(RAISED_BY), lengths, lists, counts, waiting, barrier,
           **types_of(out, sums))  # fmt: skip


def _starts(hierarchy: Hierarchy, rows: Array) -> Array:
    """The positions of the sources of all groups; the last group is filled with the first source."""
    padded = np.append(rows, np.full(-len(rows) % GROUP, rows[0], rows.dtype))
    starts: Array = hierarchy.positions[cupy.asarray(padded)]
    return starts


def _arcs(hierarchy: Hierarchy, side: HierarchyArcs, sums: np.dtype[Any]) -> tuple[Array, Array, Array]:
    """Offsets, other ends and encoded weights; a weight that does not fit is that of no path."""

    def encoded() -> Any:
        if sums == np.int32:
            return cupy.minimum(side.weights, far_of(sums)).astype(np.uint32)
        return (side.weights + side.weights.dtype.type(0)).view(np.uint64)  # without a negative zero

    weights = hierarchy.derived.get((_arcs, side is hierarchy.up, sums), encoded)
    return side.offsets, side.others, weights


def _types(hierarchy: Hierarchy, sums: np.dtype[Any] | None = None) -> dict[str, Any]:
    weights = hierarchy.up.weights.dtype
    return {"ROW": hierarchy.rows.dtype, "WEIGHT": weights, "SUM": weights if sums is None else sums}
