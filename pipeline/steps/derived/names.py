"""Tables with names: a published table whose columns of external ids are each followed by the ids that the source has."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from kernels.cpu.parallel import cores
from pipeline.comparison.values import same, whole
from pipeline.errors import BadConfig, ProofFailed
from pipeline.runtime.threads import map_in_order
from pipeline.steps.runtime import Runtime
from pipeline.store.facts import DerivedFacts
from pipeline.store.manifest import Folder, make
from pipeline.store.names import VertexNames, open_names
from pipeline.tables import files as tables
from pipeline.tables.names import require_names, with_names


def add_names(edges: Folder, table: Folder, runtime: Runtime) -> Folder:
    """Write a table again with a column `X_name` after each column `X` of external ids, and check it, read back.

    Args:
        edges: The edge list, whose ids are strings.
        table: The step that wrote the table. Its files and row groups are kept.
        runtime: The folder is `work / "named-STEP"`.

    Returns:
        The table. Facts: `DerivedFacts`.

    Raises:
        BadConfig: The source's ids are integers.
        ProofFailed: A row that was read back has another name than its id. Nothing is written.
    """
    names = open_names(edges)
    if names is None:
        raise BadConfig("named: needs a graph whose ids are strings; the ids of this graph are integers")
    step, name = table.manifest.step, tables.table_of(table.manifest.step)
    described = tables.columns(name, schema=pq.read_schema(tables.files(table.path)[0]))
    ids = [column.name for column in described if column.unit.startswith("external id")]
    ids = [column for column in ids if (name, column) != ("vertices", "vertex")]  # which has column `id` next to it
    keys = tables.keys(name)

    def write(folder: Path) -> dict[str, Any]:
        def write_file(path: Path) -> int:
            with pq.ParquetFile(path, page_checksum_verification=True) as file:
                schema = with_names(file.schema_arrow.empty_table(), ids, names).schema
                batches = (batch for rows in _groups(file) for batch in _batches(with_names(rows, ids, names)))
                rows = tables.write_rows(folder / path.name, schema, keys, batches)
            _check(path, folder / path.name, ids, names)
            return rows

        return DerivedFacts(rows=sum(map_in_order(write_file, tables.files(table.path), cores()))).stored()

    inputs = {"edges": edges.digest, "table": table.digest}
    return make(runtime.work / f"named-{step}", f"named-{step}", inputs, {}, write)


def _groups(file: pq.ParquetFile) -> Iterator[pa.Table]:
    for group in range(file.num_row_groups):
        yield file.read_row_group(group).combine_chunks()


def _batches(rows: pa.Table) -> list[pa.RecordBatch]:
    """The rows of a group, also if it has none."""
    return rows.to_batches() or [pa.RecordBatch.from_pylist([], rows.schema)]


def _check(original: Path, named: Path, ids: list[str], names: VertexNames) -> None:
    """Raise ProofFailed unless a file has the rows of another one, and with each id the name that has its number."""
    with pq.ParquetFile(original) as due, pq.ParquetFile(named, page_checksum_verification=True) as file:
        if due.num_row_groups != file.num_row_groups:
            raise ProofFailed(f"{named}: has {file.num_row_groups} row groups, expected {due.num_row_groups}")
        for rows, named_rows in zip(_groups(due), _groups(file), strict=True):
            if not all(same(whole(named_rows[name]), whole(rows[name])) for name in rows.schema.names):
                raise ProofFailed(f"{named}: a column of {original} has changed")
            require_names(str(named), named_rows, ids, names)
