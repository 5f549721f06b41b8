"""How the stored graph is written: the vertices, slice by slice, and one direction of a shard at a time."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pyarrow as pa

from kernels.distributed.communicator import Communicator
from kernels.gpu.loader import to_host
from kernels.graph import ID, Array, Csr, index_dtype
from kernels.layout.vect_csr import VectCsr, extend
from pipeline.store.graph import ROWS_BY_ID, VERTICES, save_rows, save_vertices


@dataclass(frozen=True)
class VertexSlice:
    """A rank's part of the vertices' files; all arrays are NumPy's.

    Attributes
    ----------
    num_vertices : int
        Of the graph.
    first_row : int
        The own rows begin here.
    ids, out_degrees, in_degrees : int64 [n]
        Of the own rows.
    first_position : int
        `rows_by_id` begins at this position.
    rows_by_id : index width [k]
        Rows in ascending order of their external ids.
    """

    num_vertices: int
    first_row: int
    ids: Array
    out_degrees: Array
    in_degrees: Array
    first_position: int
    rows_by_id: Array


@dataclass(frozen=True)
class Direction:
    """What was written of one direction of a shard.

    Attributes
    ----------
    sizes : dict
        `arcs`, `segments`, `slots`, with which it is opened.
    groups : tuple of int
        Rows from 1024 arcs, from 32, and below.
    lane_arcs : int
        Arcs in the vector extension.
    weight : str or None
        Type of its weights.
    """

    sizes: dict[str, int]
    groups: tuple[int, int, int]
    lane_arcs: int
    weight: str | None


def save_direction(folder: Path, number: int, direction: str, csr: Csr, first_row: int, num_vertices: int) -> Direction:
    """Write one direction, `out` or `in`, of shard `number`, whose rows begin at `first_row`, with its vector extension."""
    extended = _to_host(extend(csr, first_row, num_vertices))
    extended.validate(num_vertices)
    sizes = save_rows(folder, number, direction, extended)
    weight = None if csr.weights is None else str(csr.weights.dtype)
    return Direction(sizes, extended.groups, extended.lane_arcs, weight)


def write_vertices(folder: Path, part: VertexSlice, communicator: Communicator) -> None:
    """Write the vertices' files, each rank its slice. A collective."""
    vertices = part.num_vertices
    if communicator.size == 1:
        save_vertices(folder, part.ids, part.rows_by_id, part.out_degrees, part.in_degrees)
        return
    if communicator.rank == 0:  # zeros that are only read take no memory
        zeros = np.zeros(vertices, ID)
        save_vertices(folder, zeros, np.zeros(vertices, index_dtype(vertices)), zeros, zeros)
    communicator.sum(0)  # the files have to exist before any rank writes into them
    path = folder / VERTICES
    with pa.memory_map(str(path)) as file:
        content = file.read_buffer()
        columns = pa.ipc.open_file(content).get_batch(0).columns
        begins = [column.buffers()[1].address - content.address for column in columns]
    for begin, values in zip(begins, (part.ids, part.out_degrees, part.in_degrees), strict=True):
        _overwrite(path, begin + part.first_row * ID.itemsize, values)
    path, rows = folder / ROWS_BY_ID, part.rows_by_id
    _overwrite(path, path.stat().st_size - (vertices - part.first_position) * rows.itemsize, rows)


def _overwrite(path: Path, begin: int, values: Array) -> None:
    if len(values):  # a column of no values has no address
        with path.open("r+b") as file:
            file.seek(begin)
            file.write(np.ascontiguousarray(values).data)


def _to_host(rows: VectCsr) -> VectCsr:
    csr = Csr(*(to_host(array) for array in (rows.csr.offsets, rows.csr.indices, rows.csr.weights)))
    return VectCsr(
        csr, rows.first_row, *(to_host(array) for array in (rows.segments, rows.segment_indices, rows.segment_weights))
    )
