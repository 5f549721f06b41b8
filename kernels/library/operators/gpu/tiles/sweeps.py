"""Sweeps in the order of tiles (sweep.cuh): for which functions, on which graphs, and what is derived from a graph for them."""

from collections.abc import Callable
from dataclasses import dataclass, replace
from itertools import pairwise
from typing import Any

import cupy
import numpy as np

from kernels.gpu.constants import TILE_CHUNK_ARCS
from kernels.gpu.devices import spare_bytes
from kernels.gpu.loader import fitting
from kernels.gpu.tiles.bands import ALIGNED, Band, band_limits, ordered_tasks
from kernels.graph import Array, Csr, Graph
from kernels.library.operators.constants import ALL, DENSE
from kernels.library.operators.cpu.orders import ordered
from kernels.library.operators.frontier import Frontier
from kernels.library.operators.functions.accesses import held_arrays
from kernels.library.operators.functions.emit import cuda_element
from kernels.library.operators.functions.tree import Function
from kernels.library.operators.gpu.compiled import Program, few_arcs
from kernels.library.operators.gpu.constants import TILE_ROUND

_THREADS, _FEW_THREADS = 1024, 512  # of a block; these, if a function takes more registers
_MOST_BITS, _LEAST_BITS = 15, 11  # a tile has 2^11 to 2^15 heads
_LEAST_SHARE = 1 / 4  # of the arcs, of rows whose flags are set
_SAMPLED_ARCS = 4096  # of which the share is estimated
_LEAST_LENGTH = 2.0  # arcs of a segment, on average, unless a sweep needs no segments
_LEAST_ARCS = 1 << 24
_SAMPLE = 1024  # one row of so many is looked at to estimate the length
_SEGMENT_BYTES = 8  # of a segment, while they are made; at worst each is one arc


@dataclass(frozen=True)
class TiledArcs:
    """The arcs of a direction in the order of tiles of 2^bits heads; A arcs, S segments, N tasks, J jobs."""

    bits: int
    arcs: Array  # uint16 [A + padding]: place of the head in its tile, and 2^15 on the last arc of a segment
    weights: Array | None  # [A + padding]
    tasks: Array  # int64 [N, 4]: tile, first arc, numbers of arcs and segments, first segment
    jobs: Array  # int64 [J + 1]: first tasks
    rows: Array  # index width [S + 1]: row of each segment


@dataclass(frozen=True)
class TiledSweep:
    """The kernel of an advance in the order of tiles."""

    kernels: Program
    edge: Function  # `edge.held` are the arrays that a block holds
    held: int  # bytes of a head in these
    staged: int  # bytes that a block needs beside its tile

    @property
    def weighted(self) -> bool:
        """Whether weights are read."""
        return "weight" in self.edge.parameters

    @property
    def has_rows(self) -> bool:
        """Whether it has to be known to which row an arc belongs. Over flags such sweeps are not faster than others."""
        return any(self.kernels.defined[name] for name in ("HOW", "TAKES_ROW", "CAN_FAIL"))

    def bits(self) -> int:
        """Of the largest tile that a block of the current GPU can hold."""
        spare = (spare_bytes(cupy.cuda.Device().id) - self.staged) // self.held
        return min(_MOST_BITS, spare.bit_length() - 1) if spare > 0 else 0

    def shared(self, bits: int) -> int:
        """Bytes of dynamic shared memory of a block."""
        return (self.held << bits) + self.staged


def tiled_sweep(roles: dict[str, Function | None], defined: dict[str, Any], total: str, how: str) -> TiledSweep | None:
    """The sweep of these functions; None if it has to have another order, or reads and changes nothing of the neighbours."""
    edge = roles["edge"]
    assert edge is not None
    held = held_arrays(edge)
    if not held or how in ("first", "product") or ordered(how, total):
        return None
    names = sorted(held, key=lambda name: -edge.arrays[name].itemsize)  # so that each array is aligned
    ends = np.cumsum([edge.arrays[name].itemsize for name in names]).tolist()
    places = zip(names, [0, *ends], strict=False)
    more: dict[str, Any] = {
        "HELD_ARRAYS(DO)": " ".join(f"DO({name}, {cuda_element(edge, name)}, {before})" for name, before in places),
        "CHANGED_ARRAYS(DO)": " ".join(f"DO({name}, {update})" for name, update in held.items() if update),
        "HELD_BYTES": ends[-1],
        "TAKES_ROW": int(bool({"row", "own"} & {*edge.parameters}) or any(site.kind == "steps" for site in edge.sites)),
        "CAN_FAIL": int(bool(edge.sites)),
    }
    many_registers = more["CAN_FAIL"] or "own" in edge.parameters or (how and "weight" in edge.parameters)
    more["TILE_THREADS"] = threads = _FEW_THREADS if many_registers else _THREADS
    warps = threads // 32
    totals = warps * TILE_ROUND * {"b": 1, "i": 8, "f": 4, "d": 8}[total] if how else 0
    activity = warps * (TILE_CHUNK_ARCS // 32 + 2) * 4 if not how else 0
    holding = replace(edge, held=tuple(names))
    kernels = Program("tiles/sweep.cuh", roles | {"edge": holding}, defined | more, threads)
    return TiledSweep(kernels, holding, ends[-1], totals + activity)


def arcs_for(frontier: Frontier, csr: Csr, sweep: TiledSweep, captured: Callable[[], tuple[Any, ...]]) -> TiledArcs | None:
    """The arcs in the order of tiles, if the frontier's rules want a sweep in this order; derived from the graph once.

    `captured` gives the values that `edge` captures.
    """
    graph, rules = frontier.graph, frontier.rules
    flags = frontier.form == DENSE and not sweep.has_rows
    has_many = graph.num_arcs >= _LEAST_ARCS and not few_arcs(graph)
    if not has_many or not (flags or frontier.form == ALL) or rules.tiled_after is None or rules.ranges(graph) > 1:
        return None
    which = csr is graph.out
    sweeps = graph.derived.get((arcs_for, which), lambda: [0])
    sweeps[0] += 1
    if sweeps[0] <= rules.tiled_after or not pays(graph, csr, flags or sweep.has_rows):
        return None
    if overlapping(sweep.edge, captured()) or (flags and share_of_arcs(frontier, csr) < _LEAST_SHARE):
        return None
    key, bits = (tiled_arcs, which), sweep.bits()
    known: TiledArcs | None = graph.derived.get(key, lambda: None)
    weighted = sweep.weighted and csr.weights is not None
    if known is not None and known.bits <= bits and (known.weights is not None or not weighted):
        return known
    if known is not None:
        bits, weighted = min(bits, known.bits), weighted or known.weights is not None
    if bits < _LEAST_BITS or not fits_in_memory(csr, weighted):
        return None
    graph.derived.discard(key)
    known = tiled_arcs(csr, graph.num_vertices, bits, weighted)
    graph.derived.put(key, known)
    return known


def pays(graph: Graph, csr: Csr, has_segments: bool) -> bool:
    """Whether sweeps of many arcs are faster in this order; with segments, if these are long enough in a sample of the rows."""
    if not has_segments:
        return True
    key = length_of_segments, csr is graph.out
    return graph.derived.get(key, lambda: length_of_segments(csr, _MOST_BITS, _SAMPLE)) >= _LEAST_LENGTH


def share_of_arcs(frontier: Frontier, csr: Csr) -> float:
    """The share of the arcs that the rows of flags have, by a sample."""
    graph, which = frontier.graph, csr is frontier.graph.out

    def sample() -> Array:
        arcs = (cupy.arange(_SAMPLED_ARCS) * (len(csr.indices) / _SAMPLED_ARCS)).astype(np.int64)
        rows: Array = cupy.searchsorted(csr.offsets, arcs, side="right") - 1
        return rows

    def share() -> float:
        rows, flags = graph.derived.get((share_of_arcs, which), sample), frontier.flags_form
        assert flags is not None
        return int(((flags[rows >> 5] >> (rows & 31).astype(np.uint32)) & 1).sum()) / len(rows)

    return frontier.derived.get((share_of_arcs, which), share)


def overlapping(edge: Function, captured: tuple[Any, ...]) -> bool:
    """Whether an array that is held shares memory with another one, so that a call would not see what it changed by that name."""
    arrays = dict(zip(edge.arrays, captured, strict=False))
    ranges = {name: (array.data.ptr, array.data.ptr + array.nbytes) for name, array in arrays.items()}
    return any(
        begin < ranges[name][1] and ranges[name][0] < end
        for name in edge.held
        for other, (begin, end) in ranges.items()
        if other != name
    )


def fits_in_memory(csr: Csr, weighted: bool) -> bool:
    """Whether the form, and what is needed to make it, takes no more than half of the free memory."""
    weight = csr.weights.itemsize if weighted and csr.weights is not None else 0
    return len(csr.indices) * (np.dtype(np.uint16).itemsize + weight + _SEGMENT_BYTES) <= fitting(1)


def length_of_segments(csr: Csr, bits: int, every: int = 1) -> float:
    """Arcs of a segment, on average over one row of `every`."""
    rows = cupy.arange(every // 2, len(csr.offsets) - 1, every)
    firsts, degrees = csr.offsets[rows], csr.offsets[rows + 1] - csr.offsets[rows]
    ends = cupy.cumsum(degrees)
    if not len(ends) or not int(ends[-1]):
        return 0.0
    places = cupy.arange(int(ends[-1]))
    of_row = cupy.searchsorted(ends, places, side="right")
    tiles = csr.indices[firsts[of_row] + places - (ends - degrees)[of_row]].astype(np.int64) >> bits
    return len(places) / len(cupy.unique(of_row << 32 | tiles))


def tiled_arcs(csr: Csr, num_heads: int, bits: int, weighted: bool) -> TiledArcs:
    """Put the arcs in the order of tiles of 2^bits heads."""
    num_tiles, limits = ((num_heads - 1) >> bits) + 1, band_limits(csr.offsets)
    places = len(csr.indices) + ALIGNED * num_tiles * len(limits)
    arcs = cupy.zeros(places, np.uint16)
    weights = cupy.zeros(places, csr.weights.dtype) if weighted and csr.weights is not None else None
    tasks, rows, used, segments = [], [], 0, 0
    for of_band in pairwise(limits):
        band = Band(csr, of_band, num_tiles, bits, weighted)
        tasks.append(band.write_arcs(arcs, weights, used, segments))
        rows.append(((band.items >> 32) + band.first).astype(csr.indices.dtype))
        used += band.padded_arcs
        segments += band.num_segments
        del band
    cupy.get_default_memory_pool().free_all_blocks()
    rows.append(cupy.zeros(1, csr.indices.dtype))
    return TiledArcs(bits, arcs, weights, *ordered_tasks(tasks), cupy.concatenate(rows))
