"""Pages on the host and their copy on a device; only pages that were changed are transferred."""

from typing import Any

import numpy as np

from kernels.arrays import is_cupy_array
from kernels.graph import Array
from kernels.library.dynamic.pages.edits import Editor
from kernels.library.dynamic.pages.store import PageStore


class Mirror:
    """A store that the host edits, and its copy for kernels.

    Attributes:
        editor: Edits of the host's store; `sync` brings them to the device.
        device: The copy, which batches may change; `fetch` then brings it to the host.
    """

    def __init__(self, editor: Editor, like: Any) -> None:
        host = editor.store
        self.editor = editor
        self.device = PageStore(host.page_size, None if host.weights is None else host.weights.dtype, like)
        editor.dirty |= set(host.slots.tolist())
        self.sync()

    def sync(self) -> int:
        """Copy what the host has changed since the last call to the device; return the bytes transferred: 0 if nothing was.

        They are those of each changed page once, of the index, of the pages' order and of the list of free pages.
        """
        host, device = self.editor.store, self.device
        changed = np.array(sorted(self.editor.dirty), np.int64)
        self.editor.dirty.clear()
        if not len(changed) and host.num_pages == device.num_pages and host.num_rows == device.num_rows:
            return 0
        device.num_rows, device.complete, like = host.num_rows, host.complete, device.slots
        device.reserve(len(host.words))
        there, transferred = np.asarray(changed, like=like), changed.nbytes
        for ours, theirs in ((host.words, device.words), (host.weights, device.weights)):
            if ours is not None and theirs is not None:
                theirs[there] = np.asarray(ours[changed], like=like)
                transferred += ours[changed].nbytes
        order = [np.asarray(each, like=like) for each in (host.slots, host.index, host.free)]
        device.set_order(order[0], order[1])
        device.free = order[2]
        return transferred + sum(each.nbytes for each in order)

    def fetch(self) -> int:
        """Copy the device's pages to the host, after batches; return the bytes transferred."""
        host, device = self.editor.store, self.device
        copies = [_copied(each) for each in (device.words, device.slots, device.index, device.free)]
        host.words, host.free = copies[0], copies[3]
        host.num_rows, host.complete = device.num_rows, device.complete
        host.set_order(copies[1], copies[2])
        if device.weights is not None:
            host.weights = _copied(device.weights)
            copies.append(host.weights)
        self.editor.dirty.clear()
        return sum(each.nbytes for each in copies)


def _copied(array: Any) -> Array:
    copied: Array = array.get() if is_cupy_array(array) else array.copy()
    return copied
