"""Sorted tables of two runs, read together: block by block, so that memory does not grow with them."""

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from kernels.graph import Array
from pipeline.errors import Damaged

ROWS = 2**18  # rows of each table in memory, at least
ROW = "row"  # the key of a table that no column sorts: the row's number


class Side:
    """The rows of a table in its order, of which some are in memory, as `rows`."""

    def __init__(
        self, run: Path, files: Sequence[str], columns: list[str], keys: list[str], numbers: Mapping[str, Array] | None = None
    ) -> None:
        """`numbers` replace the values of columns of vertices: each value by the number at its place, in the same order."""
        self._keys, self._numbers = keys, numbers or {}
        self._batches = self._read([run / file for file in files], columns)
        self.rows = pa.table({})

    def fill(self) -> bool:
        """Read on where no row is in memory; whether there is one."""
        while not len(self.rows) and (batch := next(self._batches, None)):
            self.rows = batch
        return len(self.rows) > 0

    def last(self) -> tuple[Any, ...]:
        """The key of the last row in memory."""
        return tuple(self.rows[key][-1].as_py() for key in self._keys)

    def take(self, limit: tuple[Any, ...]) -> pa.Table:
        """Take the rows in memory whose keys are not beyond `limit`."""
        begin, end = 0, len(self.rows)
        for key, value in zip(self._keys, limit, strict=True):  # the rows from `begin` to `end` equal it in all keys before
            values = self.rows[key].to_numpy()[begin:end]
            begin, end = begin + int(np.searchsorted(values, value)), begin + int(np.searchsorted(values, value, "right"))
        taken, self.rows = self.rows[:end], self.rows[end:]
        return taken

    def _read(self, files: list[Path], columns: list[str]) -> Iterator[pa.Table]:
        first = 0
        for path in files:
            try:
                with pq.ParquetFile(path, page_checksum_verification=True) as file:
                    for batch in file.iter_batches(ROWS, columns=columns):
                        table = pa.Table.from_batches([batch])
                        if self._keys == [ROW]:
                            table = table.append_column(ROW, pa.array(np.arange(first, first + len(table))))
                        first += len(table)
                        for name, numbers in self._numbers.items():
                            table = table.set_column(
                                columns.index(name), name, _renumbered(table[name].combine_chunks(), numbers)
                            )
                        yield table
            except (OSError, pa.ArrowException) as error:
                raise Damaged(f"{path}: {error}") from None


def aligned(old: Side, new: Side) -> Iterator[tuple[pa.Table, pa.Table]]:
    """Blocks of both tables: two blocks that come together have the rows of the same range of keys."""
    while True:
        left, right = old.fill(), new.fill()
        if not left and not right:
            return
        limit = min(old.last(), new.last()) if left and right else (old if left else new).last()
        yield old.take(limit) if left else old.rows, new.take(limit) if right else new.rows


def _renumbered(column: pa.Array, numbers: Array) -> pa.Array:
    """The numbers at the places that a column has; in a column of lists, at those of their values. A null stays."""
    if isinstance(column, pa.ChunkedArray):
        column = column.combine_chunks()
    if pa.types.is_list(column.type):
        return pa.ListArray.from_arrays(column.offsets, _renumbered(column.values, numbers))
    return pc.take(pa.array(numbers), column)
