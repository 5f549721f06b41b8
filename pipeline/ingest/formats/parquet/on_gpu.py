"""Decode the columns of a Parquet file on the GPU with libcudf, while cores check the headers and checksums of its pages.

Decompressing and decoding take most of the CPU time of a large file. What is decoded is used only if all checks pass, and if some
row groups that Arrow decodes, too, are equal. Otherwise, and where libcudf is not installed, the file's tables are read, and what
is wrong is refused there.
"""

import logging
import os
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass
from importlib import import_module
from importlib.util import find_spec
from itertools import accumulate
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from kernels.cpu.parallel import cores
from kernels.graph import Array
from pipeline import progress
from pipeline.ingest.formats.parquet.footer import Footer
from pipeline.ingest.formats.parquet.problems import Contradiction, Unreadable
from pipeline.runtime.backend import fetch
from pipeline.signals import beside
from pipeline.store.edges import EdgeArrays

log = logging.getLogger(__name__)
FROM_BYTES = 2**28  # of values; fewer are decoded by cores before libcudf is imported and called for the first time
_BATCH = 2**30  # bytes of values that are decoded at a time, at most, unless a row group has more
_COMPARED = 64  # of so many row groups, one is decoded by Arrow, too
_TYPES = {pa.int32(): np.int32, pa.int64(): np.int64, pa.float32(): np.float32, pa.float64(): np.float64}
# Of pylibcudf, for a file that it does not read, without memory, and if a version has other names; of Arrow; and of checks.
_PROBLEMS = (
    RuntimeError,
    MemoryError,
    ValueError,
    TypeError,
    AttributeError,
    ImportError,
    OSError,
    pa.ArrowException,
    Contradiction,
    Unreadable,
)


@dataclass(frozen=True)
class ColumnsForGpu:
    """The columns of an edge list in a Parquet file, as a GPU decodes them."""

    path: Path
    footer: Footer
    names: Mapping[str, str]  # of `src`, `dst` and perhaps `weight` in the file
    types: Mapping[str, pa.DataType]  # of these in the file
    rows: Sequence[int]  # of each row group

    @property
    def worthwhile(self) -> bool:
        """Whether libcudf is installed, and sooner done than the cores."""
        if not all(kind in _TYPES for kind in self.types.values()):
            return False
        return sum(self.rows) * self._width >= FROM_BYTES and find_spec("pylibcudf") is not None

    @property
    def _width(self) -> int:
        """Bytes of a row's values."""
        return sum(np.dtype(_TYPES[kind]).itemsize for kind in self.types.values())

    def put(self, arrays: EdgeArrays) -> dict[str, int] | None:
        """Fill arrays on the GPU.

        Returns the largest value of each column of integers; None if the file's tables have to be read.
        """
        with ThreadPoolExecutor(cores()) as pool:
            by_arrow = {number: pool.submit(self._by_arrow, number) for number in range(0, len(self.rows), _COMPARED)}
            pool.submit(_load_copying)
            checks = self._check_pages(pool)
            try:
                largest = self._decode(arrays)
                for check in checks:
                    check.result()
                for _ in pool.map(lambda read: self._compare(read[0], read[1].result(), arrays), by_arrow.items()):
                    pass
            except _PROBLEMS as problem:
                log.info("%s: decoded on the CPU; on the GPU: %s: %s", self.path, type(problem).__name__, problem)
                return None
            finally:
                pool.shutdown(cancel_futures=True)
        return largest

    def _check_pages(self, pool: ThreadPoolExecutor) -> list[Future[None]]:
        """Begin to check the pages of all row groups, on all cores if they have checksums.

        Headers alone are read by one thread: several would wait for the GIL before and after each, for longer than it takes.
        """
        if self.footer.has_checksums():
            return [pool.submit(self.footer.check_pages, number, checksums=True) for number in range(len(self.rows))]
        return [pool.submit(self.footer.check_all_pages, checksums=True)]

    def _decode(self, arrays: EdgeArrays) -> dict[str, int]:
        """Fill the arrays. Raises one of _PROBLEMS."""
        largest = {role: 0 for role, kind in self.types.items() if pa.types.is_integer(kind)}
        first = 0
        for numbers in self._batches():
            rows = sum(self.rows[number] for number in numbers)
            columns = self._columns(numbers, rows)
            for role, values in columns.items():
                # NaN if there is one. Numbers of the host, because comparing them on the GPU would load three kernels.
                least, most = (values.min().item(), values.max().item()) if rows else (0, 0)
                if not (least >= 0 and most < np.inf):
                    raise ValueError(f"column {self.names[role]!r} has a value that is refused")
                if role in largest:
                    largest[role] = max(largest[role], int(most))
            if not arrays.put(first, columns, largest):
                raise ValueError("a value is larger than the footer says")
            first += rows
            progress.reached(first, sum(self.rows), "edges")
        return largest

    def _batches(self) -> Iterator[list[int]]:
        """The numbers of row groups that are decoded together."""
        batch, size = list[int](), 0
        for number, rows in enumerate(self.rows):
            if batch and size + rows * self._width > _BATCH:
                yield batch
                batch, size = [], 0
            batch.append(number)
            size += rows * self._width
        yield batch

    def _columns(self, numbers: list[int], rows: int) -> dict[str, Array]:
        """The values of row groups as CuPy arrays, by role."""
        import cupy

        pylibcudf = _load()
        parquet = pylibcudf.io.parquet
        options = parquet.ParquetReaderOptions.builder(pylibcudf.io.SourceInfo([str(self.path)])).build()
        set_names = getattr(options, "set_column_names", None) or options.set_columns  # its name before 26.10
        set_names([*self.names.values()])
        options.set_row_groups([numbers])
        read = parquet.read_parquet(options)
        by_name = dict(zip(read.column_names(include_children=False), read.tbl.columns(), strict=True))
        columns = {}
        for role, name in self.names.items():
            column, kind = by_name[name], np.dtype(_TYPES[self.types[role]])
            if column.size() != rows or column.null_count() or column.type() != _cudf_type(pylibcudf, kind):
                raise ValueError(f"column {name!r} has {column.size()} values, {column.null_count()} nulls")
            columns[role] = cupy.asarray(column.data()).view(kind)[column.offset() :][:rows] if rows else cupy.empty(0, kind)
        return columns

    def _by_arrow(self, number: int) -> pa.Table:
        """A row group as Arrow decodes it, if its pages pass the checks."""
        self.footer.check_pages(number, checksums=True)
        with pq.ParquetFile(self.path, pre_buffer=False) as file:
            return file.read_row_group(number, [*self.names.values()], use_threads=False)

    def _compare(self, number: int, table: pa.Table, arrays: EdgeArrays) -> None:
        """Raise ValueError unless the GPU has decoded a row group as Arrow has."""
        first = [*accumulate(self.rows, initial=0)][number]
        for role, held in zip(("src", "dst", "weight"), arrays.columns(), strict=True):
            if held is not None:
                values = table[self.names[role]].to_numpy() + 0
                if not np.array_equal(fetch(held[first : first + len(values)]), values):
                    raise ValueError(f"row group {number} of column {self.names[role]!r} is another one for Arrow")


def import_decoder(source: object) -> None:
    """Begin to import libcudf if the source of a graph may be decoded by it: that takes as long as hashing the file."""
    path = Path(source) if isinstance(source, str) else Path()
    if path.is_file() and path.suffix == ".parquet" and path.stat().st_size >= FROM_BYTES and find_spec("pylibcudf"):
        beside(_load)


def _load_copying() -> None:
    """Let CuPy load the kernel that makes integers narrower, for which it first asks its compiler, while columns are decoded."""
    import cupy

    cupy.zeros(1, np.int64).astype(np.int32)


def _load() -> Any:
    os.environ.setdefault("KVIKIO_NTHREADS", str(cores()))  # threads that read the file; by default one
    return import_module("pylibcudf")


def _cudf_type(pylibcudf: Any, kind: np.dtype[Any]) -> Any:
    return pylibcudf.DataType(getattr(pylibcudf.TypeId, kind.name.upper()))
