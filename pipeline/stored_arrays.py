"""Arrays on the disk, one `.npy` file each, opened as read-only memory maps."""

from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np

from kernels.graph import Array
from pipeline.errors import Damaged


def save_array(path: Path, array: Array) -> None:
    """Save an array as `np.save` does, but by the file's own write: it says why where it fails, as on a full disk."""
    with path.open("wb") as file:
        np.lib.format.write_array(SimpleNamespace(write=file.write), np.ascontiguousarray(array))


def load_array(path: Path, dtype: np.dtype[Any], *shape: int) -> Array:
    """Map an array as a plain read-only ndarray, over the map and without a copy. Raises Damaged where it has another form."""
    try:
        array = np.load(path, mmap_mode="r", allow_pickle=False)
    except (OSError, ValueError) as error:
        raise Damaged(f"{path}: {error}") from None
    if array.dtype != dtype or array.shape != shape:
        raise Damaged(f"{path}: {array.dtype} {array.shape}, the manifest says {dtype} {shape}")
    return np.asarray(array)
