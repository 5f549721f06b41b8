"""The vertices of a stored graph on the disk: `vertices.arrow` and `rows_by_id.npy`.

Both are opened as read-only memory maps, without a copy, unless the graph is a base and changes.
"""

import logging
from collections.abc import Callable
from functools import cached_property
from pathlib import Path

import numpy as np
import pyarrow as pa

from kernels.arrays import frozen
from kernels.graph import Array, index_dtype
from pipeline.errors import BadInput, Damaged
from pipeline.store.arrays import ArrayFile, load_array, save_array
from pipeline.store.deltas import content_of, delta_of
from pipeline.store.facts import GraphFacts
from pipeline.store.manifest import Folder

log = logging.getLogger(__name__)
VERTICES = "vertices.arrow"
ROWS_BY_ID = "rows_by_id.npy"
_SCHEMA = pa.schema([pa.field(name, pa.int64(), nullable=False) for name in ("vertex", "out_degree", "in_degree")])


def save_vertices(folder: Path, ids: Array, rows_by_id: Array, out_degrees: Array, in_degrees: Array) -> None:
    """Write the vertices in the order of their rows, int64 [V] each, and the rows in the order of their ids."""
    _save_columns(folder, ids, out_degrees, in_degrees)
    save_array(folder / ROWS_BY_ID, rows_by_id)


def _save_columns(folder: Path, *columns: Array) -> None:
    batch = pa.RecordBatch.from_arrays([pa.array(column) for column in columns], schema=_SCHEMA)
    with pa.OSFile(str(folder / VERTICES), "wb") as file, pa.ipc.new_file(file, _SCHEMA) as writer:
        writer.write_batch(batch)


def renumber_vertices(folder: Path, numbers: Callable[[Array], Array]) -> None:
    """Write the file of vertices again, which may be a link, with other ids in the same order."""
    batch = pa.ipc.open_file(pa.memory_map(str(folder / VERTICES))).get_batch(0)
    ids, out_degrees, in_degrees = map(np.from_dlpack, batch.columns)
    (folder / VERTICES).unlink()
    _save_columns(folder, numbers(ids), out_degrees, in_degrees)


def open_vertices(folder: Folder) -> tuple[Array, Array, Array, Array]:
    """Open ids, rows by id, out-degrees and in-degrees by memory map. Raises Damaged as `open_graph`.

    Those of a base and changes are computed; those of the last such graph stay in memory, because many steps open them.
    """
    vertices = _opened(folder)
    return *vertices.ids, *vertices.degrees


class _Vertices:
    """The vertices of a stored graph. Raises Damaged as `open_graph`."""

    def __init__(self, folder: Folder) -> None:
        self._delta, facts = delta_of(folder), GraphFacts.of(folder)
        path, num_vertices = folder.path / VERTICES, facts.delta.vertices if facts.delta else facts.vertices
        try:
            batch = pa.ipc.open_file(pa.memory_map(str(path))).get_batch(0)
            if batch.schema != _SCHEMA or batch.num_rows != num_vertices:
                raise Damaged(f"{path}: {batch.num_rows} rows of {batch.schema.names}, the manifest says {num_vertices}")
            self._ids, *self._degrees = map(np.from_dlpack, batch.columns)  # `to_numpy` would import pandas
        except (OSError, pa.ArrowInvalid) as error:
            raise Damaged(f"{path}: {error}") from None
        self._rows_by_id = load_array(folder.path / ROWS_BY_ID, index_dtype(num_vertices), num_vertices)

    @cached_property
    def ids(self) -> tuple[Array, Array]:
        """Ids, and rows by id."""
        base = self._ids, self._rows_by_id
        ids, rows_by_id = self._delta.ids(*base) if self._delta else base
        return frozen(ids), frozen(rows_by_id)

    @cached_property
    def degrees(self) -> tuple[Array, Array]:
        """Out-degrees and in-degrees."""
        out_degrees, in_degrees = self._delta.degrees(*self._degrees) if self._delta else self._degrees
        return frozen(out_degrees), frozen(in_degrees)


def _opened(folder: Folder) -> _Vertices:
    if not (content := content_of(folder)):
        return _Vertices(folder)
    vertices = _computed.get(content) or _Vertices(folder)
    _computed.clear()
    _computed[content] = vertices
    return vertices


_computed: dict[str, _Vertices] = {}


def ids_of(folder: Folder) -> tuple[Array, Array]:
    """The first two of `open_vertices`; degrees are not computed."""
    return _opened(folder).ids


def rows_by_id_in_blocks(folder: Folder) -> ArrayFile | Array:
    """The rows in the order of their ids, to be read slice by slice. Raises Damaged as `open_graph`."""
    if GraphFacts.of(folder).delta:
        return open_vertices(folder)[1]
    return ArrayFile(folder.path / ROWS_BY_ID, index_dtype(GraphFacts.of(folder).vertices), GraphFacts.of(folder).vertices)


def compare_declared(file: str, declared: int | None, present: int) -> None:
    """Raise BadInput if a file declares fewer vertices than its edges have; say how many have no edge, and so no id."""
    if declared is not None and declared < present:
        raise BadInput(file, f"declares {declared} nodes, but its edges have {present}")
    if declared is not None and declared > present:
        more = f"the others, {declared - present}, have no edge and so no id, and are not in the graph"
        log.warning("%s: declares %s nodes, and its edges have %s: %s", file, declared, present, more)
