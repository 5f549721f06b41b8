"""A log-structured merge tree on the GPU: sorted runs of keys of doubling lengths, merged as they fill up.

A batch becomes a sorted run. While the level of its length is occupied, it is merged with that level's run and goes one level up.
A deletion inserts a tombstone of the same key, and a search finds the newest entry, of the lowest level. Keys are distinct, so
arcs are unique.

Ashkiani, Li, Farach-Colton, Amenta, Owens: GPU LSM (IPDPS 2018).
"""

from typing import Any, NamedTuple

import numpy as np

from kernels.graph import OFFSET, Array, Csr
from kernels.library.dynamic.arrays import HALF, kept_places, keys_of, ones, owners_of, run_starts, sorted_keys
from kernels.library.dynamic.contract import Batch, BatchRules, Counts, DynamicGraph, Lists, lists_of_rows, taken_arcs
from kernels.library.dynamic.values import require_ascending

_SMALLEST = 1 << 10  # entries of the lowest level


class Run(NamedTuple):
    """Entries with distinct ascending keys."""

    keys: Array  # int64
    deleted: Array  # bool: tombstones
    weights: Any

    def taken(self, mask: Array) -> "Run":
        """The entries where a mask is true."""
        kept = kept_places(mask)
        return Run(self.keys[kept], self.deleted[kept], None if self.weights is None else self.weights[kept])


class LsmTree(DynamicGraph):
    """A graph in sorted runs."""

    parts = "runs"

    def __init__(self, rows: Csr, rules: BatchRules | None = None) -> None:
        self.rules, self._offsets = rules or BatchRules(unique=True), rows.offsets
        if not self.rules.unique:
            raise ValueError("LsmTree: keys are distinct, so the arcs are unique; parallel arcs are not supported")
        require_ascending(rows, distinct=True)
        self._weight_dtype = None if rows.weights is None else rows.weights.dtype
        self._num_rows, self._levels = len(rows.offsets) - 1, list[Run | None]()
        keys = keys_of(owners_of(rows.offsets), rows.indices)
        self._add(Run(keys, np.zeros(len(keys), np.bool_, like=keys), rows.weights))

    @property
    def num_rows(self) -> int:
        """One more than the largest vertex."""
        return self._num_rows

    @property
    def num_arcs(self) -> int:
        """Stored arcs."""
        return len(self.csr().indices)

    def exists(self) -> Array:
        """All rows are vertices."""
        return ones(self._num_rows, np.bool_, self._offsets)

    @property
    def weight_dtype(self) -> np.dtype[Any] | None:
        """Type of the weights; None without weights."""
        return self._weight_dtype

    @property
    def _like(self) -> Array:
        return self._offsets

    def _append_rows(self, number: int) -> None:
        self._num_rows += number

    def _insert(self, batch: Batch) -> Counts:
        """Insert arcs that do not exist; the first of those repeated in the batch."""
        arcs, missing = taken_arcs(batch, self._num_rows, self.rules)
        keys, order = sorted_keys(keys_of(arcs.src, arcs.dst))
        new = run_starts(keys) & ~self.lookup(keys)
        weights = None if arcs.weights is None else arcs.weights[order]
        run = Run(keys, np.zeros(len(keys), np.bool_, like=keys), weights).taken(new)
        self._add(run)
        return Counts(len(run.keys), len(keys) - len(run.keys), missing)

    def _delete(self, batch: Batch) -> Counts:
        """Insert tombstones for arcs that exist."""
        arcs, missing = taken_arcs(batch, self._num_rows, self.rules)
        keys, _ = sorted_keys(keys_of(arcs.src, arcs.dst))
        chosen = run_starts(keys) & self.lookup(keys)
        run = Run(keys, ones(len(keys), np.bool_, keys), None)
        if self._weight_dtype is not None:
            run = run._replace(weights=np.zeros(len(keys), self._weight_dtype, like=keys))
        run = run.taken(chosen)
        self._add(run)
        return Counts(len(run.keys), 0, missing + len(keys) - len(run.keys))

    def lookup(self, keys: Array) -> Array:
        """Whether the arcs of keys exist: bool; the newest entry decides."""
        seen, exists = (np.zeros(len(keys), np.bool_, like=keys) for _ in range(2))
        for run in self._levels:
            if run is not None and len(run.keys):
                places = np.minimum(np.searchsorted(run.keys, keys), len(run.keys) - 1)
                here = (run.keys[places] == keys) & ~seen
                exists |= here & ~run.deleted[places]
                seen |= here
        return exists

    def csr(self) -> Csr:
        """All arcs: the runs merged, without tombstones."""
        merged = self._merged([run for run in self._levels if run is not None])
        arcs = merged.taken(~merged.deleted)
        firsts = np.arange(self._num_rows + 1, dtype=np.int64, like=arcs.keys) << HALF
        heads = (arcs.keys & np.int64(2**32 - 1)).astype(np.int32)
        return Csr(np.searchsorted(arcs.keys, firsts).astype(OFFSET), heads, arcs.weights)

    def lists(self, rows: Array) -> Lists:
        """The arcs of rows (int32 [n]); all runs are merged first."""
        return lists_of_rows(self.csr(), rows)

    def _add(self, run: Run) -> None:
        """Put a run into the first free level that it fits, merged with the runs of the levels before."""
        for number in range(64):
            if number == len(self._levels):
                self._levels.append(None)
            level = self._levels[number]
            if level is None and len(run.keys) <= _SMALLEST << number:
                self._levels[number] = run
                return
            if level is not None:
                run, self._levels[number] = self._merged([run, level]), None

    @staticmethod
    def _merged(runs: list[Run]) -> Run:
        """The newest entry of each key; runs from the newest to the oldest."""
        keys, order = sorted_keys(np.concatenate([run.keys for run in runs]))
        weights = None if runs[0].weights is None else np.concatenate([run.weights for run in runs])[order]
        return Run(keys, np.concatenate([run.deleted for run in runs])[order], weights).taken(run_starts(keys))
