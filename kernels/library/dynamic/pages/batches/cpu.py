"""Batches in slotted pages on the CPU."""

from typing import Any, NamedTuple

import numpy as np

from kernels.graph import Array
from kernels.library.dynamic.arrays import filled_holes, keys_of, offsets_of, ones, owners_of, run_starts, sorted_keys
from kernels.library.dynamic.contract import Batch, Counts, Lists, taken
from kernels.library.dynamic.pages.batches.compiled import Runs, find_arcs, rewrite_pages
from kernels.library.dynamic.pages.building import REFILL, plan_pages, write_pages
from kernels.library.dynamic.pages.constants import HEADER_WORDS
from kernels.library.dynamic.pages.kernels import Located, expand, locate
from kernels.library.dynamic.pages.layout import most_in_first, pages_of, place_of
from kernels.library.dynamic.pages.store import PageStore


class _Sorted(NamedTuple):
    """A batch in ascending order of (source, head), and where the lists of the sources are."""

    batch: Batch
    starts: Array  # bool [B]: whether an arc differs from the one before
    located: Located  # of the source of each arc

    def taken(self, kept: Array) -> "_Sorted":
        """The arcs where a mask is true."""
        places = np.flatnonzero(kept)
        if len(places) == len(kept):
            return self
        return _Sorted(taken(self.batch, places), self.starts[places], self.located.taken(places))


def insert(store: PageStore, batch: Batch, unique: bool) -> Counts:
    """As `kernels.library.dynamic.pages.batches.insert`."""
    arcs = _sort(store, batch)
    existing = (arcs.located.pages >= 0) & (locate(store, arcs.batch.dst).pages >= 0)
    missing = len(existing) - int(existing.sum())
    duplicates = len(existing) - missing
    arcs = arcs.taken(existing & arcs.starts if unique else existing)
    if unique:
        arcs = arcs.taken(find_arcs(store, _runs(arcs), _no_limits(arcs.starts)) < 0)
    duplicates -= len(arcs.starts)
    large = store.index[arcs.located.pages, 2] > 0
    any_large = bool(large.any())
    small = arcs.taken(~large) if any_large else arcs
    pages, firsts = _by_page(small.located.pages)
    overflows = rewrite_pages(store, pages, firsts, small.located.slots, (small.batch.dst, small.batch.weights, None))
    if any_large:
        _append_to_large(store, arcs.taken(large))
    if bool(overflows.any()):
        rest = small.taken(overflows[owners_of(firsts)])
        _lay_out_again(store, rest._replace(located=locate(store, rest.batch.src)))
    return Counts(len(arcs.starts), duplicates, missing)


def delete(store: PageStore, batch: Batch) -> Counts:
    """As `kernels.library.dynamic.pages.batches.delete`."""
    arcs = _sort(store, batch)
    wanted = len(arcs.starts)
    arcs = arcs.taken(arcs.located.pages >= 0)
    places = _places(store, arcs)
    are_there = places >= 0
    arcs, places = arcs.taken(are_there), places[are_there]
    large = store.index[arcs.located.pages, 2] > 0
    any_large = bool(large.any())
    small, of_small = (arcs.taken(~large), places[~large]) if any_large else (arcs, places)
    pages, firsts = _by_page(small.located.pages)
    rewrite_pages(store, pages, firsts, small.located.slots, (None, None, of_small))
    if any_large:
        _delete_from_large(store, arcs.taken(large), places[large])
    return Counts(len(places), 0, wanted - len(places))


def _sort(store: PageStore, batch: Batch) -> _Sorted:
    keys, order = sorted_keys(keys_of(batch.src, batch.dst))
    arcs = taken(batch, order)
    return _Sorted(arcs, run_starts(keys), locate(store, arcs.src))


def _runs(arcs: _Sorted) -> Runs:
    src = arcs.batch.src
    firsts = np.flatnonzero(run_starts(src))
    starts = np.concatenate([firsts, np.arange(len(src), len(src) + 1, like=firsts)])
    return Runs(starts, arcs.located.taken(firsts), arcs.batch.dst)


def _no_limits(like: Array) -> Array:
    return np.zeros(len(like), np.int64, like=like) + np.iinfo(np.int64).max


def _places(store: PageStore, arcs: _Sorted) -> Array:
    """Where each arc is in its source's list, or -1: the k-th of equal arcs takes the k-th last of its parallel arcs."""
    places = np.zeros(len(arcs.starts), np.int64, like=arcs.starts) - 1
    chosen = np.flatnonzero(arcs.starts)
    limits = _no_limits(chosen)
    while len(chosen):
        distinct = _Sorted(taken(arcs.batch, chosen), arcs.starts[chosen], arcs.located.taken(chosen))
        matches = find_arcs(store, _runs(distinct), limits)
        places[chosen] = matches
        following = np.minimum(chosen + 1, len(places) - 1)
        again = np.flatnonzero((matches >= 0) & (chosen + 1 < len(places)) & ~arcs.starts[following])
        chosen, limits = chosen[again] + 1, matches[again]
    return places


def _by_page(pages: Array) -> tuple[Array, Array]:
    """The distinct ones of ascending pages (int32 [T]), and where the arcs of each begin (int64 [T + 1])."""
    firsts = np.flatnonzero(run_starts(pages))
    return pages[firsts], np.concatenate([firsts, np.arange(len(pages), len(pages) + 1, like=firsts)])


def _append_to_large(store: PageStore, arcs: _Sorted) -> None:
    """Append to large lists: behind their last words, and in new pages behind their last ones."""
    size, src = store.page_size, arcs.batch.src
    runs = _runs(arcs)
    counts, degrees = np.diff(runs.starts), runs.located.degrees
    old, new = pages_of(degrees, size), pages_of(degrees + counts, size)
    first = runs.located.pages.astype(np.int64)
    taken_slots = store.take(int((new - old).sum()))
    for pool in (store.words,) if store.weights is None else (store.words, store.weights):
        pool[taken_slots] = 0
    before = offsets_of(new - old)
    owner = owners_of(runs.starts)
    place = degrees[owner] + np.arange(len(src), dtype=np.int64, like=src) - runs.starts[owner]
    page, word = place_of(place, runs.located.words[owner], size)
    slots = np.concatenate([store.slots, taken_slots])  # a page beyond the list's old ones has a new slot
    number = np.where(page < old[owner], first[owner] + page, len(store.slots) + before[owner] + page - old[owner])
    _write(store, slots[number] * size + word, arcs.batch)
    _finish_large(store, runs.located, degrees + counts, old, taken_slots)
    last = first + old - 1
    grows = np.flatnonzero(new > old)
    if len(grows):
        widths = (new - old)[grows] + 1  # a list's last page is followed by its new ones
        ends = np.cumsum(widths)
        both = np.empty(int(ends[-1]), np.int64, like=ends)
        heads = ends - widths
        both[heads] = store.slots[last[grows]]
        fresh = ones(len(both), np.bool_, ends)
        fresh[heads] = False
        both[np.flatnonzero(fresh)] = taken_slots
        store.splice(last[grows], widths, both)


def _finish_large(store: PageStore, located: Located, degrees: Array, old: Array, new_slots: Array) -> None:
    """Write the degrees of large lists, and the headers of their last old pages and of all pages behind them."""
    size, words = store.page_size, store.words.reshape(-1)
    first = located.pages.astype(np.int64)
    words[store.slots[first] * size + located.words] = degrees.astype(words.dtype)
    ends = offsets_of(pages_of(degrees, size) - old + 1)
    owner = owners_of(ends)
    number = old[owner] - 1 + np.arange(len(owner), dtype=np.int64, like=owner) - ends[owner]  # of the page in its list
    slots = np.empty(len(owner), np.int64, like=owner)
    slots[ends[:-1]] = store.slots[first + old - 1]
    slots[np.flatnonzero(number >= old[owner])] = new_slots
    rest = degrees[owner] - most_in_first(size) - (number - 1) * (size - HEADER_WORDS)
    words[slots * size + 1] = np.minimum(size - 1, HEADER_WORDS - 1 + rest).astype(words.dtype)
    words[slots * size + 2] = 1


def _lay_out_again(store: PageStore, arcs: _Sorted) -> None:
    """Lay out the lists of overflowing pages, with their new arcs, in partly filled pages."""
    pages, _ = _by_page(arcs.located.pages)
    old_slots = store.slots[pages]
    counts = store.words[old_slots, 0].astype(np.int64)
    breaks = offsets_of(counts)
    owner = owners_of(breaks)
    number = np.arange(len(owner), dtype=np.int64, like=owner) - breaks[owner]
    vertices = store.words.reshape(-1)[old_slots[owner] * store.page_size + store.page_size - 1 - 2 * number]
    old = expand(store, locate(store, vertices))
    lists = _joined(vertices, old, arcs.batch)
    plan = plan_pages(np.diff(lists.offsets), store.page_size, REFILL, breaks[:-1])
    first_groups = plan.group[breaks[:-1]]
    ends = np.concatenate([first_groups[1:], plan.group[-1:] + 1])
    made = plan.pages[ends] - plan.pages[first_groups]
    slots = np.concatenate([old_slots, store.take(plan.num_pages - len(old_slots))])
    write_pages(store, slots, plan, vertices, lists)
    store.splice(pages.astype(np.int64), made, slots)


def _joined(vertices: Array, old: Lists, batch: Batch) -> Lists:
    """Lists with the arcs of a sorted batch appended."""
    owner_of_new = np.searchsorted(vertices, batch.src)
    added = offsets_of(np.diff(np.searchsorted(owner_of_new, np.arange(len(vertices) + 1, dtype=np.int64, like=old.offsets))))
    offsets = old.offsets + added
    of_old = np.arange(len(old.heads), dtype=np.int64, like=added) + added[owners_of(old.offsets)]
    of_new = np.arange(len(batch.src), dtype=np.int64, like=added) + old.offsets[1:][owner_of_new]
    heads = np.empty(int(offsets[-1]), old.heads.dtype, like=added)
    heads[of_old], heads[of_new] = old.heads, batch.dst
    if old.weights is None:
        return Lists(offsets, heads, None)
    weights = np.empty(len(heads), old.weights.dtype, like=added)
    weights[of_old], weights[of_new] = old.weights, batch.weights
    return Lists(offsets, heads, weights)


def _delete_from_large(store: PageStore, arcs: _Sorted, places: Array) -> None:
    """Move the last neighbours of large lists to the places of deleted ones, and free pages that become empty."""
    size, words = store.page_size, store.words.reshape(-1)
    runs = _runs(arcs)
    located, owner = runs.located, owners_of(runs.starts)
    kept = located.degrees - np.diff(runs.starts)

    def word(numbers: Array, of: Array) -> Any:
        page, at = place_of(numbers, located.words[of], size)
        return store.slots[located.pages[of].astype(np.int64) + page] * size + at

    owner_of_hole, hole, last = filled_holes(runs.starts, places, located.degrees)
    target, origin = word(hole, owner_of_hole), word(last, owner_of_hole)
    freed = word(kept[owner] + np.arange(len(owner), dtype=np.int64, like=owner) - runs.starts[owner], owner)
    words[target] = words[origin]
    words[freed] = 0
    if store.weights is not None:
        weights = store.weights.reshape(-1)
        weights[target] = weights[origin]
        weights[freed] = 0
    _shorten_large(store, located, kept)


def _shorten_large(store: PageStore, located: Located, degrees: Array) -> None:
    size, words = store.page_size, store.words.reshape(-1)
    old, new = pages_of(located.degrees, size), pages_of(degrees, size)
    first = located.pages.astype(np.int64)
    words[store.slots[first] * size + located.words] = degrees.astype(words.dtype)
    rest = degrees - most_in_first(size) - (new - 2) * (size - HEADER_WORDS)
    end = np.where(new == 1, HEADER_WORDS + degrees, HEADER_WORDS - 1 + rest)
    last = store.slots[first + new - 1] * size
    words[last + 1] = end.astype(words.dtype)
    words[last + 2] = (new > 1).astype(words.dtype)
    ends = offsets_of(old - new)
    owner = owners_of(ends)
    if len(owner):
        erased = first[owner] + new[owner] + np.arange(len(owner), dtype=np.int64, like=owner) - ends[owner]
        slots = store.slots[erased]
        store.splice(erased, np.zeros(len(erased), np.int64, like=erased), slots[:0])
        store.release(slots)


def _write(store: PageStore, places: Array, batch: Batch) -> None:
    store.words.reshape(-1)[places] = batch.dst
    if store.weights is not None:
        store.weights.reshape(-1)[places] = batch.weights
