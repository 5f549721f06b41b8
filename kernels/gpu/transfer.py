"""Copies between the device and the host of graphs and answers, which are dataclasses of arrays."""

from collections.abc import Callable
from dataclasses import fields, is_dataclass, replace
from typing import Any

import numpy as np

from kernels.derived import Derived
from kernels.gpu.loader import to_host
from kernels.graph import Array


def on_host(value: Any) -> Any:
    """The same dataclass, tuple, array or number with NumPy arrays, also inside; nothing that was derived is copied."""
    return _with(to_host, value)


def on_device(value: Any) -> Any:
    """The same with CuPy arrays."""
    import cupy

    return _with(lambda part: cupy.asarray(part) if isinstance(part, np.ndarray) else part, value)


def _with(copy: Callable[[Any], Any], value: Any) -> Any:
    if isinstance(value, tuple):
        parts = [_with(copy, part) for part in value]
        return type(value)(*parts) if hasattr(value, "_fields") else tuple(parts)
    if isinstance(value, Derived):
        return Derived()  # what follows from the copies is derived again, where they are
    if not is_dataclass(value):
        return copy(value)
    assert not isinstance(value, type)
    of_fields = {field.name: getattr(value, field.name) for field in fields(value) if field.init}
    copies = {id(part): _with(copy, part) for part in of_fields.values()}  # a part that is there twice stays one object
    return replace(value, **{name: copies[id(part)] for name, part in of_fields.items()})


def empty_pinned(length: int, dtype: Any) -> Array:
    """An uninitialised array [length] in memory of CuPy's pool; `cupyx`, which has this function, too, imports SciPy."""
    import cupy

    dtype = np.dtype(dtype)
    return np.frombuffer(cupy.cuda.alloc_pinned_memory(max(1, length * dtype.itemsize)), dtype, length)
