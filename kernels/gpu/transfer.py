"""Copies between the device and the host of graphs and answers, which are dataclasses of arrays."""

from dataclasses import fields, is_dataclass, replace
from typing import Any

from kernels.gpu.loader import to_host


def on_host(value: Any) -> Any:
    """The same dataclass, tuple, array or number with NumPy arrays, also inside; nothing that was derived is copied."""
    if isinstance(value, tuple):
        parts = map(on_host, value)
        return type(value)(*parts) if hasattr(value, "_fields") else tuple(parts)
    if not is_dataclass(value):
        return to_host(value)
    assert not isinstance(value, type)
    of_fields = {field.name: getattr(value, field.name) for field in fields(value) if field.init}
    copies = {id(part): on_host(part) for part in of_fields.values()}  # a part that is there twice stays one object
    return replace(value, **{name: copies[id(part)] for name, part in of_fields.items()})
