"""Trees by sweeps over a hierarchy, with wider sums where needed, and trees that the proof of many at a time leaves open."""

from typing import Any

import numpy as np

from kernels.answers import Hierarchy, Paths
from kernels.arrays import is_cupy
from kernels.certificate.rules import Broken, name_of
from kernels.gpu.loader import fitting
from kernels.graph import Array, Graph, distance_dtype
from kernels.sssp import sssp
from kernels.sssp.certificate import certify_sssp
from kernels.trees.constants import GROUP, RAISED, RAISED_BY
from kernels.trees.swept import SweptTrees


def backend_of(graph: Graph) -> Any:
    """The module that sweeps on the graph's backend."""
    if is_cupy(graph):
        from kernels.trees import cuda

        return cuda
    from kernels.trees import cpu

    return cpu


def lengths_fit(graph: Graph) -> bool:
    """Whether memory holds what a sweep on the graph's backend needs for a tree: on a GPU the lengths of a group, and queues."""
    return not is_cupy(graph) or fitting(8 * (GROUP + 3) * graph.num_vertices) > 0


def by_sweeps(graph: Graph, hierarchy: Hierarchy, rows: Array, predecessors: bool, to: Array | None = None) -> SweptTrees:
    """Sweep the trees from `rows`, prove them, and complete those that are not proved yet; distances are those of rows `to`."""
    sums = _sums(graph, hierarchy)
    swept: SweptTrees = backend_of(graph).solve(graph, hierarchy, rows, sums, predecessors, to)
    if sums == np.int32 and swept.loose.any():  # a sum did not fit
        hierarchy.derived.put(by_sweeps, np.dtype(np.int64))
        return by_sweeps(graph, hierarchy, rows, predecessors, to)
    for lane in np.flatnonzero(swept.loose | swept.waiting).tolist():
        paths = by_search(graph, int(rows[lane]))
        right = paths.distance if to is None else paths.distance[to]
        if _differ(right, swept.distances[lane], hierarchy.exact).any():
            raise Broken(f"tree from vertex {name_of(graph, int(rows[lane]))}: the hierarchy is not that of the graph")
        swept.distances[lane] = right
        if swept.predecessors is not None:
            swept.predecessors[lane] = paths.predecessor
    return swept


def sums_by_sweeps(graph: Graph, hierarchy: Hierarchy, rows: Array) -> Array | None:
    """What is known of the trees from `rows` (`Trees.sums`), if they are proved without being written; else None."""
    possible = hierarchy.derived.get(sums_by_sweeps, lambda: is_cupy(graph) and hierarchy.exact)
    if not possible or _sums(graph, hierarchy) != np.int32:
        return None
    sums: Array | None = backend_of(graph).measured(graph, hierarchy, rows)
    if sums is None:  # and probably none of the next trees, which would be swept twice
        hierarchy.derived.put(sums_by_sweeps, False)
    return sums


def _sums(graph: Graph, hierarchy: Hierarchy) -> np.dtype[Any]:
    """The type of sums of weights: of integers int32 until one does not fit."""
    kind = distance_dtype(graph.out.weights)
    sums: np.dtype[Any] = hierarchy.derived.get(by_sweeps, lambda: np.dtype(np.int32) if kind.kind == "i" else kind)
    return sums


def _differ(right: Array, swept: Array, exact: bool) -> Array:
    """Which distances differ by more than rounding, or at all if no sum rounds (bool [V])."""
    if exact:
        different: Array = right != swept
        return different
    apart: Array = ((right < 0) != (swept < 0)) | (abs(swept - right) > 2 * (RAISED - 1) * abs(right) + 2 * RAISED_BY)
    return apart


def by_search(graph: Graph, row: int) -> Paths:
    """The tree of one source by a search. Raises Broken if it is not proved, and OverflowError as `sssp`."""
    try:
        paths = sssp(graph, row)
    except OverflowError as error:
        raise OverflowError(f"tree from vertex {name_of(graph, row)}: {error}") from None
    certificate = certify_sssp(graph, paths)
    if not certificate.holds:
        raise Broken(f"tree from vertex {name_of(graph, row)}: {certificate.reason}")
    return paths
