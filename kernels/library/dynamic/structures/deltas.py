"""Base and deltas: a batch is sorted and merged into the sorted rows, which are streamed once (kernels/layout/merging)."""

import numpy as np

from kernels.layout.merging import DELETE, INSERT, KIND, Changes, Places, find_places, merge, sort_changes
from kernels.library.dynamic.arrays import kept_places, keys_of, run_starts
from kernels.library.dynamic.contract import Batch, Counts, taken_arcs
from kernels.library.dynamic.structures.sorted_csr import SortedCsr


class Deltas(SortedCsr):
    """Merges sorted batches."""

    def _insert(self, batch: Batch) -> Counts:
        """Insert arcs behind those that exist."""
        changes, places, missing = self._placed_changes(batch, INSERT)
        given = len(changes)
        if self.rules.unique:
            kept = kept_places(~places.exist & run_starts(keys_of(changes.rows, changes.heads)))
            changes, places = changes[kept], places[kept]
        self.rows = merge(self.rows, changes, places)
        return Counts(len(changes), given - len(changes), missing)

    def _delete(self, batch: Batch) -> Counts:
        """Delete arcs, of parallel ones the first."""
        changes, places, missing = self._placed_changes(batch, DELETE)
        kept = kept_places(places.exist)
        deleted = changes[kept]
        self.rows = merge(self.rows, deleted, places[kept])
        return Counts(len(deleted), 0, missing + len(changes) - len(deleted))

    def _placed_changes(self, batch: Batch, kind: int) -> tuple[Changes, Places, int]:
        """The changes of one kind, sorted, their places in the rows, and how many arcs of the batch have no row."""
        arcs, missing = taken_arcs(batch, self.num_rows, self.rules)
        kinds = np.zeros(len(arcs.src), KIND, like=arcs.src) + KIND.type(kind)
        changes = sort_changes(arcs.src, arcs.dst, kinds, arcs.weights)
        return changes, find_places(self.rows, changes), missing
