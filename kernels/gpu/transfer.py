"""Copies between the device and the host of answers, which are dataclasses of arrays."""

from __future__ import annotations

from dataclasses import fields, is_dataclass, replace
from typing import Any

from kernels.gpu.loader import to_host


def on_host(value: Any) -> Any:
    """The same dataclass, array or number with NumPy arrays, in nested dataclasses too; nothing that was derived is copied."""
    if is_dataclass(value) and not isinstance(value, type):
        return replace(value, **{field.name: on_host(getattr(value, field.name)) for field in fields(value) if field.init})
    return to_host(value)
