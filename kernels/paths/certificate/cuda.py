"""The certificate of paths on CuPy arrays: one launch (paths.cu), and the first broken rule that it noted."""

from __future__ import annotations

from typing import NamedTuple

import cupy
import numpy as np

from kernels.answers import Paths
from kernels.certificate.launches import launch, require_device_form
from kernels.certificate.rules import Broken, arc_ends, arc_weight, at, outside, require_source
from kernels.gpu.loader import pointer, to_host
from kernels.graph import NO_ROW, Array, Graph, distance_dtype
from kernels.paths.certificate import reasons
from kernels.paths.certificate.distances import types_of


class _Noted(NamedTuple):
    """The words of Control in paths.cu: first rows or arcs, counted back from their number; 0 for none."""

    barrier: int
    loose: int
    wide: int
    not_a_distance: int
    not_a_row: int
    without: int
    without_after: int
    wrong: int
    wrong_after: int
    first_loose: int
    queued: int
    searched: int


def check(graph: Graph, paths: Paths, weights: Array | None) -> None:
    """Raise Broken at the first rule that `paths` breaks."""
    num_rows, row = graph.num_vertices, graph.rows_by_id.dtype
    source = require_source(graph, paths.source)
    distance = require_device_form("distance", paths.distance, num_rows, distance_dtype(weights))
    malformed = None
    try:
        predecessor = require_device_form("predecessor", paths.predecessor, num_rows, row)
    except Broken as broken:
        malformed, predecessor = broken, cupy.full(num_rows, NO_ROW, row)
    nearest, control = _launch_check(graph, weights, source, distance, predecessor)
    noted = _Noted(*to_host(control).tolist())
    if noted.not_a_distance:
        raise Broken(reasons.not_a_distance(graph, distance, num_rows - noted.not_a_distance))
    if malformed:
        raise malformed
    if noted.not_a_row:
        raise Broken(outside("predecessor", predecessor, num_rows - noted.not_a_row, num_rows, NO_ROW))
    if at(distance, source) != 0:
        raise Broken(reasons.not_at_source(graph, distance, source))
    if noted.loose:
        arc = _first_loose(graph, weights, distance, control)
        raise Broken(reasons.loose(graph, distance, arc_ends(graph, arc), arc_weight(weights, arc)))
    without, wrong = (noted.without_after, noted.wrong_after) if noted.searched else (noted.without, noted.wrong)
    if without:
        raise Broken(reasons.no_path(graph, distance, num_rows - without))
    if wrong:
        first = num_rows - wrong
        position = int(at(nearest, first))
        right = NO_ROW if position == num_rows else int(at(graph.rows_by_id, position))
        raise Broken(reasons.wrong_predecessor(graph, first, int(at(predecessor, first)), right))


def _launch_check(graph: Graph, weights: Array | None, source: int, distance: Array, predecessor: Array) -> tuple[Array, Array]:
    """Return the positions of the unique predecessors, and the words of Control."""
    num_rows, row = graph.num_vertices, graph.rows_by_id.dtype
    nearest, control = cupy.empty(num_rows, row), cupy.zeros(len(_Noted._fields), np.uint64)
    narrow = cupy.empty(num_rows if distance.dtype.kind == "i" else 0, np.uint16)
    step, queue = (cupy.empty(0 if weights is None else num_rows, row) for _ in range(2))
    out, into = ((csr.offsets, csr.indices, pointer(None if weights is None else csr.weights)) for csr in (graph.out, graph.into))
    answer = (np.int64(source), np.int64(num_rows), distance, predecessor)
    arguments = (*out, *into, graph.positions, *answer, nearest, narrow, step, queue, control)
    launch(
        "paths/certificate/paths.cu",
        "check_paths",
        num_rows + graph.num_arcs,
        arguments,
        **types_of(graph.rows_by_id.dtype, weights),
    )
    return nearest, control


def _first_loose(graph: Graph, weights: Array | None, distance: Array, control: Array) -> int:
    sizes = np.int64(graph.num_vertices), np.int64(graph.num_arcs)
    arguments = (graph.out.offsets, graph.out.indices, pointer(weights), *sizes, distance, control)
    launch("paths/certificate/paths.cu", "find_loose", graph.num_arcs, arguments, **types_of(graph.rows_by_id.dtype, weights))
    return graph.num_arcs - _Noted(*to_host(control).tolist()).first_loose
