"""The files of a table that an earlier run wrote: a file with the same rows is linked instead of being encoded again."""

from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import field
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from kernels.records import dataclass
from kernels.spans import span
from pipeline.errors import Damaged
from pipeline.store import manifest
from pipeline.store.digests import digest_of_file
from pipeline.store.manifest import FileEntry
from pipeline.tables import files as tables

_WRITER = f"parquet-cpp-arrow version {pa.cpp_version}"  # what a file states of the library that encoded it


@dataclass(frozen=True)
class EarlierTable:
    """A table that a step wrote before, if this code wrote it: equal rows then make equal bytes."""

    folder: Path = field(default_factory=Path)
    files: Mapping[str, FileEntry] = field(default_factory=dict)

    @classmethod
    def of(cls, folder: Path, step: str, code: str) -> "EarlierTable":
        """The table in the folder of a step, by the step's name and the version of its code; one without files otherwise."""
        with suppress(Damaged):
            earlier = manifest.read(folder).manifest
            if (earlier.step, earlier.code) == (step, code):
                return cls(folder, earlier.files)
        return cls()

    def write(self, number: int, path: Path, arrow: pa.Schema, keys: Sequence[str], batches: Iterable[pa.RecordBatch]) -> None:
        """Write file `number` of the table to `path`, with the bytes that `pipeline.tables.files.write_rows` gives it."""
        if (name := tables.file_name(number)) in self.files:
            batches = list(batches)
            if self._linked(name, path, arrow, batches):
                return
        tables.write_rows(path, arrow, keys, batches)

    def _linked(self, name: str, path: Path, arrow: pa.Schema, batches: Sequence[pa.RecordBatch]) -> bool:
        """Link an earlier file if it has these rows, in these row groups, and the bytes that its manifest states."""
        earlier = self.folder / name
        if earlier.is_symlink():  # a link to it would be one to a link
            return False
        with suppress(OSError, pa.ArrowException), span("compare rows", "read"):
            with pq.ParquetFile(earlier, page_checksum_verification=True) as file:
                if not _has(file, arrow, batches):
                    return False
            if digest_of_file(earlier) != self.files[name].blake3:
                return False
            path.hardlink_to(earlier)
            return True
        return False


def _has(file: pq.ParquetFile, arrow: pa.Schema, batches: Sequence[pa.RecordBatch]) -> bool:
    """Whether a file has the rows of these batches, each in a row group of its own; most differences are in its footer."""
    footer, filled = file.metadata, [batch for batch in batches if batch.num_rows]
    if footer.created_by != _WRITER or not file.schema_arrow.equals(arrow, check_metadata=True):
        return False
    groups = [footer.row_group(number) for number in range(footer.num_row_groups)]
    if [group.num_rows for group in groups] != [batch.num_rows for batch in filled]:
        return False
    if not all(_may_have(group, batch) for group, batch in zip(groups, filled, strict=True)):
        return False
    from pipeline.comparison.values import same, whole  # a run that makes nothing needs none of it

    last_first = arrow.names[::-1]  # keys are the first ones, and change least
    return all(
        same(whole(file.read_row_group(number, [name], use_threads=False)[name]), batch[name])
        for number, batch in enumerate(filled)
        for name in last_first
    )


def _may_have(group: Any, batch: pa.RecordBatch) -> bool:
    """Whether the statistics of a row group are those of a batch, as far as these are of integers."""
    import pyarrow.compute as pc

    stated = {column.path_in_schema: column.statistics for column in map(group.column, range(group.num_columns))}
    for name, column in zip(batch.schema.names, batch.columns, strict=True):
        of_column = stated.get(name)
        if of_column and of_column.has_min_max and pa.types.is_integer(column.type):
            ends = pc.min_max(column)
            if (of_column.min, of_column.max) != (ends["min"].as_py(), ends["max"].as_py()):
                return False
    return True
