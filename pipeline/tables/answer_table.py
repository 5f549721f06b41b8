"""The table of a stored answer, read for its proof: the shape of its files is checked first, then its answers are read."""

from collections import deque
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeVar

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from kernels.algorithm import Algorithm
from kernels.cpu.parallel import cores
from kernels.decimals import units_of
from kernels.distributed.communicator import Communicator
from kernels.graph import Array
from kernels.registry import BY_NAME
from kernels.spans import span
from pipeline.errors import ProofFailed
from pipeline.runtime.backend import Backend, empty_array, overwrite
from pipeline.runtime.threads import map_in_order
from pipeline.store.arrays import dtype_of
from pipeline.store.facts import StageFacts, facts_of_answer
from pipeline.store.manifest import Folder
from pipeline.tables import files as tables
from pipeline.tables.batches import as_arrays
from pipeline.tables.definitions import MEASURED
from pipeline.tables.forms import TableForm, form_of

Result = TypeVar("Result")

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

    @property
    def has_seeds(self) -> bool:
        """Whether the answers are those of seeds, each for itself or all together."""
        return bool((self.facts.options or {}).get("seeds"))

    @property
    def form(self) -> TableForm:
        """The form of the table."""
        return form_of(self.algorithm, self.facts.seeds is not None)

    def source(self, number: int) -> int | None:
        """External id of the source or seed of answer `number`; None where it has none."""
        each = self.facts.sources if self.facts.seeds is None else self.facts.seeds
        return None if each is None else each[number]

    def groups(self, number: int, work: Callable[[range, pa.Table], Result]) -> Iterator[Result]:
        """`work(places, rows)` for the row groups of answer `number`, in order, by threads that hold one row group each.

        Page checksums are verified. Raises ProofFailed if a row group is missing.
        """
        groups = range(tables.groups_of(self.rows))
        return map_in_order(lambda group: work(*self._group(number, group)), groups, min(cores(), len(groups) or 1))

    def columns(self, number: int, backend: Backend = "cpu", decimals: int | None = None) -> dict[str, Array]:
        """All columns of answer `number`, as `as_arrays` and `in_units`, and the arrays beside the table.

        Row groups are copied to where the backend computes, each when it is read; those of a table that has arrays beside it
        stay in the host's memory. Raises as the two, and as `groups`.
        """
        to_gpu = backend == "gpu" and not self.form.beside
        counted = {column.name for column in self.algorithm.columns if column.type in MEASURED and decimals is not None}
        kinds = {field.name: np.dtype(np.int64) if field.name in counted else dtype_of(field.type) for field in self.schema}
        arrays = {name: empty_array(self.rows, kind, "gpu" if to_gpu else "cpu") for name, kind in kinds.items()}

        def copy(positions: range, rows: pa.Table) -> None:
            parts = in_units(dict(zip(arrays, as_arrays(rows), strict=True)), self.algorithm, decimals)
            for name, array in arrays.items():
                overwrite(array[positions.start : positions.stop], parts[name])

        deque(self.groups(number, copy), maxlen=0)
        return arrays | {name: np.load(self.answer.path / f"{name}.npy") for name in self.form.beside}

    def row_groups(self, number: int, communicator: Communicator) -> Iterator[tuple[range, pa.Table]]:
        """The row groups of answer `number` that this rank reads, each with its rows' places in the answer.

        Every rank yields equally many, at least one; empty ones if need be. Raises ProofFailed if a row group is missing.
        """
        count = tables.groups_of(self.rows)

        def read(first: int) -> tuple[range, pa.Table]:
            group = first + communicator.rank
            if group >= count:
                return range(0), self.schema.empty_table()
            return self._group(number, group)

        threads = min(_AHEAD, max(1, cores() // communicator.size))  # each has a row group in memory
        return map_in_order(read, range(0, max(count, 1), communicator.size), threads)

    def _group(self, number: int, group: int) -> tuple[range, pa.Table]:
        """A row group of answer `number`, and its rows' places in the answer."""
        file, within = tables.position_of(number, self.rows, group)
        due = range(group * tables.ROWS_PER_GROUP, min((group + 1) * tables.ROWS_PER_GROUP, self.rows))
        with span("read rows", "read"), pq.ParquetFile(self.paths[file], page_checksum_verification=True) as opened:
            if within >= opened.num_row_groups or opened.metadata.row_group(within).num_rows != len(due):
                raise ProofFailed(f"{self.paths[file]}: row group {within} does not have the {len(due)} rows that are due")
            return due, opened.read_row_group(within)


def in_units(columns: dict[str, Array], algorithm: Algorithm, decimals: int | None) -> dict[str, Array]:
    """Columns of a table with its weights and distances in units of 10^-`decimals`, if they are counted in them.

    Raises ProofFailed for a value that is no multiple of a unit.
    """
    if decimals is None:
        return columns
    for column in algorithm.columns:
        if column.type in MEASURED:
            try:
                columns[column.name] = units_of(columns[column.name], decimals)
            except ValueError as error:
                raise ProofFailed(f"{algorithm.name}: {column.name}: {error}") from None
    return columns


def open_table(answer: Folder, num_vertices: int, index: Folder | None) -> AnswerTable:
    """Find the files of an answer's table. Raises ProofFailed unless they have its columns and as many rows as are due."""
    algorithm, facts, paths = BY_NAME[answer.manifest.step], facts_of_answer(answer), tables.files(answer.path)
    seeded = facts.seeds is not None
    schema = tables.schema(algorithm.table_name, facts.weight, facts.num_dimensions, seeded=seeded)
    rows = sum(_rows_of(path, schema) for path in paths)
    answers = facts.num_answers
    if form_of(algorithm, seeded).of_vertices and rows != answers * num_vertices:
        raise ProofFailed(
            f"{answer.path}: {rows} rows, where {answers * num_vertices} are due ({answers} x {num_vertices} vertices)"
        )
    of_each = rows // max(answers, 1)
    files = tables.position_of(answers - 1, of_each, 0)[0] + tables.files_of(of_each) if answers else 1
    if len(paths) != files:
        raise ProofFailed(f"{answer.path}: {len(paths)} files, which is not what {rows} rows take")
    return AnswerTable(answer, facts, paths, of_each, schema, index)


def _rows_of(path: Path, schema: pa.Schema) -> int:
    file: Any = pq.ParquetFile(path)
    if not file.schema_arrow.equals(schema):
        raise ProofFailed(f"{path}: its columns are {file.schema_arrow.names}, not {schema.names} of the stated types")
    return int(file.metadata.num_rows)
