"""A round of contraction on a GPU, with the result of `kernels.hierarchy.cpu`; hierarchy.cu has the kernels."""

from collections.abc import Iterator
from typing import Any

import cupy
import numpy as np

from kernels.gpu.loader import launch, minus_ones, pointer
from kernels.graph import Array
from kernels.hierarchy.constants import ENTRIES, SEARCHES, TEAM, THREADS
from kernels.hierarchy.core import Core, CoreArcs

_SOURCE = "hierarchy/hierarchy.cu"
_RESIDENT = 1024  # threads of a multiprocessor that search at a time
# Arcs that a search of most rows begins with at most: a depot with thousands must not enlarge the memory of all searches.
_FEW = 64


def count_shortcuts(core: Core, rows: Array, settle: int) -> Array:
    """As `scores.count_shortcuts`."""
    counts: Array = cupy.zeros(core.size, np.int64)
    for part, most in _by_size(cupy.diff(core.out.offsets)[rows]):
        memory = _WitnessMemory(len(part), most + ENTRIES * settle, core)
        inputs = rows[part], np.int64(len(part)), np.int32(settle)
        _launch(core, "count_shortcuts", memory.threads, *core.out[:3], *inputs, *memory.arguments, counts)
    return counts


def choose(core: Core, keys: Array) -> tuple[Array, Array, Array]:
    """As `cpu.choose`."""
    chosen, touched = cupy.empty((2, core.size), np.bool_)
    levels, sides = cupy.empty_like(core.levels), (*core.out[:2], *core.into[:2])
    _launch(core, "choose", core.size, *sides, keys, np.int64(core.size), chosen)
    _launch(core, "lift", core.size, *sides, chosen, core.levels, np.int64(core.size), touched, levels)
    return chosen, touched, levels


def contract(core: Core, chosen: Array, settle: int) -> CoreArcs:
    """As `cpu.contract`."""
    size = np.int64(core.size)
    sizes, counts = cupy.empty(core.size, np.int64), cupy.zeros(core.size, np.int64)
    _launch(core, "most_arcs", core.size, *core.out[:2], chosen, size, sizes)
    starts, side = _empty(core, sizes)
    remain = cupy.flatnonzero(~chosen)
    for part, most in _by_size(sizes[remain]):
        memory = _WitnessMemory(len(part), most + ENTRIES * settle, core)
        inputs = core.rows, chosen, remain[part], np.int64(len(part)), np.int32(settle)
        _launch(core, "contract", memory.threads, *core.out, *inputs, *memory.arguments, starts, *side, counts)
    mirrored, kept = None, counts
    if core.symmetric:
        mirrored, kept = cupy.empty(len(side[0]), np.bool_), cupy.empty_like(counts)
        _launch(core, "mirror", core.size * TEAM, starts, side[0], counts, size, mirrored, kept)
    offsets, made = _empty(core, kept)
    _launch(core, "compress", core.size, starts, *side, counts, pointer(mirrored), offsets, size, *made)
    return CoreArcs(offsets, *made)


class _WitnessMemory:
    """What `Search` of witnesses.cuh needs, for as many teams as there are items, or as run or fit at a time."""

    def __init__(self, items: int, most: int, core: Core) -> None:
        places = 1 << (2 * most - 1).bit_length()
        resident = cupy.cuda.Device().attributes["MultiProcessorCount"] * _RESIDENT // TEAM
        self.threads = TEAM * max(1, min(items, resident, SEARCHES // (places * 8 + most * 36)))
        teams = -(-self.threads // THREADS) * THREADS // TEAM
        arrays = cupy.empty((teams, 3, most), core.out.weights.dtype), cupy.empty((teams, 3, most), np.int32)
        self.arguments = minus_ones(teams * places, np.int64), *arrays, np.int64(places), np.int64(most)


def _by_size(sizes: Array) -> Iterator[tuple[Array, int]]:
    """The items with few arcs and those with many, if there are any, and the most arcs of one."""
    most = int(sizes.max()) if len(sizes) else 0
    if len(sizes) and most <= _FEW:
        yield cupy.arange(len(sizes)), most
        return
    few = sizes <= _FEW
    for part, largest in ((cupy.flatnonzero(few), _FEW), (cupy.flatnonzero(~few), most)):
        if len(part):
            yield part, largest


def _empty(core: Core, counts: Array) -> tuple[Array, list[Array]]:
    """Offsets of rows with so many arcs, and arrays for these arcs."""
    offsets = cupy.concatenate([cupy.zeros(1, np.int64), cupy.cumsum(counts)])
    return offsets, [cupy.empty(int(offsets[-1]), array.dtype) for array in core.out[1:]]


def _launch(core: Core, name: str, items: int, *arguments: Any) -> None:
    weight = np.dtype(np.float64 if core.out.weights.dtype.kind == "f" else np.int64)
    launch(_SOURCE, name, THREADS, None, *arguments, blocks=-(-items // THREADS), plain=True, WEIGHT=weight)
