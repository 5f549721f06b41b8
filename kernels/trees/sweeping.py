"""Trees by sweeps over a hierarchy, with wider sums where needed, and trees that the proof of many at a time leaves open."""

from importlib import import_module
from typing import Any

import numpy as np

from kernels.answers import Hierarchy, Paths
from kernels.arrays import is_cupy
from kernels.certificate.rules import Broken, name_of
from kernels.graph import Array, Graph, distance_dtype
from kernels.sssp import sssp
from kernels.sssp.certificate import certify_sssp
from kernels.trees.swept import Swept


def backend_of(graph: Graph) -> Any:
    """The module that sweeps on the graph's backend."""
    return import_module("kernels.trees.cuda" if is_cupy(graph) else "kernels.trees.cpu")


def by_sweeps(graph: Graph, hierarchy: Hierarchy, rows: Array, predecessors: bool) -> Swept:
    """Sweep the trees from `rows`, prove them, and complete those that are not proved yet."""
    weights = graph.out.weights
    kind = np.dtype(np.int32) if distance_dtype(weights).kind == "i" else distance_dtype(weights)
    sums = hierarchy.derived.get(by_sweeps, lambda: kind)
    found: Swept = backend_of(graph).solve(graph, hierarchy, rows, sums, predecessors)
    if sums == np.int32 and found.loose.any():  # a sum did not fit
        hierarchy.derived.put(by_sweeps, np.dtype(np.int64))
        return by_sweeps(graph, hierarchy, rows, predecessors)
    for lane in np.flatnonzero(found.loose | found.waiting).tolist():
        paths = _searched(graph, int(rows[lane]), found.distances[lane])
        found.distances[lane] = paths.distance
        if found.predecessors is not None:
            found.predecessors[lane] = paths.predecessor
    return found


def _searched(graph: Graph, row: int, distance: Array) -> Paths:
    """The proved tree of a source by a search, whose distances are those that a sweep found, or its hierarchy is wrong."""
    paths = sssp(graph, row)
    name = name_of(graph, row)
    if (paths.distance != distance).any():
        raise Broken(f"tree from vertex {name}: the hierarchy is not that of the graph")
    certificate = certify_sssp(graph, paths)
    if not certificate.holds:
        raise Broken(f"tree from vertex {name}: {certificate.reason}")
    return paths
