"""Sorted changes merged into sorted rows: one pass over the arcs, on CPU or GPU, whatever the number of changes.

    changes = sort_changes(rows, heads, kinds, weights, positions)
    places = find_places(csr, changes, positions)  # says which arcs exist: the caller refuses, drops or counts the others
    made = merge(csr, changes, places)

A row's arcs ascend by their head's position, as the rows of `kernels.graph` do. A change finds its place in its row by binary
search; then every arc moves by the number of insertions before it less the deletions, so the arcs themselves are not compared,
and are read and written once. A block of a GPU, or a core, moves a range of arcs and adds up the changes of this range only.

The method merges a short sorted run into a long one, and cuts the long one into equal parts (compare Green, McColl, Bader: GPU
Merge Path, ICS 2012, which cuts both).
"""

from dataclasses import replace
from typing import Any

import numpy as np

from kernels.arrays import is_cupy_array
from kernels.graph import OFFSET, Array, Csr
from kernels.layout.merging.changes import DELETE, INSERT, KIND, UPDATE, Changes, Places

__all__ = ["DELETE", "INSERT", "KIND", "UPDATE", "Changes", "Places", "find_places", "merge", "sort_changes"]


def sort_changes(rows: Array, heads: Array, kinds: Array, weights: Array | None, positions: Array | None = None) -> Changes:
    """Sort changes; of one arc deletions come first, then updates, then insertions, and those of a kind as given.

    Args:
        rows (index type [C]): Tails.
        heads (index type [C]): Rows; on a GPU all numbers are below 2^31.
        kinds (int8 [C]): DELETE, UPDATE or INSERT.
        weights: [C] or None.
        positions (index type [V], optional): Each row's place in the order of heads; None if heads ascend by number.
    """
    ranks = heads if positions is None else positions[heads]
    sorted_rows, sorted_ranks, sorted_kinds, order = backend_of(rows).sort_by_arc(rows, ranks, kinds)
    sorted_heads = sorted_ranks if positions is None else heads[order]
    return Changes(sorted_rows, sorted_heads, sorted_kinds, None if weights is None else weights[order], order)


def find_places(csr: Csr, changes: Changes, positions: Array | None = None) -> Places:
    """Find the place of each change; a row behind the CSR's last one has no arcs, and its place is behind the last arc."""
    places, exist = (np.empty(len(changes), kind, like=changes.rows) for kind in (OFFSET, np.dtype(np.bool_)))
    if len(changes):
        backend_of(changes.rows).search(csr, changes, positions, places, exist)
    return Places(places, exist)


def merge(csr: Csr, changes: Changes, places: Places, num_rows: int | None = None) -> Csr:
    """The CSR after changes that can all be applied; it shares no memory with the old one.

    Args:
        changes: An arc is not both deleted and updated, or updated twice. An insertion of an arc that exists adds a parallel arc
            behind it.
        places: Of these changes, by `find_places`.
        num_rows: At least the CSR's rows and all rows of the changes; None for the CSR's.

    Raises:
        ValueError: An arc that is to be deleted or updated does not exist. Filter changes and places by `found` before. Or
            insertions and updates have no weights, and the CSR has.
    """
    if bool(((changes.kinds != INSERT) & ~places.exist).any()):
        raise ValueError("merge: a change deletes or updates an arc that does not exist")
    before = np.zeros(len(changes) + 1, OFFSET, like=csr.offsets)
    before[1:] = np.cumsum(changes.kinds, dtype=OFFSET)
    return moved(csr, changes, places.places, before, num_rows)


def moved(csr: Csr, changes: Changes, places: Array, before: Array, num_rows: int | None = None) -> Csr:
    """As `merge`; `before` (int64 [C + 1]) are the arcs that the changes before each one add."""
    if csr.weights is not None and changes.weights is None and bool((changes.kinds != DELETE).any()):
        raise ValueError("merge: changes without weights for arcs with weights")
    backend, like = backend_of(csr.offsets), csr.offsets
    offsets = np.empty((len(csr.offsets) if num_rows is None else num_rows + 1), OFFSET, like=like)
    backend.shift_offsets(csr.offsets, changes.rows, before, offsets)
    made = Csr(offsets, np.empty(int(offsets[-1]), csr.indices.dtype, like=like), None)
    if csr.weights is not None:
        made = replace(made, weights=np.empty(len(made.indices), csr.weights.dtype, like=like))
    backend.move(csr, changes, places, before, made)
    return made


def backend_of(array: Array) -> Any:
    """The module for arrays of NumPy or CuPy."""
    if is_cupy_array(array):
        from kernels.layout.merging import cuda

        return cuda
    from kernels.layout.merging import cpu

    return cpu
