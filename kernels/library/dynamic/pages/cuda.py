"""Launchers of pages.cu."""

from typing import Any

import numpy as np

from kernels.gpu.loader import launch, pointer
from kernels.library.dynamic.pages.constants import LOOKUP_THREADS, REMOVAL_THREADS

_SOURCE = "library/dynamic/pages/pages.cu"


def locate(store: Any, vertices: Any, located: Any) -> None:
    """As `kernels.locate`."""
    pages = store.addresses[0], store.index, np.int64(store.num_pages), np.int32(store.page_size)
    _launch("locate", store, len(vertices), *pages, vertices, np.int64(len(vertices)), *located)


def expand(store: Any, located: Any, offsets: Any, heads: Any, weights: Any) -> None:
    """As `kernels.expand`."""
    words, of_weights = store.addresses
    lists = located.pages, located.words, offsets, np.int64(len(offsets) - 1), np.int64(len(heads))
    _launch("expand", store, len(heads), words, pointer(of_weights), np.int32(store.page_size), *lists, heads, pointer(weights))


def _launch(name: str, store: Any, items: int, *arguments: Any) -> None:
    launch(_SOURCE, name, LOOKUP_THREADS, items, *arguments, WEIGHT=_weight(store))


def _weight(store: Any) -> Any:
    return np.dtype(np.int32) if store.weights is None else store.weights.dtype


def remove_arc(store: Any, src: int, dst: int, of_weight: bool, weight: Any) -> bool:
    """Remove the last arc from `src` to `dst`, as `kernels.library.dynamic.pages.edits.Editor`; no page leaves the GPU.

    Args:
        of_weight: Of those that weigh `weight`, which the arc's weight replaces otherwise.

    Returns whether there was one; the GPU's answer is waited for.
    """
    report = np.asarray([0, -1], np.int64, like=store.slots)
    words, of_weights = store.addresses
    pages = words, pointer(of_weights), store.index, np.int64(store.num_pages), np.int32(store.page_size)
    arguments = *pages, np.int32(src), np.int32(dst), np.bool_(of_weight), weight, report
    launch(_SOURCE, "remove_arc", REMOVAL_THREADS, None, *arguments, blocks=1, WEIGHT=_weight(store))
    removed, emptied = report.tolist()
    if emptied >= 0:
        store.release(store.slots[emptied : emptied + 1])
        store.replace_order(np.concatenate([store.slots[:emptied], store.slots[emptied + 1 :]]))
    return bool(removed)
