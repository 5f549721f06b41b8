"""Base and deltas: a batch is sorted and merged into the sorted rows, which are streamed once (kernels/layout/merging)."""

import numpy as np

from kernels.dynamic.arrays import kept_places, keys_of, run_starts
from kernels.dynamic.contract import Batch, Counts, taken_arcs
from kernels.dynamic.structures.sorted_csr import SortedCsr
from kernels.layout.merging import DELETE, INSERT, KIND, Changes, find_places, merge, sort_changes


class Deltas(SortedCsr):
    """Merges sorted batches."""

    def insert(self, batch: Batch) -> Counts:
        """Insert arcs behind those that exist."""
        arcs, missing = taken_arcs(batch, self.num_rows, self.rules)
        changes = _changes(arcs, INSERT)
        places, given = find_places(self.rows, changes), len(changes)
        if self.rules.unique:
            kept = kept_places(~places.found & run_starts(keys_of(changes.rows, changes.heads)))
            changes, places = changes[kept], places[kept]
        self.rows = merge(self.rows, changes, places)
        return Counts(len(changes), given - len(changes), missing)

    def delete(self, batch: Batch) -> Counts:
        """Delete arcs, of parallel ones the first."""
        arcs, missing = taken_arcs(batch, self.num_rows, self.rules)
        changes = _changes(arcs, DELETE)
        places, given = find_places(self.rows, changes), len(changes)
        kept = kept_places(places.found)
        changes = changes[kept]
        self.rows = merge(self.rows, changes, places[kept])
        return Counts(len(changes), 0, missing + given - len(changes))


def _changes(arcs: Batch, kind: int) -> Changes:
    kinds = np.zeros(len(arcs.src), KIND, like=arcs.src) + KIND.type(kind)
    return sort_changes(arcs.src, arcs.dst, kinds, arcs.weights)
