"""A stand-in for pylibcudf, which decodes with Arrow: for machines that lack it, such as those with an emulated GPU."""

from importlib.machinery import ModuleSpec
from types import ModuleType, SimpleNamespace
from typing import Any

import cupy
import numpy as np
import pyarrow.parquet as pq


class _Options:
    def __init__(self, path: str) -> None:
        self.path, self.names, self.groups = path, list[str](), list[list[int]]()

    def set_column_names(self, names: list[str]) -> None:
        self.names = names

    def set_row_groups(self, groups: list[list[int]]) -> None:
        self.groups = groups


def _column(values: Any) -> SimpleNamespace:
    there = cupy.asarray(values.fill_null(0).combine_chunks().to_numpy(zero_copy_only=False))
    return SimpleNamespace(
        size=lambda: len(values), null_count=lambda: values.null_count, offset=lambda: 0, data=lambda: there.view(np.uint8),
        type=lambda: str(there.dtype).upper(),
    )  # fmt: skip


def _read(options: _Options) -> SimpleNamespace:
    with pq.ParquetFile(options.path) as file:
        table = file.read_row_groups(options.groups[0], options.names)
    columns = [_column(table[name]) for name in table.schema.names]
    return SimpleNamespace(column_names=lambda include_children: table.schema.names, tbl=SimpleNamespace(columns=lambda: columns))


def module() -> ModuleType:
    """A module of those functions that the project calls."""
    parquet = SimpleNamespace(ParquetReaderOptions=SimpleNamespace(
        builder=lambda source: SimpleNamespace(build=lambda: _Options(*source))), read_parquet=_read)  # fmt: skip
    kinds = SimpleNamespace(**{name: name for name in ("INT32", "INT64", "FLOAT32", "FLOAT64")})
    made = ModuleType("pylibcudf")
    made.__spec__ = ModuleSpec("pylibcudf", None)
    made.__dict__.update({"io": SimpleNamespace(parquet=parquet, SourceInfo=list), "DataType": str, "TypeId": kinds})
    return made
