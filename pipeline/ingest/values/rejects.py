"""Rows of a source that are refused one by one, where a run allows some; otherwise the first bad row refuses the source."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

import pyarrow as pa

from pipeline.config.expect import MOST_REJECTED
from pipeline.errors import BadInput
from pipeline.redaction import quoted
from pipeline.tables import files as tables
from pipeline.tables.definitions import REJECTED

HINT = "; [reject] limit leaves such rows out"  # behind the reason why a row is refused
TABLE = REJECTED.removesuffix(".parquet")
_LONGEST = 200  # characters of a value that are kept
_FIRST = 3  # rows in a message


@dataclass(frozen=True)
class Rejected:
    """A refused row: its line in a text, from 1, or its row in Parquet, from 0; and why."""

    line: int
    reason: str
    column: str = ""  # `src`, `dst`, ..., if one of them is at fault
    value: str = ""
    file: str = ""  # of a source of several files, where it is


@dataclass
class Rejects:
    """The refused rows of a file, in its order.

    Attributes:
        limit: How many rows may be refused: a number, or a share below 1; with 0 the first bad row raises BadInput.
        word: What the numbers count, "line" or "row".
        rows: The refused ones, at most MOST_REJECTED.
        read: How many rows were read so far.
    """

    limit: float = 0
    word: str = "line"
    rows: list[Rejected] = field(default_factory=list)
    read: int = 0

    def add(self, file: str, rows: Sequence[Rejected], read: int) -> None:
        """Add the refused ones of `read` rows. Raises BadInput if there are more than are kept in any case."""
        self.rows += rows
        self.read += read
        if len(self.rows) > MOST_REJECTED:
            raise BadInput(file, f"more than {MOST_REJECTED:,} rows are refused{self._first()}")

    def take(self, file: str, others: "Rejects") -> None:
        """Move the refused rows of one file of several here. Raises BadInput as `add`."""
        rows, read = others.rows, others.read
        others.rows, others.read = [], 0
        self.add(file, [replace(row, file=file) for row in rows], read)

    def place(self, row: Rejected) -> str:
        """Where a refused row is, in words."""
        return f"{self.word} {row.line}{f' of {row.file}' if row.file else ''}"

    def check(self, file: str) -> None:
        """Raise BadInput if more rows were refused than the limit allows."""
        allowed = self.limit if self.limit >= 1 else self.limit * self.read
        if len(self.rows) > allowed:
            limit = f"the limit is {self.limit:g}{'' if self.limit >= 1 else ' of them'} (reject.limit)"
            raise BadInput(file, f"{len(self.rows):,} of {self.read:,} rows are refused, {limit}{self._first()}")

    def write(self, folder: Path, file: str, names: Mapping[str, str]) -> None:
        """Write table `rejected`; `names` are those of the columns in the file, by what they are for."""
        columns = {
            "file": [quoted(row.file or file) for row in self.rows],
            "line": [row.line for row in self.rows],
            "column": [names.get(row.column, row.column) or None for row in self.rows],
            "value": [row.value for row in self.rows],
            "reason": [quoted(row.reason) for row in self.rows],
        }
        table = pa.table(columns, tables.schema(TABLE, None)).combine_chunks()
        tables.write_rows(folder / REJECTED, table.schema, tables.keys(TABLE), table.to_batches())

    def _first(self) -> str:
        return "; the first: " + "; ".join(f"{self.place(row)}: {row.reason}" for row in self.rows[:_FIRST])


def shortened(value: bytes) -> str:
    """A value as a text of a bounded length that any program can show: what cannot be printed is escaped."""
    text = value[: 4 * _LONGEST].decode(errors="backslashreplace")
    return quoted(text[:_LONGEST]) + ("..." if len(text) > _LONGEST else "")
