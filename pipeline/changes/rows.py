"""The rows of a file of changes, or of the changes to a snapshot, before they are looked up in a graph."""

from collections.abc import Callable
from dataclasses import dataclass

import pyarrow as pa

from kernels.graph import Array
from pipeline.errors import BadInput

DELETE, INSERT, UPDATE = range(3)
OPERATIONS = ("delete", "insert", "update")  # by their number
Line = Callable[[int], int]  # the line of a row of a text, both counted from its begin; rows from 0


@dataclass(frozen=True)
class ChangeRows:
    """The rows of a file of changes, in its order."""

    file: str
    line: Line | None  # None for Parquet
    ops: Array  # uint8 [C]: DELETE, INSERT or UPDATE
    src: pa.Array  # int64 [C], or large_string where the graph's ids are strings
    dst: pa.Array
    weights: Array | None  # int64 or float64 [C]; 0 where nothing is put; None where the graph has no weights
    alone: int = 0  # how many rows at the end add a vertex, `src` and `dst`, without an edge

    def inserted(self) -> pa.Array:
        """The strings of the ends of insertions, which may be new names."""
        kept = pa.array(self.ops == INSERT)
        return pa.concat_arrays([self.src.filter(kept), self.dst.filter(kept)])

    def bad(self, row: int, reason: str) -> BadInput:
        """The error for a row, by its number in the file from 0."""
        if self.line:
            return BadInput(self.file, reason, self.line(row))
        return BadInput(self.file, f"row {row}: {reason}")

    def shown(self, row: int) -> str:
        """The text of a row, for messages."""
        return f"{OPERATIONS[self.ops[row]]} {self.src[row].as_py()} -> {self.dst[row].as_py()}"
