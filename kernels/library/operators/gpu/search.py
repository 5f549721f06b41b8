"""What an operator finds on a GPU: bits of rows, and a list of them if they are few."""

from threading import get_ident
from typing import Any

import cupy
import numpy as np

from kernels.graph import Array, Graph
from kernels.library.operators.frontier import Frontier, made
from kernels.library.operators.gpu.bits import rows_of, words_of
from kernels.library.operators.gpu.compiled import Failures

_TOGETHER, _BYTES = 64, 1 << 18  # searches whose memory is allocated together, and the most that it takes if there are several


class Search:
    """Bits of the rows that an operator finds, and a list of as many as a sparse frontier may have.

    `listed`: rows are listed as they are found, and the bits are zero before; otherwise whole words of bits are written, and
    lists may have gaps. `places` are what kernels take: addresses of the bits and of the list, the most rows that it has, and the
    address of the number of rows.
    """

    def __init__(self, frontier: Frontier, failed: Failures, listed: bool = True) -> None:
        graph, self.frontier, self._failed, self._listed = frontier.graph, frontier, failed, listed
        self._most = frontier.rules.most_rows(graph)
        self._memory, (self._number, bits, queue) = _memory_of(graph, max(1, self._most), listed)
        self.places = bits, queue, self._most, failed.zeroed()

    def new_frontier(self) -> Frontier:
        """The frontier; waits for the GPU."""
        (size, listed), graph, rules = self._failed.check().tolist(), self.frontier.graph, self.frontier.rules
        if size <= self._most and (self._listed or listed == size):
            return made(graph, rules, self._memory.rows(self._number, size), size)
        return of_bits(self.frontier, self._memory.words(self._number), size)


class _SearchMemory:
    """Memory of several searches, allocated and cleared together: the bits of each, then the lists."""

    def __init__(self, graph: Graph, most: int, cleared: bool) -> None:
        row, self._words, self._most = graph.rows_by_id.dtype, words_of(graph), most
        of_bits, of_list = 4 * self._words, most * row.itemsize
        count = max(1, min(_TOGETHER, _BYTES // (of_bits + of_list)))
        self._begin = -(-count * of_bits // row.itemsize)  # of the lists, in rows
        self._array = cupy.empty(self._begin + count * most, row)
        if cleared:
            self._array.data.memset_async(0, count * of_bits)
        bits: int = self._array.data.ptr
        lists = bits + self._begin * row.itemsize
        # Of each search: its number, and the addresses of its bits and of its list.
        self.parts = [(number, bits + number * of_bits, lists + number * of_list) for number in range(count)]

    def words(self, number: int) -> Array:
        """The bits of a search, uint32 [ceil(V / 32)]."""
        words: Array = self._array[: self._begin].view(np.uint32)[number * self._words :][: self._words]
        return words

    def rows(self, number: int, size: int) -> Array:
        """The first rows of a search's list (index width) [size]."""
        first = self._begin + number * self._most
        rows: Array = self._array[first : first + size]
        return rows


def _memory_of(graph: Graph, most: int, cleared: bool) -> tuple[_SearchMemory, tuple[int, int, int]]:
    """Memory for one search, and its part of it, which nothing else gets.

    A thread has memory of its own, and so has a stream: CuPy's pool gives what is freed to the stream in which it was allocated.
    """
    kept: dict[Any, _SearchMemory] = graph.derived.get(_memory_of, dict)
    key = get_ident(), cupy.cuda.get_current_stream().ptr, most, cleared
    memory = kept.get(key)
    if memory is None:
        memory = kept[key] = _SearchMemory(graph, most, cleared)
    part = memory.parts.pop()
    if not memory.parts:
        del kept[key]
    return memory, part


def of_bits(frontier: Frontier, bits: Array, size: int) -> Frontier:
    """A frontier of the rows whose bits are set, like another one."""
    graph, rules = frontier.graph, frontier.rules
    dense = Frontier(graph, rules, size, flags=bits)
    if size > rules.most_rows(graph) or size == graph.num_vertices:
        return dense
    return made(graph, rules, rows_of(graph, bits, size), size)
