"""Launchers of pages.cu."""

from typing import Any

import numpy as np

from kernels.gpu.loader import launch, pointer
from kernels.library.dynamic.pages.constants import LOOKUP_THREADS

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
