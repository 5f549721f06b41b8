"""Batches of insertions and deletions in slotted pages, on CPU and GPU to the same pages.

A batch is sorted by (source, head). Insertions take two phases, as in cuSTINGER: pages with enough free words are rewritten in
place; the lists of the others, the overflow, are laid out again with their new arcs in new pages, which are partly filled.
Deletions never allocate: a page is rewritten in place; in a large list the last neighbours take the places of the deleted ones,
and its last pages are freed if they become empty. The pages' order, words and weights are the same on both; which part of the
pool a page has may differ.

Green, Bader: cuSTINGER (HPEC 2016).
"""

from typing import Any

from kernels.arrays import is_cupy_array
from kernels.library.dynamic.contract import Batch, Counts
from kernels.library.dynamic.pages.store import PageStore


def insert(store: PageStore, batch: Batch, unique: bool) -> Counts:
    """Insert arcs between vertices that exist; the batch has weights if the pages have."""
    return _backend(store).insert(store, batch, unique)  # type: ignore[no-any-return]


def delete(store: PageStore, batch: Batch) -> Counts:
    """Delete arcs; of parallel ones as many of the last as the batch names."""
    return _backend(store).delete(store, batch)  # type: ignore[no-any-return]


def _backend(store: PageStore) -> Any:
    if is_cupy_array(store.words):
        from kernels.library.dynamic.pages.batches import cuda

        return cuda
    from kernels.library.dynamic.pages.batches import cpu

    return cpu
