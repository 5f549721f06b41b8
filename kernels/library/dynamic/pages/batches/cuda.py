"""Batches in slotted pages on the GPU (order.cu, small.cu, large.cu).

All is launched without waiting, but for one transfer of counters, after which the host knows whether pages become more or less;
then the order of the pages is made anew, and arcs for which there was no space follow.
"""

from typing import Any

import cupy
import numpy as np

from kernels.gpu.loader import launch, minus_ones, pointer
from kernels.gpu.radix_sort import sort
from kernels.library.dynamic.contract import Batch, Counts
from kernels.library.dynamic.pages.batches.constants import (
    ABSENT,
    AGAIN,
    APPLIED,
    CHANGED,
    COUNTERS,
    DUPLICATE,
    FULL,
    LARGE,
    PAGES,
    RELAID,
    SMALL,
)
from kernels.library.dynamic.pages.building import REFILL, words_of_lists
from kernels.library.dynamic.pages.constants import LOOKUP_THREADS, PAGE_THREADS
from kernels.library.dynamic.pages.store import PageStore

_FOLDER = "library/dynamic/pages/batches"
_WORD = 4  # bytes


def insert(store: PageStore, batch: Batch, unique: bool) -> Counts:
    """As `kernels.library.dynamic.pages.batches.insert`."""
    if not len(batch.src):
        return Counts(0, 0, 0)
    work = _SortedBatch(store, batch)
    work.find(inserts=True, unique=unique)
    if unique:
        work.search_large()
    work.insert_into_small(unique, work.small, SMALL)
    counters = work.measure(inserts=True)
    if counters[PAGES]:
        work.make_space(counters)
    if counters[LARGE] or counters[PAGES]:
        work.append_to_large()
    applied, absent = counters[CHANGED], counters[ABSENT]
    return Counts(applied, work.number - applied - absent, absent)


def delete(store: PageStore, batch: Batch) -> Counts:
    """As `kernels.library.dynamic.pages.batches.delete`."""
    if not len(batch.src):
        return Counts(0, 0, 0)
    work = _SortedBatch(store, batch._replace(weights=None))
    work.find(inserts=False, unique=False)
    work.delete_from_small()
    places = minus_ones(work.number, np.int64)
    for turn in range(work.number):
        work.search_large(turn, places)
        counters = work.measure(inserts=False)
        if not counters[AGAIN]:
            break
    if counters[LARGE]:
        work.shorten_large(places)
    if counters[PAGES]:
        freed = cupy.empty(counters[PAGES], np.int64)
        work.splice(freed[:0], freed)
        store.release(freed)
    return Counts(counters[CHANGED], 0, work.number - counters[CHANGED])


class _SortedBatch:
    """A sorted batch, and what is known of its arcs and of the pages that it touches; batches.cuh describes the arrays."""

    def __init__(self, store: PageStore, batch: Batch) -> None:
        self.store, self.number = store, len(batch.src)
        bits = store.num_rows.bit_length()
        keys, number = cupy.empty(self.number, np.uint64), np.int64(self.number)
        columns = (cupy.ascontiguousarray(column, np.int32) for column in (batch.src, batch.dst))
        self.launch("order", "pack_arcs", self.number, *columns, number, np.int32(store.num_rows), np.int32(bits), keys)
        stored, given = store.weights, batch.weights
        weights = None if stored is None or given is None else cupy.ascontiguousarray(given, stored.dtype)
        keys, order = sort(keys, None if weights is None else cupy.arange(self.number, dtype=np.uint32), 0, 2 * bits)
        self.arcs = keys, number, np.int32(bits)
        self.weights = weights if weights is None or order is None else weights[order]
        self.slot_pages, self.slots = (cupy.empty(self.number, np.int32) for _ in range(2))
        self.states, self.counters = cupy.empty(self.number, np.int8), cupy.zeros(COUNTERS, np.int64)
        self.sums: Any = None

    def launch(self, source: str, kernel: str, items: int | None, *arguments: Any, **options: Any) -> None:
        """Run a kernel; those of small.cu have the memory of a page for each block."""
        weight = self.store.weights
        if source == "small":
            size = self.store.page_size
            # Later devices need more registers for a thread.
            options["PAGE_BLOCKS"] = 12 if int(cupy.cuda.Device().compute_capability) < 100 else 10
            options["shared"] = size * (options.get("words", 2) * _WORD + (0 if weight is None else np.dtype(np.uint64).itemsize))
        kind = np.dtype(np.int32) if weight is None else weight.dtype
        options.pop("words", None)
        threads = PAGE_THREADS if source == "small" else LOOKUP_THREADS
        launch(f"{_FOLDER}/{source}.cu", kernel, threads, items, *arguments, WEIGHT=kind, **options)

    def pages(self) -> tuple[Any, Any, Any]:
        """Addresses of words and weights, and the words of a page."""
        words, weights = self.store.addresses
        return words, pointer(weights), np.int32(self.store.page_size)

    def count(self, counter: int) -> tuple[Any]:
        """A counter, where kernels read it."""
        return (self.counters[counter:],)

    def find(self, inserts: bool = True, unique: bool = False, again: bool = False) -> None:
        """Find the sources' lists, and the touched pages."""
        store, index, pages = self.store, self.store.index, np.int64(self.store.num_pages)
        if again:
            self.counters[:ABSENT] = 0
        how = np.bool_(inserts), np.bool_(store.complete), np.bool_(unique), np.bool_(again)
        results = self.slot_pages, self.slots, self.states, self.counters
        words, _, size = self.pages()
        self.launch("order", "find_vertices", self.number, words, index, pages, size, *self.arcs, *how, *results)
        self.firsts = cupy.empty(store.num_pages + 1, np.int64)
        self.widths, self.small, self.large = (cupy.empty(store.num_pages, np.int32) for _ in range(3))
        lists = self.firsts, self.widths, self.small, self.large, self.counters
        self.launch("order", "find_pages", store.num_pages + 1, index, pages, *self.arcs, *lists)

    def search_large(self, turn: int = 0, places: Any = None) -> None:
        """Find duplicates in large lists, or, to delete them, the places of arcs that have `turn` equal ones before them."""
        (words, _, size), index = self.pages(), self.store.index
        given = words, index, size, *self.arcs, self.firsts, self.large, self.counters, np.int32(turn)
        self.launch("large", "search_large", None, *given, self.states, pointer(places))
        if places is not None:
            if turn:
                self.counters[PAGES:] = 0
            keys, number, _ = self.arcs
            results = places, self.states, self.counters
            self.launch("large", "settle_large", self.number, index, keys, number, self.slot_pages, *results)

    def insert_into_small(self, unique: bool, touched: Any, counter: int) -> None:
        """Insert into pages with enough free words; plan the others."""
        limit = np.int32(words_of_lists(REFILL, self.store.page_size))
        given = *self.pages(), limit, *self.arcs, self.firsts, self.slots, pointer(self.weights), np.bool_(unique)
        self.full = cupy.empty(self.store.num_pages, np.int32)
        results = self.states, self.widths, self.full, self.counters
        self.launch("small", "insert_into_pages", None, *given, touched, *self.count(counter), *results)

    def delete_from_small(self) -> None:
        """Delete from pages of small lists."""
        given = *self.pages(), *self.arcs, self.firsts, self.slots, self.small, *self.count(SMALL)
        self.launch("small", "delete_from_pages", None, *given, self.states)

    def measure(self, inserts: bool) -> list[int]:
        """Sum up the arcs that change the graph, and by how many pages large lists change; the counters."""
        self.sums = np.cumsum(self.states < DUPLICATE if inserts else self.states == APPLIED, dtype=np.int64)
        words, _, size = self.pages()
        given = words, self.store.index, np.int64(self.store.num_pages), size, self.firsts, self.arcs[1], self.sums
        self.launch("large", "measure_large", self.store.num_pages, *given, np.bool_(inserts), self.widths, self.counters)
        counters: list[int] = self.counters.tolist()
        return counters

    def splice(self, taken: Any, freed: Any) -> tuple[Any, Any]:
        """Make the order of the pages anew; return their widths and the sums of these."""
        store = self.store
        ends, weights = np.cumsum(self.widths, dtype=np.int64), store.weights
        memory: Any = store.words, weights
        slots = cupy.empty(store.num_pages + len(taken) - len(freed), np.int64)
        index, addresses = cupy.empty((len(slots), 3), np.int32), cupy.empty(len(slots), np.uint64)
        of_weights = None if weights is None else cupy.empty(len(slots), np.uint64)
        pools = (np.uint64(0 if pool is None else pool.data.ptr) for pool in memory)
        given = store.slots, store.index, np.int64(store.num_pages), self.widths, ends, taken, freed
        results = slots, index, addresses, pointer(of_weights)
        self.launch("order", "splice_pages", store.num_pages, *given, *pools, np.int32(store.page_size), *results)
        store.set_order(slots, index, (addresses, of_weights))
        return self.widths, ends

    def make_space(self, counters: list[int]) -> None:
        """Insert pages into large lists, lay out full pages again, and insert what belongs to these."""
        store, limit = self.store, np.int32(words_of_lists(REFILL, self.store.page_size))
        taken = store.take(counters[PAGES])
        cleared = store.words, pointer(store.weights), np.int32(store.page_size), taken, np.int64(len(taken))
        self.launch("order", "clear_pages", len(taken) * store.page_size, *cleared)
        old, firsts, slots = self.pages(), self.firsts, self.slots
        order = self.splice(taken, taken[:0])
        relaid = cupy.empty(store.num_pages, np.int32)
        given = *old, limit, *self.pages()[:2], *order, firsts, slots, self.states, self.full
        self.launch(
            "small", "lay_out", None, *given, store.index, relaid, self.counters, blocks=counters[FULL], plain=True, words=3
        )
        self.find(again=True)
        self.insert_into_small(False, relaid, RELAID)

    def append_to_large(self) -> None:
        """Append the arcs of large lists, which have pages for them."""
        store = self.store
        words, weights, size = self.pages()
        sums = self.firsts, self.sums
        results = self.slot_pages, pointer(self.weights), self.states
        self.launch("large", "append_to_large", self.number, words, weights, store.index, size, *self.arcs, *sums, *results)
        self._finish_large(inserts=True)

    def shorten_large(self, places: Any) -> None:
        """Move the last neighbours of large lists to the places of deleted ones."""
        (words, weights, size), index, number = self.pages(), self.store.index, self.arcs[1]
        holes, gone = (cupy.zeros(self.number, np.int8) for _ in range(2))
        lists = self.firsts, self.sums, self.slot_pages
        self.launch("large", "mark_holes", self.number, words, index, number, *lists, places, self.states, holes, gone)
        targets, sums = cupy.empty(self.number, np.int64), np.cumsum(holes, dtype=np.int64)
        self.launch("large", "list_holes", self.number, number, self.firsts, self.slot_pages, places, holes, sums, targets)
        moved = gone, np.cumsum(gone, dtype=np.int64), targets
        self.launch("large", "fill_holes", self.number, words, weights, index, size, number, *lists, *moved)
        self._finish_large(inserts=False)

    def _finish_large(self, inserts: bool) -> None:
        store, (words, _, size) = self.store, self.pages()
        given = words, store.index, np.int64(store.num_pages), size, self.firsts, self.sums, np.bool_(inserts)
        self.launch("large", "finish_large", store.num_pages, *given)
