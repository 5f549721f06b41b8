"""The static structure: every batch makes the CSR anew from the sorted keys of all arcs."""

import numpy as np

from kernels.graph import OFFSET, Array, Csr
from kernels.library.dynamic.arrays import HALF, keys_of, last_places, ones, owners_of, run_starts, sorted_keys
from kernels.library.dynamic.contract import Batch, Counts, taken_arcs
from kernels.library.dynamic.structures.sorted_csr import SortedCsr


class Rebuild(SortedCsr):
    """Rebuilds a CSR."""

    def _insert(self, batch: Batch) -> Counts:
        """Insert arcs behind those that exist, and sort all."""
        arcs, missing = taken_arcs(batch, self.num_rows, self.rules)
        keys, order = sorted_keys(np.concatenate([self._keys(), keys_of(arcs.src, arcs.dst)]))
        old = self.rows.weights
        weights = None if old is None else np.concatenate([old, arcs.weights])[order]
        duplicates = 0
        if self.rules.unique:
            kept = run_starts(keys) | (order < self.num_arcs)
            duplicates = len(keys) - int(kept.sum())
            keys, weights = keys[kept], None if weights is None else weights[kept]
        self._set(keys, weights)
        return Counts(len(arcs.src) - duplicates, duplicates, missing)

    def _delete(self, batch: Batch) -> Counts:
        """Delete arcs, of parallel ones the last."""
        arcs, missing = taken_arcs(batch, self.num_rows, self.rules)
        keys = self._keys()
        places = last_places(keys, sorted_keys(keys_of(arcs.src, arcs.dst))[0])
        kept = ones(len(keys), np.bool_, keys)
        kept[places[places >= 0]] = False
        deleted = len(keys) - int(kept.sum())
        self._set(keys[kept], None if self.rows.weights is None else self.rows.weights[kept])
        return Counts(deleted, 0, missing + len(places) - deleted)

    def _keys(self) -> Array:
        return keys_of(owners_of(self.rows.offsets), self.rows.indices)

    def _set(self, keys: Array, weights: Array | None) -> None:
        firsts = np.arange(self.num_rows + 1, dtype=np.int64, like=keys) << HALF
        heads = (keys & np.int64(2**32 - 1)).astype(np.int32)
        self.rows = Csr(np.searchsorted(keys, firsts).astype(OFFSET), heads, weights)
