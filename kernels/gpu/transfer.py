"""Copies between the device and the host of graphs and answers, which are dataclasses of arrays."""

from collections.abc import Callable
from dataclasses import fields, is_dataclass, replace
from typing import Any, TypeVar

import numpy as np

from kernels.derived import Derived
from kernels.gpu.loader import to_host
from kernels.graph import Array

Copied = TypeVar("Copied")
Allocated = TypeVar("Allocated")
_NO_MEMORY = 2  # cudaErrorMemoryAllocation


def on_host(value: Any) -> Any:
    """The same dataclass, tuple, array or number with NumPy arrays, also inside."""
    return copied_by(to_host, value)


def to_device(value: Copied) -> Copied:
    """The same with CuPy arrays: kernels that are called with such a graph run on the current GPU."""
    import cupy

    copied: Copied = copied_by(lambda part: cupy.asarray(part) if isinstance(part, np.ndarray) else part, value)
    return copied


def copied_by(copy: Callable[[Any], Any], value: Any) -> Any:
    """The same dataclass or tuple with `copy` of each part inside; None, and what was derived, is not copied."""
    if value is None:
        return None
    if isinstance(value, tuple):
        parts = [copied_by(copy, part) for part in value]
        return type(value)(*parts) if hasattr(value, "_fields") else tuple(parts)
    if isinstance(value, Derived):
        return Derived()  # what follows from the copies is derived again, where they are
    if not is_dataclass(value):
        return copy(value)
    assert not isinstance(value, type)
    of_fields = {field.name: getattr(value, field.name) for field in fields(value) if field.init}
    copies = {id(part): copied_by(copy, part) for part in of_fields.values()}  # a part that is there twice stays one object
    return replace(value, **{name: copies[id(part)] for name, part in of_fields.items()})


def empty_pinned(length: int, dtype: Any) -> Array:
    """An uninitialised array [length] in memory of CuPy's pool; `cupyx`, which has this function, too, imports SciPy."""
    import cupy

    dtype = np.dtype(dtype)
    return np.frombuffer(allocate_pinned(cupy.cuda.alloc_pinned_memory, max(1, length * dtype.itemsize)), dtype, length)


def allocate_pinned(allocate: Callable[[int], Allocated], size: int) -> Allocated:
    """What `allocate`, of `cupy.cuda`, returns for so many bytes of pinned memory.

    Raises:
        MemoryError: The system does not pin as much; CuPy raises it for the GPU's memory only.
    """
    import cupy

    try:
        return allocate(size)
    except cupy.cuda.runtime.CUDARuntimeError as error:
        if error.status != _NO_MEMORY:
            raise
    raise MemoryError(f"{size:,} bytes of the host's memory cannot be pinned")
