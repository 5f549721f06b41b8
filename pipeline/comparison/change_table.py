"""The change table of one table, as files: each row group is a file, which a thread encodes, reads back and proves."""

import time
from collections.abc import Callable
from concurrent.futures import Future
from itertools import pairwise
from math import isfinite
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from kernels.spans import span
from pipeline.comparison.blocks import KINDS
from pipeline.comparison.difference import Comparison, Part, TableDifference
from pipeline.comparison.numbers import CommonNumbers
from pipeline.comparison.replay import codes
from pipeline.comparison.values import ascend, key_numbers, same, whole
from pipeline.comparison.versions import Version
from pipeline.errors import ProofFailed
from pipeline.runtime.threads import BoundedThreads
from pipeline.store.facts.changes import ChangedFacts
from pipeline.store.manifest import digest_of
from pipeline.tables import changes
from pipeline.tables import files as tables
from pipeline.tables.changes import KIND

LAST_ROWS = 2**17  # of the last files, about: when all rows are known, other cores would wait for those that encode these


class _File(NamedTuple):
    """A file of a change table, read back."""

    path: Path
    rows: int
    ends: list[tuple[Any, ...]]  # its first and last key
    seconds: float  # of reading it


class ChangeTable:
    """The files of the change table of two versions of a table.

    Attributes:
        comparison: It gives the rows.
        folder: The folder of the files.
        seconds: Those of its proof.
    """

    def __init__(
        self, name: str, old: Version, new: Version, numbers: CommonNumbers | None, parent: Path, writers: BoundedThreads
    ) -> None:
        """Begin a folder `NAME_changes` in `parent`."""
        self.comparison, self.seconds = Comparison(name, old, new, numbers, tabulated=True), 0.0
        self._name, self._versions, self._numbers, self._writers = name, (old, new), numbers, writers
        self._schema = changes.schema(name, old.schema, new.schema, numbers is not None)
        self._keys = changes.keys(name, self._schema.names)
        self.folder = parent / f"{name}{changes.SUFFIX}"
        self.folder.mkdir()
        self._held: list[pa.Table] = []
        self._files: list[Future[_File]] = []

    def take(self, part: Part) -> None:
        """Take the next part; write its rows as soon as there are enough for a file."""
        self.comparison.take(part)
        self.seconds += part.seconds
        self._held += part.rows
        while sum(map(len, self._held)) > tables.ROWS_PER_GROUP:
            rows = pa.concat_tables(self._held)
            self._held = [rows[tables.ROWS_PER_GROUP :]]
            self._put(rows[: tables.ROWS_PER_GROUP])

    def end(self) -> None:
        """Write the rows that are left, after the last part: in files of about equal size, which all cores encode."""
        if left := sum(map(len, self._held)):
            rows, parts = pa.concat_tables(self._held), -(-left // min(LAST_ROWS, tables.ROWS_PER_GROUP))
            for first, last in pairwise(left * part // parts for part in range(parts + 1)):
                self._put(rows[first:last])

    def finished(self) -> ChangedFacts:
        """Wait for the files, and name them. Raises ProofFailed unless they make the new table of the old one."""
        difference, files = self.comparison.result(), [file.result() for file in self._files]
        self._require(difference, files)
        self.seconds += sum(file.seconds for file in files)
        # The files of several are named as by `pipeline.tables.files.published_names`.
        mark = f"-{digest_of([[*side.files.values()] for side in self._versions])[:16]}" if len(files) > 1 else ""
        for number, file in enumerate(files):
            file.path.rename(self.folder / tables.file_name(number).replace(".parquet", f"{mark}.parquet"))
        if not files:
            tables.write_rows(self.folder / tables.file_name(0), self._schema, self._keys, [])
        largest = {name: value for name, value in difference.largest.items() if isfinite(value)}
        counts = {kind: getattr(difference, kind) for kind in KINDS}
        return ChangedFacts(rows=[*difference.rows], **counts, columns=difference.columns, largest=largest)

    def _ids(self, rows: pa.Table, replaced: Callable[[CommonNumbers, pa.Array], pa.Array]) -> pa.Table:
        """The rows with other values in the columns of ids, if these are strings in the source."""
        for position, name in enumerate(rows.schema.names if self._numbers else ()):
            if self._numbers and changes.plain(name) in changes.ids(self._name, self._versions[1].schema):
                rows = rows.set_column(position, name, replaced(self._numbers, whole(rows[name])))
        return rows

    def _put(self, rows: pa.Table) -> None:
        """Let a thread write a file."""
        self._files.append(self._writers.submit(self._write, self.folder / f"{len(self._files)}", rows))

    def _write(self, path: Path, rows: pa.Table) -> _File:
        rows = rows.select(self._schema.names).combine_chunks()
        named = self._ids(rows, CommonNumbers.named).cast(self._schema)
        tables.write_rows(path, self._schema, self._keys, named.to_batches())
        del named
        started = time.perf_counter()
        if not self._has(path, rows):
            raise ProofFailed(f"{self.folder.name}: its rows, read back, are not those that were written")
        keys = [whole(rows[key]) for key in self._keys]
        if not ascend(*key_numbers(keys)):
            raise ProofFailed(f"{self.folder.name}: its keys do not ascend")
        return _File(path, len(rows), [tuple(key[at].as_py() for key in keys) for at in (0, -1)], time.perf_counter() - started)

    def _has(self, path: Path, rows: pa.Table) -> bool:
        """Whether a file, read back, has these rows, whose ids are numbers."""
        with (
            span("read rows", "read"),
            pq.ParquetFile(path, page_checksum_verification=True, read_dictionary=[KIND.name]) as file,
        ):
            read = self._ids(file.read(use_threads=False), CommonNumbers.numbered)
        return (
            read.schema.names == rows.schema.names
            and np.array_equal(codes(read[KIND.name]), codes(rows[KIND.name]))
            and all(same(whole(read[name]), whole(rows[name])) for name in rows.schema.names if name != KIND.name)
        )

    def _require(self, difference: TableDifference, files: list[_File]) -> None:
        """Raise ProofFailed unless the files together have the proved rows of all ranges, each once."""
        ends = [end for file in files for end in (file.ends if file.rows > 1 else file.ends[:1])]
        if not all(below < above for below, above in pairwise(ends)) or (
            sum(file.rows for file in files) != difference.added + difference.removed + difference.changed
        ):
            raise ProofFailed(f"{self.folder.name}: its keys do not ascend, or its rows are not those of the two tables")
