"""Arrays of neighbours, one for each vertex, with free entries at their ends.

An insertion takes two phases: arrays that are too small are copied to larger ones at the end of the pool; then all arcs are
written. Existing arcs, and those repeated in the batch, are skipped if arcs are unique. A deletion moves a list's last entries
into the holes and never allocates. When the pool is full, all arrays are copied to a new one.

Green, Bader: cuSTINGER (HPEC 2016).
"""

from typing import Any

import numpy as np

from kernels.graph import Array, Csr
from kernels.library.dynamic.arrays import (
    filled_holes,
    kept_places,
    keys_of,
    last_places,
    offsets_of,
    ones,
    owners_of,
    run_starts,
    sorted_keys,
)  # fmt: skip
from kernels.library.dynamic.contract import Batch, BatchRules, Counts, DynamicGraph, Lists, taken, taken_arcs
from kernels.library.dynamic.values import require_csr

_SLACK = 1.5  # capacity of a new array, relative to its entries


class AdjacencyArrays(DynamicGraph):
    """A graph in arrays of neighbours."""

    parts = "arrays"

    def __init__(self, rows: Csr, rules: BatchRules | None = None) -> None:
        require_csr(rows)
        self.rules, self._degrees, self._starts = rules or BatchRules(), np.diff(rows.offsets), rows.offsets[:-1].copy()
        self._capacities, self._used = self._degrees.copy(), len(rows.indices)
        self._pools: list[Any] = [rows.indices.copy()] + ([] if rows.weights is None else [rows.weights.copy()])

    @property
    def num_rows(self) -> int:
        """One more than the largest vertex."""
        return len(self._degrees)

    @property
    def num_arcs(self) -> int:
        """Stored arcs."""
        return int(self._degrees.sum())

    def exists(self) -> Array:
        """All rows are vertices."""
        return ones(self.num_rows, np.bool_, self._degrees)

    @property
    def weight_dtype(self) -> np.dtype[Any] | None:
        """Type of the weights; None without weights."""
        return self._pools[1].dtype if len(self._pools) > 1 else None

    @property
    def _like(self) -> Array:
        return self._degrees

    def _append_rows(self, number: int) -> None:
        none = np.zeros(number, np.int64, like=self._degrees)
        self._degrees, self._starts, self._capacities = (
            np.concatenate([column, none]) for column in (self._degrees, self._starts, self._capacities)
        )

    def lists(self, rows: Array) -> Lists:
        """The lists of rows (int32 [n])."""
        offsets = offsets_of(self._degrees[rows])
        places = self._places(rows, offsets)
        return Lists(offsets, self._pools[0][places], self._pools[1][places] if len(self._pools) > 1 else None)

    def csr(self) -> Csr:
        """All lists, in their order."""
        return Csr(*self.lists(np.arange(self.num_rows, dtype=np.int32, like=self._degrees)))

    def _insert(self, batch: Batch) -> Counts:
        """Append arcs to their lists."""
        arcs, missing = taken_arcs(batch, self.num_rows, self.rules)
        keys, order = sorted_keys(keys_of(arcs.src, arcs.dst))
        arcs, duplicates = taken(arcs, order), len(keys)
        if self.rules.unique:
            arcs = taken(arcs, kept_places(run_starts(keys) & (self._last_places(keys, arcs.src) < 0)))
        duplicates -= len(arcs.src)
        firsts = np.flatnonzero(run_starts(arcs.src))
        sources, starts = arcs.src[firsts], np.concatenate([firsts, np.arange(len(arcs.src), len(arcs.src) + 1, like=firsts)])
        counts = np.diff(starts)
        overflow = sources[self._degrees[sources] + counts > self._capacities[sources]]
        more = counts[self._degrees[sources] + counts > self._capacities[sources]]
        if len(overflow):
            self._move(overflow, ((self._degrees[overflow] + more) * _SLACK).astype(np.int64) + 1)
        owner = owners_of(starts)
        at = self._starts[sources] + self._degrees[sources] - starts[:-1]
        places = np.arange(len(owner), dtype=np.int64, like=owner) + at[owner]
        for pool, column in zip(self._pools, (arcs.dst, arcs.weights), strict=False):
            pool[places] = column
        self._degrees[sources] += counts
        return Counts(len(arcs.src), duplicates, missing)

    def _delete(self, batch: Batch) -> Counts:
        """Delete arcs, of parallel ones the last."""
        arcs, missing = taken_arcs(batch, self.num_rows, self.rules)
        keys, order = sorted_keys(keys_of(arcs.src, arcs.dst))
        src, places = arcs.src[order], self._last_places(keys, arcs.src[order])
        wanted, present = len(src), kept_places(places >= 0)
        src, places = src[present], places[present]
        firsts = np.flatnonzero(run_starts(src))
        sources, starts = src[firsts], np.concatenate([firsts, np.arange(len(src), len(src) + 1, like=firsts)])
        owner, target, source = filled_holes(starts, places, self._degrees[sources])
        begins = self._starts[sources][owner]
        for pool in self._pools:
            pool[begins + target] = pool[begins + source]
        self._degrees[sources] -= np.diff(starts)
        return Counts(len(src), 0, missing + wanted - len(src))

    def _last_places(self, keys: Array, src: Array) -> Array:
        """The last places of sorted keys in the lists of their sources, or -1."""
        sources = src[np.flatnonzero(run_starts(src))]
        lists = self.lists(sources)
        owner = owners_of(lists.offsets)
        there, order = sorted_keys(keys_of(sources[owner], lists.heads))
        places = last_places(there, keys)
        if not len(there):
            return places
        entry = order[np.maximum(places, 0)].astype(np.int64)
        return np.where(places < 0, np.int64(-1), entry - lists.offsets[owner[entry]])

    def _move(self, rows: Array, capacities: Array) -> None:
        """Copy the arrays of rows to the end of the pool, or all to a new pool if that is too small."""
        if self._used + int(capacities.sum()) > len(self._pools[0]):
            wanted = self._capacities.copy()  # others may fill theirs in this batch
            wanted[rows] = capacities
            rows, capacities = np.arange(self.num_rows, dtype=np.int32, like=rows), wanted
            length, first = int(_SLACK * int(wanted.sum())), 0
        else:
            length, first = 0, self._used
        begins, offsets = offsets_of(capacities) + first, offsets_of(self._degrees[rows])
        source, owner = self._places(rows, offsets), owners_of(offsets)
        target = np.arange(len(owner), dtype=np.int64, like=owner) + (begins[:-1] - offsets[:-1])[owner]
        for number, old in enumerate(self._pools):
            pool = np.zeros(length, old.dtype, like=old) if length else old
            pool[target] = old[source]
            self._pools[number] = pool
        self._starts[rows], self._capacities[rows] = begins[:-1], capacities
        self._used = int(begins[-1])

    def _places(self, rows: Array, offsets: Array) -> Array:
        """Where the entries of the lists of rows are in the pool."""
        owner = owners_of(offsets)
        begins: Array = self._starts[rows] - offsets[:-1]
        return np.arange(len(owner), dtype=np.int64, like=owner) + begins[owner]
