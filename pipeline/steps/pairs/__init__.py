"""Pairs of vertices from a Parquet file: columns `src` and `dst` are found by name and streamed; others are not read."""

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from pathlib import Path

import numpy as np
import pyarrow as pa

from kernels.graph import ID
from pipeline.config.graph import Limits
from pipeline.errors import BadInput, not_in_graph
from pipeline.ingest.formats.parquet import reading
from pipeline.ingest.formats.parquet.footer import Footer, check_rows, open_file
from pipeline.ingest.formats.parquet.rows import require_no_null, require_utf8
from pipeline.ingest.formats.parquet.types import is_id, is_text, plain
from pipeline.store.manifest import Folder
from pipeline.store.names import UNKNOWN, VertexNames, names_beside

ENDS = ["src", "dst"]
BATCH = 2**20  # pairs in memory at a time
BUFFER = 2**20  # bytes read ahead of a column, instead of whole row groups


@dataclass(frozen=True)
class PairBlock:
    """Row groups of a file of pairs, the number of their first row, and that of the first row behind them.

    `nulls` is the number of nulls that the file's footer states.
    """

    groups: range
    first: int
    end: int
    nulls: int


def blocks(path: Path, file: str, rows: int) -> list[PairBlock]:
    """Cut a file of pairs between its row groups into blocks of at most `rows` rows, or of one row group.

    Error messages call the file `file`. Raises BadInput.
    """
    cut: list[PairBlock] = []
    first = 0
    with reading(file), open_file(path, file, Limits()) as parquet:
        _check_columns(file, parquet.schema_arrow)
        footer = Footer(path, parquet.schema, ("src", "dst"), Limits())
        footer.check_all_pages()
        cut.append(PairBlock(range(0), 0, 0, footer.nulls))
        for group in range(parquet.num_row_groups):
            end = first + parquet.metadata.row_group(group).num_rows
            last = cut[-1]
            if end - last.first <= rows or not last.groups:
                cut[-1] = PairBlock(range(last.groups.start, group + 1), last.first, end, footer.nulls)
            else:
                cut.append(PairBlock(range(group, group + 1), first, end, footer.nulls))
            first = end
    return cut


def batches(
    path: Path, file: str, block: PairBlock, index: Folder | None = None, strict: bool = True
) -> Iterator[pa.RecordBatch]:
    """Columns `src` and `dst` of a block, int64 and without nulls, batch by batch.

    Args:
        index: The index, by whose graph's names strings are read; None refuses them.
        strict: Whether a string that names no vertex is an error; otherwise it becomes UNKNOWN.

    Raises:
        BadInput: A column has a null, or a value that no vertex can have.
    """
    first, names = block.first, cache(lambda: names_beside(index) if index else None)

    def read(batch: pa.RecordBatch, name: str, first: int) -> pa.Array:
        ids = _ids(file, batch, name, first)
        return ids if pa.types.is_integer(ids.type) else _numbers(file, ids, (name, first), names(), strict)

    with reading(file), open_file(path, file, Limits(), buffer_size=BUFFER) as parquet:
        for batch in parquet.iter_batches(BATCH, row_groups=list(block.groups), columns=["src", "dst"]):
            yield pa.RecordBatch.from_arrays([read(batch, name, first) for name in ENDS], ENDS)
            first += len(batch)
        check_rows(first, block.end, block.nulls)


def _check_columns(file: str, schema: pa.Schema) -> None:
    for name in ("src", "dst"):
        if schema.names.count(name) != 1:
            known = ", ".join(map(repr, schema.names))[:200]
            raise BadInput(file, f"has {schema.names.count(name) or 'no'} columns {name!r}; its columns are {known}")
        kind = schema.field(name).type
        if not is_id(kind):
            raise BadInput(file, f"column {name!r} is {kind}, not an integer type or string; write it as one of both")


def _ids(file: str, batch: pa.RecordBatch, name: str, first: int) -> pa.Array:
    column = plain(batch[name])
    require_no_null(file, column, name, first)
    if is_text(column.type):
        require_utf8(file, column, name, first)
        return column
    values = column.to_numpy()
    if values.dtype == np.uint64 and len(values) and values.max() >= 2**63:
        row = int(values.argmax())
        raise BadInput(file, f"row {first + row}: {name} {values[row]} is not in 0..{2**63 - 1}")
    return pa.array(values.astype(ID, copy=False))


def _numbers(file: str, ids: pa.Array, origin: tuple[str, int], names: VertexNames | None, strict: bool) -> pa.Array:
    """The numbers of names; `origin` is the column, and the number of its first row. Raises BadInput."""
    column, first = origin
    if names is None:
        raise BadInput(file, f"column {column!r} is string, but the ids of this graph are integers")
    numbers = names.find(ids)
    if strict and (wrong := numbers == UNKNOWN).any():
        row = int(wrong.argmax())
        raise not_in_graph(file, first + row, column, repr(ids[row].as_py()), len(names))
    return pa.array(numbers)
