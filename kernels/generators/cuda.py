"""Edges by their numbers on the GPU (edges.cu)."""

from typing import Any

import cupy
import numpy as np

from kernels.generators.constants import THREADS
from kernels.generators.drawing import Drawing
from kernels.gpu.loader import launch
from kernels.graph import Array

_SOURCE = "generators/edges.cu"
_CHUNK = 1 << 26  # edges that a launch draws


def drawn(drawing: Drawing, begin: int, end: int) -> Array:
    """The ends of edges: int64 [2, end - begin]."""
    both: Array = cupy.empty((2, end - begin), np.int64)
    if end > begin:
        launch(_SOURCE, "draw_ends", THREADS, end - begin, *_arguments(drawing), np.uint64(begin), np.int64(end - begin), both)
    return both


def keys_between(drawing: Drawing, begin: int, end: int, low: int, high: int) -> list[Array]:
    """As on a CPU, in one array that is not sorted."""
    runs, arguments, length = [], _arguments(drawing), cupy.zeros(1, np.uint64)
    buffer = cupy.empty(min(_CHUNK, end - begin), np.uint64)
    for first in range(begin, end, _CHUNK):
        count = min(_CHUNK, end - first)
        length[:] = 0
        limits = np.uint64(low), np.uint64(high)
        launch(_SOURCE, "draw_keys", THREADS, count, *arguments, np.uint64(first), np.int64(count), *limits, buffer, length)
        runs.append(buffer[: int(length[0])].copy())
    return runs


def counts_of_smaller(drawing: Drawing, begin: int, end: int, shift: int) -> Array:
    """As on a CPU, in host memory."""
    counts, arguments = cupy.zeros(((drawing.num_ids - 1) >> shift) + 1, np.uint64), _arguments(drawing)
    for first in range(begin, end, _CHUNK):
        count = min(_CHUNK, end - first)
        launch(_SOURCE, "count_smaller", THREADS, count, *arguments, np.uint64(first), np.int64(count), np.int32(shift), counts)
    on_host: Array = counts.get().astype(np.int64)
    return on_host


def distinct(runs: list[Array], _: Array) -> Array:
    """The distinct keys of arrays, ascending."""
    keys = cupy.concatenate(runs)
    runs.clear()
    keys.sort()
    kept = cupy.ones(len(keys), np.bool_)
    kept[1:] = keys[1:] != keys[:-1]
    distinct_keys: Array = keys[kept]
    return distinct_keys


def _arguments(drawing: Drawing) -> tuple[Any, ...]:
    numbers = np.int32(drawing.kind), np.int32(drawing.bits), np.uint64(drawing.num_ids)
    words = map(np.uint64, (drawing.seed, *drawing.scramblers))
    tables = (cupy.asarray(drawing.communities), cupy.asarray(drawing.members))
    lists = (item for table in tables for item in (table, np.int64(len(table))))
    return (*numbers, *words, *lists, np.uint64(drawing.inside), np.uint64(drawing.outside))
