"""The table of a stored answer, read for its proof: the shape of its files is checked first, then its answers are read."""

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from kernels.algorithm import Algorithm
from kernels.distributed.communicator import Communicator
from kernels.registry import BY_NAME
from pipeline.errors import ProofFailed
from pipeline.runtime.threads import map_in_order
from pipeline.store.facts import StageFacts, facts_of_answer
from pipeline.store.manifest import Folder
from pipeline.tables import files as tables
from pipeline.tables.forms import form_of

_AHEAD = 4  # row groups that are read at a time


@dataclass(frozen=True)
class AnswerTable:
    """The files of a table whose shape was checked."""

    answer: Folder
    facts: StageFacts  # of the answer
    paths: list[Path]
    rows: int  # of each answer in it
    schema: pa.Schema
    index: Folder | None  # the index that the table shows a part of

    @property
    def algorithm(self) -> Algorithm:
        """The algorithm whose answers these are."""
        return BY_NAME[self.answer.manifest.step]

    def source(self, number: int) -> int | None:
        """External id of the source of answer `number`; None where the algorithm has no sources."""
        return None if self.facts.sources is None else self.facts.sources[number]

    def read(self, number: int) -> pa.Table:
        """All rows of answer `number`, their page checksums verified."""
        return tables.read_answer(self.paths, number, self.rows) if self.rows else self.schema.empty_table()

    def row_groups(self, number: int, communicator: Communicator) -> Iterator[tuple[range, pa.Table]]:
        """The row groups of answer `number` that this rank reads, each with its rows' places in the answer.

        Every rank yields equally many, at least one; empty ones if need be. Raises ProofFailed if a row group is missing.
        """
        count = tables.groups_of(self.rows)

        def read(first: int) -> tuple[range, pa.Table]:
            group = first + communicator.rank
            if group >= count:
                return range(0), self.schema.empty_table()
            file, within = tables.place_of(number, self.rows, group)
            due = range(group * tables.ROWS_PER_GROUP, min((group + 1) * tables.ROWS_PER_GROUP, self.rows))
            opened = pq.ParquetFile(self.paths[file], page_checksum_verification=True)
            if within >= opened.num_row_groups or opened.metadata.row_group(within).num_rows != len(due):
                raise ProofFailed(f"{self.paths[file]}: row group {within} does not have the {len(due)} rows that are due")
            return due, opened.read_row_group(within)

        return map_in_order(read, range(0, max(count, 1), communicator.size), _AHEAD)


def open_table(answer: Folder, num_vertices: int, index: Folder | None) -> AnswerTable:
    """Find the files of an answer's table. Raises ProofFailed unless they have its columns and as many rows as are due."""
    algorithm, facts, paths = BY_NAME[answer.manifest.step], facts_of_answer(answer), tables.files(answer.path)
    schema = tables.schema(algorithm.table_name, facts.weight, facts.num_dimensions)
    rows = sum(_rows_of(path, schema) for path in paths)
    answers = facts.num_answers
    if form_of(algorithm).of_vertices and rows != answers * num_vertices:
        raise ProofFailed(
            f"{answer.path}: {rows} rows, where {answers * num_vertices} are due ({answers} x {num_vertices} vertices)"
        )
    of_each = rows // max(answers, 1)
    files = tables.place_of(answers - 1, of_each, 0)[0] + tables.files_of(of_each) if answers else 1
    if len(paths) != files:
        raise ProofFailed(f"{answer.path}: {len(paths)} files, which is not what {rows} rows take")
    return AnswerTable(answer, facts, paths, of_each, schema, index)


def _rows_of(path: Path, schema: pa.Schema) -> int:
    file: Any = pq.ParquetFile(path)
    if not file.schema_arrow.equals(schema):
        raise ProofFailed(f"{path}: its columns are {file.schema_arrow.names}, not {schema.names} of the stated types")
    return int(file.metadata.num_rows)
