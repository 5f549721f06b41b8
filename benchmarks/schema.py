"""The Parquet schema of a table of measurements: one column for each field of a dataclass."""

from dataclasses import fields
from types import NoneType
from typing import Any, get_args

import pyarrow as pa

_TYPES = {str: pa.string(), int: pa.int64(), float: pa.float64()}


def schema_of(row: type[Any]) -> pa.Schema:
    """The schema for a dataclass whose fields are `str`, `int` or `float`, or one of them or None."""
    return pa.schema([(field.name, _TYPES[_without_none(field.type)]) for field in fields(row)])


def failure_of(error: BaseException) -> str:
    """What a row says of a measurement that failed."""
    return " ".join(f"{type(error).__name__}: {error}".split())[:300]


def _without_none(stated: Any) -> type:
    return next((one for one in get_args(stated) if one is not NoneType), stated)
