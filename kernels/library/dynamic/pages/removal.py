"""Removal of single edges from pages in any memory: by the host's `Editor`, or by a kernel, to the same bytes."""

import numpy as np

from kernels.arrays import is_cupy_array
from kernels.library.dynamic.contract import BatchRules
from kernels.library.dynamic.pages.edits import Editor
from kernels.library.dynamic.pages.store import PageStore
from kernels.library.dynamic.values import LARGEST_VERTEX


def remove_edge(store: PageStore, rules: BatchRules, src: int, dst: int) -> bool:
    """Remove the last arc from `src` to `dst`, and if edges are undirected the last one of its weight from `dst` to `src`.

    Returns False, and changes nothing, if there is no such arc.
    """
    if not is_cupy_array(store.words):
        return Editor(store, rules).remove_edge(src, dst)
    from kernels.library.dynamic.pages.cuda import remove_arc

    if not (0 <= src <= LARGEST_VERTEX and 0 <= dst <= LARGEST_VERTEX):
        return False
    weighted = store.weights is not None
    weight = np.zeros(1, np.int32 if store.weights is None else store.weights.dtype, like=store.slots)
    if not remove_arc(store, src, dst, False, weight):
        return False
    if rules.undirected and src != dst:
        remove_arc(store, dst, src, weighted, weight)
    return True
