"""Triangles on the GPU (triangles.cu): the functions of `lists.py` and `cpu.py` on CuPy arrays."""

from math import isqrt
from typing import Any

import cupy
import numpy as np

from kernels.gpu.loader import fitting, launch, pointer
from kernels.gpu.radix_sort import KEY, sort
from kernels.graph import Array
from kernels.triangles.constants import DEVICE_BIT_ROWS, THREADS, WIDE_ROW
from kernels.triangles.lists import ArcsOfRows, NeighbourLists

_SOURCE = "triangles/triangles.cu"


def labelled(arcs: ArcsOfRows, sequence: Array) -> Array:
    """As `lists.labelled`."""
    order: Array = sequence[cupy.argsort(-arcs.degrees[sequence])]
    return order


def list_neighbours(arcs: ArcsOfRows, order: Array, directed: bool) -> tuple[NeighbourLists, Array]:
    """As `lists.list_neighbours`. Meanwhile there are 16 bytes for each entry, and 8 more if `mutual` is wanted."""
    labels, row, count = cupy.empty_like(order), order.dtype, len(order)
    labels[order] = cupy.arange(count, dtype=row)
    into = arcs.into and (arcs.into.offsets, arcs.into.indices)
    rows = arcs.out.offsets, arcs.out.indices, *(into or (pointer(None), pointer(None))), arcs.positions, order, labels
    neighbours, smaller = cupy.zeros((2, count), np.uint64)
    wide = int(cupy.count_nonzero(arcs.degrees >= WIDE_ROW))  # the first labels

    def launch_over(name: str, *results: Any) -> None:
        for first, end, blocks in ((0, wide, 1), (wide, count, 0)):
            items = (end - first) * (THREADS if blocks else 32)
            launch(_SOURCE, name, THREADS, items, *rows, np.int64(first), np.int64(end), np.int32(blocks), *results, ROW=row)

    launch_over("count_neighbours", neighbours, smaller)
    ends = cupy.cumsum(smaller.view(np.int64))
    begins = ends - smaller.view(np.int64)
    total, bits = int(ends[-1]) if count else 0, max(count - 1, 1).bit_length()
    keys = cupy.empty(total, KEY)
    mutual = cupy.empty(total, np.uint32) if directed and arcs.into else None
    launch_over("list_neighbours", begins.view(np.uint64).copy(), np.int32(bits), keys, pointer(mutual))
    keys, mutual = sort(keys, mutual, 0, 2 * bits)
    heads = (keys & KEY.type((1 << bits) - 1)).astype(row)
    both = cupy.empty(0, np.uint8) if mutual is None else mutual.astype(np.uint8)
    return NeighbourLists(begins, ends, heads, both), neighbours.view(np.int64)


def add_triangles(lists: NeighbourLists, others: NeighbourLists, sums: Array) -> None:
    """As `cpu.add_triangles`."""
    count, row = len(lists.begins), lists.heads.dtype
    lengths = lists.ends - lists.begins
    tasks = cupy.zeros(count + 1, np.int64)
    cupy.cumsum(cupy.where(lengths > 1, (lengths + 31) // 32, 0), out=tasks[1:])
    num_tasks = int(tasks[-1])
    if not num_tasks:
        return
    own, known = ((of.begins, of.ends, of.heads, pointer(of.mutual if len(of.mutual) else None)) for of in (lists, others))
    num_bits = _bit_rows(count, len(others.heads), len(others.mutual) > 0)
    words = _first_word(num_bits)
    bits, mutual_bits = cupy.zeros(words, np.uint32), cupy.zeros(words if len(others.mutual) else 0, np.uint32)
    of_bits = np.int64(num_bits), bits, mutual_bits
    launch(_SOURCE, "set_bits", THREADS, 32 * num_bits, *known, *of_bits, ROW=row)
    sizes = tasks, np.int64(count), np.int64(num_tasks)
    launch(_SOURCE, "add_triangles", THREADS, 32 * num_tasks, *own, *sizes, *known, *of_bits, sums.view(np.uint64), ROW=row)


def _bit_rows(count: int, edges: int, twice: bool) -> int:
    """How many labels have bits: a small multiple of the longest possible list, unless they take over half of the free memory."""
    labels = min(count, DEVICE_BIT_ROWS, 8 << isqrt(2 * edges).bit_length())
    while labels and not fitting(4 * _first_word(labels) << twice):
        labels //= 2
    return labels


def _first_word(label: int) -> int:
    """As in triangles.cu."""
    group = label >> 5
    return 16 * group * (group + 1) + (label & 31) * (group + 1)
