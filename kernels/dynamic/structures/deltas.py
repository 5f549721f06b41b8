"""Base and deltas: a batch is sorted and merged into the sorted rows, which are streamed once (kernels/layout/merging)."""

import numpy as np

from kernels.dynamic.arrays import keys_of, run_starts
from kernels.dynamic.contract import Batch, Counts, taken_arcs
from kernels.dynamic.structures.sorted_csr import SortedCsr
from kernels.layout.merging import DELETE, INSERT, KIND, Changes, find_places, merge, sort_changes


class Deltas(SortedCsr):
    """Merges sorted batches."""

    def insert(self, batch: Batch) -> Counts:
        """Insert arcs behind those that exist."""
        arcs, missing = taken_arcs(batch, self.num_rows, self.rules)
        changes = _changes(arcs, INSERT)
        places, duplicates = find_places(self.rows, changes), 0
        if self.rules.unique:
            kept = ~places.found & run_starts(keys_of(changes.rows, changes.heads))
            duplicates = len(kept) - int(kept.sum())
            changes, places = changes[kept], places[kept]
        self.rows = merge(self.rows, changes, places)
        return Counts(len(changes), duplicates, missing)

    def delete(self, batch: Batch) -> Counts:
        """Delete arcs, of parallel ones the first."""
        arcs, missing = taken_arcs(batch, self.num_rows, self.rules)
        changes = _changes(arcs, DELETE)
        places = find_places(self.rows, changes)
        kept = places.found
        missing += len(kept) - int(kept.sum())
        self.rows = merge(self.rows, changes[kept], places[kept])
        return Counts(int(kept.sum()), 0, missing)


def _changes(arcs: Batch, kind: int) -> Changes:
    kinds = np.zeros(len(arcs.src), KIND, like=arcs.src) + KIND.type(kind)
    return sort_changes(arcs.src, arcs.dst, kinds, arcs.weights)
