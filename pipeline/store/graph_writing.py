"""How the stored graph is written: the vertices, slice by slice, and one direction of a shard at a time."""

from functools import partial
from pathlib import Path

import numpy as np
import pyarrow as pa

from kernels.cpu.parallel import differences, elementwise
from kernels.distributed.communicator import Communicator
from kernels.graph import ID, OFFSET, Array, Csr, index_dtype
from kernels.layout.constants import WARP_DEGREE
from kernels.layout.laid_out import LaidOut
from kernels.records import dataclass
from pipeline.runtime.backend import fetch
from pipeline.store.arrays import GrowingFile
from pipeline.store.facts import ArrayLengths
from pipeline.store.graph import Save, save_rows, shard_path
from pipeline.store.vertices import ROWS_BY_ID, VERTICES, save_vertices

_BLOCK_DEGREE = 1024  # rows of this many arcs or more take a grid or a block of a GPU each


@dataclass(frozen=True)
class WrittenDirection:
    """What was written of one direction of a shard."""

    sizes: ArrayLengths  # with which it is opened
    groups: tuple[int, int, int]  # see `groups_of`
    weight: str | None  # type of its weights


def save_direction(folder: Path, number: int, direction: str, csr: Csr, save: Save) -> WrittenDirection:
    """Save one direction, `out` or `in`, of shard `number`."""
    weight = None if csr.weights is None else str(csr.weights.dtype)
    return WrittenDirection(save_rows(folder, number, direction, csr, save), groups_of(csr), weight)


class GrowingDirection:
    """One direction of a shard, which is written by ranges of its rows, so that memory never has all of it."""

    def __init__(self, folder: Path, number: int, direction: str, rows: int, arcs: int) -> None:
        self._shard, self._direction = shard_path(folder, number), direction
        self._shard.mkdir(exist_ok=True)
        self._offsets = GrowingFile(self._path("offsets"), np.dtype(OFFSET), rows + 1)
        self._offsets.append(np.zeros(1, OFFSET))
        self._columns: dict[str, GrowingFile] = {}
        self._arcs, self._written, self._groups = arcs, 0, np.zeros(3, np.int64)
        self._weight: str | None = None

    def add(self, rows: Csr) -> None:
        """Write the next rows."""
        for name, array in (("indices", rows.indices), ("weights", rows.weights)):
            if array is not None:
                if name not in self._columns:
                    self._columns[name] = GrowingFile(self._path(name), array.dtype, self._arcs)
                self._columns[name].append(array)
        self._offsets.append(rows.offsets[1:] + self._written)
        self._written += len(rows.indices)
        self._groups += groups_of(rows)
        self._weight = None if rows.weights is None else str(rows.weights.dtype)

    def _path(self, name: str) -> Path:
        return self._shard / f"{self._direction}-{name}.npy"

    def close(self) -> WrittenDirection:
        """All rows have been written."""
        for file in (self._offsets, *self._columns.values()):
            file.close()
        block, wide, narrow = self._groups.tolist()
        return WrittenDirection(ArrayLengths(arcs=self._arcs), (block, wide, narrow), self._weight)


def groups_of(csr: Csr) -> tuple[int, int, int]:
    """The numbers of rows from 1024 arcs, from 32, and below."""
    degrees = differences(csr.offsets)
    block, wide = (
        int(np.count_nonzero(elementwise(partial(np.less_equal, degree), degrees, dtype=np.bool_)))
        for degree in (_BLOCK_DEGREE, WARP_DEGREE)
    )
    return block, wide - block, len(degrees) - wide


def write_vertices(folder: Path, part: LaidOut, communicator: Communicator) -> None:
    """Write the vertices' files, each rank its own rows and its slice of the rows by id. A collective."""
    vertices, rows = part.num_vertices, fetch(part.rows_by_id)
    degrees = [fetch(part.degrees(name)) for name in part.directions]
    columns = [fetch(part.ids), degrees[0], degrees[-1]]
    if communicator.size == 1:
        save_vertices(folder, columns[0], rows, *columns[1:])
        return
    if communicator.rank == 0:  # zeros that are only read take no memory
        zeros = np.zeros(vertices, ID)
        save_vertices(folder, zeros, np.zeros(vertices, index_dtype(vertices)), zeros, zeros)
    communicator.sum(0)  # the files have to exist before any rank writes into them
    path, first_row = folder / VERTICES, int(part.bounds[part.parts.start])
    with pa.memory_map(str(path)) as file:
        content = file.read_buffer()
        stored = pa.ipc.open_file(content).get_batch(0).columns
        begins = [column.buffers()[1].address - content.address for column in stored]
    for begin, values in zip(begins, columns, strict=True):
        _overwrite(path, begin + first_row * ID.itemsize, values)
    path = folder / ROWS_BY_ID
    _overwrite(path, path.stat().st_size - (vertices - part.first_position) * rows.itemsize, rows)


def _overwrite(path: Path, begin: int, values: Array) -> None:
    if len(values):  # a column of no values has no address
        with path.open("r+b") as file:
            file.seek(begin)
            file.write(np.ascontiguousarray(values).data)
