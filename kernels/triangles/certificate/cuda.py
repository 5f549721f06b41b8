"""The second count on the GPU: hubs.cu and recount.cu."""

from typing import Any

import cupy
import numpy as np

from kernels.gpu.loader import launch, pointer
from kernels.graph import Array
from kernels.triangles.certificate.order import SideLists
from kernels.triangles.constants import EDGE_THREADS

_HUBS, _OTHERS = "triangles/certificate/hubs.cu", "triangles/certificate/recount.cu"


def add_of_hubs(earlier: SideLists, later: SideLists, first_hub: int, sums: Array) -> tuple[int, int]:
    """As `recount.add_triangles_of_hubs`."""
    rows, row = len(sums), later.places.dtype
    hubs, first = rows - first_hub, np.int64(first_hub)
    words = (hubs + 31) // 32
    joined = cupy.zeros(hubs * words, np.uint32)
    mutual = cupy.zeros_like(joined) if len(later.arcs) else None
    bits = np.int64(words), joined, pointer(mutual)
    for side in (earlier, later):
        launch(_HUBS, "set_bits", EDGE_THREADS, 32 * hubs, *_arguments(side), first, np.int64(rows), *bits, ROW=row)
    once, twice, totals = cupy.zeros(hubs, np.uint64), cupy.zeros(hubs, np.uint64), cupy.zeros((2, 2), np.uint64)
    first_edge = int(later.begins[first_hub])
    begins, *edges = _arguments(later)
    hub_edges = *edges, first, np.int64(rows), np.int64(first_edge), *bits, twice, totals[0]
    launch(_HUBS, "add_edges", EDGE_THREADS, 32 * (len(later.places) - first_edge), *hub_edges, ROW=row)
    pairs = begins, *edges, first, *bits, sums.view(np.uint64), once, totals[1]
    launch(_HUBS, "add_pairs", EDGE_THREADS, 32 * first_hub, *pairs, ROW=row)
    sums[first_hub:] += (once + twice // 2).view(np.int64)
    (thrice, of_edges), (doubled, of_pairs) = totals.tolist()
    return thrice // 3 + doubled // 2, of_edges + of_pairs


def add(earlier: SideLists, later: SideLists, lists: SideLists, first_hub: int, sums: Array) -> tuple[int, int]:
    """As `recount.add_triangles`."""
    edges = int(earlier.ends[first_hub - 1]) if first_hub else 0
    totals = cupy.zeros(2, np.uint64)
    sides = *_arguments(earlier)[1:], np.int64(edges), np.int64(first_hub), *_arguments(later), *_arguments(lists)
    launch(_OTHERS, "add", EDGE_THREADS, 32 * edges, *sides, sums.view(np.uint64), totals, ROW=later.places.dtype)
    triangles, total = totals.tolist()
    return triangles, total


def _arguments(side: SideLists) -> tuple[Any, ...]:
    return side.begins, side.ends, side.places, pointer(side.arcs if len(side.arcs) else None)
