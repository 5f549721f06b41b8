"""Proofs of many trees on the GPU: proof.cu writes their distances, measure.cu what is known of these."""

from typing import Any

import cupy
import numpy as np

from kernels.answers import Hierarchy
from kernels.gpu.loader import launch, minus_ones, pointer, to_host
from kernels.graph import Array, Graph
from kernels.paths.constants import WAITS
from kernels.paths.predecessors_cuda import types_of
from kernels.trees.constants import GROUP, PROOF_THREADS, TREE_THREADS
from kernels.trees.swept import SweptTrees, joins

_PROOF, _MEASURE = "trees/proof/proof.cu", "trees/proof/measure.cu"


def prove(graph: Graph, hierarchy: Hierarchy, rows: Array, lengths: Array, sums: np.dtype[Any], predecessors: bool) -> SweptTrees:
    """Write the trees that have these lengths. A row that waits for arcs of length zero has predecessor WAITS."""
    distances = cupy.empty((len(rows), graph.num_vertices), sums)
    stated = cupy.empty((len(rows), graph.num_vertices), rows.dtype) if predecessors else None
    loose, waiting = _launch(_PROOF, "prove", graph, hierarchy, rows, lengths, (distances, pointer(stated)), sums)
    return SweptTrees(distances, stated, loose, waiting)


def measure(graph: Graph, hierarchy: Hierarchy, rows: Array, lengths: Array) -> Array | None:
    """Prove trees that have these lengths, int32, without writing them.

    Returns, int64 [3, k], of each tree: the number of rows with a distance, the largest distance, and the sum of all. None unless
    each tree is proved so.
    """
    sums = cupy.zeros((3, -(-len(rows) // GROUP) * GROUP), np.int64)
    loose, waiting = _launch(_MEASURE, "prove_and_measure", graph, hierarchy, rows, lengths, tuple(sums), np.dtype(np.int32))
    return None if (loose | waiting).any() else sums[:, : len(rows)]


def _launch(
    source: str, name: str, graph: Graph, hierarchy: Hierarchy, rows: Array, lengths: Array, results: tuple[Any, ...],
    sums: np.dtype[Any],
) -> tuple[Array, Array]:  # fmt: skip
    """Prove trees with these lengths; which of them are loose, and which wait (`SweptTrees`)."""
    into, count, groups = graph.into, len(rows), -(-len(rows) // GROUP)
    loose, first = cupy.zeros(groups * GROUP, np.uint32), cupy.zeros(groups * GROUP, np.uint64)
    places = hierarchy.derived.get(_launch, lambda: hierarchy.positions[into.indices])
    joined = pointer(graph.derived.get(joins, lambda: joins(graph)))
    positive = np.bool_(graph.derived.get(_positive, lambda: _positive(graph)))
    arcs = into.offsets, into.indices, places, pointer(into.weights), hierarchy.positions, joined
    sizes = np.int64(count), np.int64(groups)
    launch(source, name, PROOF_THREADS, None, *arcs, np.int64(graph.num_vertices), positive, cupy.asarray(rows), *sizes, lengths,
           *results, loose, first, **types_of(into, sums))  # fmt: skip
    return to_host(loose[:count]) != 0, to_host(first[:count]) != 1


def _positive(graph: Graph) -> bool:
    """Whether each arc has a length that sums keep: an arc that is tight then comes from a nearer row."""
    weights = graph.into.weights
    return weights is None or (weights.dtype.kind == "i" and bool((weights > 0).all()))


def with_zero_steps(graph: Graph, swept: SweptTrees) -> SweptTrees:
    """The trees with the predecessors of rows that arcs of length zero lead to."""
    into, num_rows, stated = graph.into, graph.num_vertices, swept.predecessors
    assert stated is not None
    entries = cupy.flatnonzero(stated.ravel() == WAITS)
    nearest, steps = minus_ones(len(entries), stated.dtype), cupy.zeros(4, np.uint64)
    rows = entries % num_rows
    arcs, waits = (into.offsets, into.indices, pointer(into.weights)), (entries - rows, rows, np.int64(len(rows)))
    launch(_PROOF, "follow_zero_steps", TREE_THREADS, len(rows), *arcs, *waits, swept.distances, stated, nearest, steps,
           **types_of(into, swept.distances.dtype))  # fmt: skip
    waiting = np.zeros(len(stated), np.bool_)
    waiting[to_host(entries[nearest == -1]) // num_rows] = True
    return swept._replace(waiting=waiting)
