"""Tables with names: a published table whose columns of external ids are each followed by the ids that the source has."""

import os
from collections.abc import Callable, Iterator
from functools import wraps
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from kernels.cpu.parallel import cores
from pipeline.comparison.values import same, whole
from pipeline.errors import BadConfig, ProofFailed
from pipeline.runtime.threads import map_in_order
from pipeline.steps.runtime import Runtime
from pipeline.store.facts.derived import DerivedFacts
from pipeline.store.facts.run import RunFacts
from pipeline.store.manifest import Folder, file_of, make, read
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
    names = require_strings(open_names(edges))
    step = table.manifest.step

    def write(folder: Path) -> dict[str, Any]:
        def write_file(path: Path) -> int:
            return _write_file(path, folder / path.name, tables.table_of(step), names)

        return DerivedFacts(rows=sum(map_in_order(write_file, tables.files(table.path), cores()))).stored()

    inputs = {"edges": edges.digest, "table": table.digest}
    return make(runtime.work / f"named-{step}", f"named-{step}", inputs, {}, write)


def require_strings(names: VertexNames | None) -> VertexNames:
    """The names of a graph. Raises BadConfig if it has none."""
    if names is None:
        raise BadConfig("named: needs a graph whose ids are strings; the ids of this graph are integers")
    return names


def is_named(option: bool | None, run: Path) -> bool:
    """Whether a command adds names: as its option says or, without one, if the run in a folder has them."""
    if option is None and os.path.lexists(file_of(run)) and (published := read(run)).manifest.step == "run":
        return bool(RunFacts.of(published).configuration.values.get("named"))
    return bool(option)


Write = Callable[[Path], dict[str, Any]]


def naming(runtime: Runtime, table: str, write: Write) -> Write:
    """`write` of the step of a command, which then adds the names of the runtime, if there are some, as `add_names`."""
    names = runtime.names
    if names is None:
        return write

    @wraps(write)  # whose module is that of the step
    def write_named(folder: Path) -> dict[str, Any]:
        facts = write(folder)

        def replace(path: Path) -> None:
            plain = path.rename(path.with_suffix(".plain"))
            _write_file(plain, path, table, names)
            plain.unlink()

        for _ in map_in_order(replace, tables.files(folder), cores()):
            pass
        return facts

    return write_named


def as_named(runtime: Runtime) -> dict[str, Any]:
    """What `naming` adds to the parameters of a step."""
    return {"named": True} if runtime.names else {}


def _write_file(path: Path, target: Path, table: str, names: VertexNames) -> int:
    """Write a file of a table again with names, and check it, read back; return the number of its rows."""
    schema = pq.read_schema(path)
    described = tables.columns(table, schema=schema)
    ids = [column.name for column in described if column.unit.startswith("external id") and column.name in schema.names]
    ids = [column for column in ids if (table, column) != ("vertices", "vertex")]  # which has column `id` next to it
    with pq.ParquetFile(path, page_checksum_verification=True) as file:
        schema = with_names(file.schema_arrow.empty_table(), ids, names).schema
        batches = (batch for rows in _groups(file) for batch in _batches(with_names(rows, ids, names)))
        rows = tables.write_rows(target, schema, tables.keys(table, schema.names), batches)
    _check(path, target, ids, names)
    return rows


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
