"""An edge list, read row group by row group on all cores: all of it, or the part of one rank.

Its rows are in the files of its folder, or in the Parquet file of the source, to which the folder then refers.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from kernels.arrays import frozen, is_cupy_array
from kernels.cpu.parallel import cores
from kernels.graph import ID, Array
from kernels.layout.rules import Edges
from kernels.spans import span
from pipeline.errors import Changed, Damaged
from pipeline.runtime.backend import Backend, wait_for
from pipeline.runtime.memory import leave_enough
from pipeline.runtime.threads import map_in_order
from pipeline.store.arrays import dtype_of
from pipeline.store.digests import Sums, Unwritten, digest_of_file
from pipeline.store.facts import EdgeFacts
from pipeline.store.manifest import Folder

FILES = "part-*.parquet"
LARGEST_GROUP = 2**22  # rows of a row group that is read as a whole, one on each core
_NARROW = np.dtype(np.int32)
Columns = tuple[Array, Array, Array | None]  # src, dst, weight


class EdgeArrays:
    """The columns of an edge list where a backend computes, filled by any number of threads."""

    def __init__(self, rows: int, types: Mapping[str, np.dtype[Any]], backend: Backend) -> None:
        self._columns, self._copy = _new_arrays(rows, types, backend)

    @property
    def on_gpu(self) -> bool:
        """Whether the columns are CuPy arrays."""
        return is_cupy_array(self._columns["src"])

    @property
    def usable(self) -> bool:
        """Whether the GPU that has the columns still works: an access beyond its memory ends all of this process's work on it."""
        try:
            wait_for("gpu" if self.on_gpu else "cpu")
        except RuntimeError:
            return False
        return True

    def put(self, first: int, rows: pa.Table | Mapping[str, Array], largest: Mapping[str, int]) -> bool:
        """Copy rows, the first of them to row `first`; -0.0 becomes 0.0. Returns whether all values fit, of `largest_of`.

        Rows that are arrays are where the columns are.
        """
        for name, column in self._columns.items():
            values = rows[name].to_numpy() if isinstance(rows, pa.Table) else rows[name]
            if values.dtype.kind == "f":
                values = values + 0
            elif largest[name] > np.iinfo(column.dtype).max:
                return False
            target = column[first : first + len(values)]
            if is_cupy_array(values):
                target[...] = values
            else:
                self._copy(values, target)
        return True

    def cast(self, types: Mapping[str, np.dtype[Any]]) -> None:
        """Give the columns these types, which their values fit."""
        for name, dtype in types.items():
            self._columns[name] = self._columns[name].astype(dtype, copy=False)

    def columns(self) -> Columns:
        """`src`, `dst` and `weight`; None without weights."""
        return self._columns["src"], self._columns["dst"], self._columns.get("weight")


class HeldEdges:
    """An edge list in the memory of a run, from the step that reads it from the source to the step that lays it out."""

    def __init__(self, backend: Backend = "cpu", keeps: bool = True, sums: Sums | None = None) -> None:
        """`keeps`: whether this process lays out the edges; otherwise only the state of the source and its sums are held."""
        self._backend: Backend = backend
        self._keeps, self._kept = keeps, dict[str, EdgeArrays]()
        self.sources: dict[str, Unwritten | None] = {}  # of the edge lists that this run has read, by digest
        self.sums = sums or Sums()

    def reserve(self, rows: int, weight: pa.DataType | None, largest: Mapping[str, int]) -> EdgeArrays | None:
        """Arrays for this number of rows, unless they would take too much of the free memory; `largest` as `column_types`."""
        types = column_types(weight, largest)
        fits = self._keeps and fit(rows, types, self._backend)
        return EdgeArrays(rows, types, self._backend) if fits else None

    def keep(self, edges: Folder, arrays: EdgeArrays) -> None:
        """Hold the columns of an edge list."""
        arrays.cast(types_of(EdgeFacts.of(edges)))
        self._kept = {edges.digest: arrays}

    def take(self, edges: Folder) -> Columns | None:
        """The columns of an edge list, as `read_edges` gives them, if they are held; afterwards nothing is held."""
        kept, self._kept = self._kept.get(edges.digest), {}
        return kept.columns() if kept else None


def as_edges(columns: Columns, backend: Backend) -> Edges:
    """Columns as the layout takes them: on the CPU the arrays are read-only."""
    src, dst, weights = columns
    if backend == "gpu":
        return Edges(src, dst, weights)
    return Edges(frozen(src), frozen(dst), None if weights is None else frozen(weights))


def fit(rows: int, types: Mapping[str, np.dtype[Any]], backend: Backend) -> bool:
    """Whether the columns leave enough free memory for their layout."""
    return leave_enough(bytes_of(rows, types), backend)


def bytes_of(rows: int, types: Mapping[str, np.dtype[Any]]) -> int:
    """Bytes of columns of these types."""
    return rows * sum(dtype.itemsize for dtype in types.values())


def largest_of(table: pa.Table) -> dict[str, int]:
    """The largest value of each column of integers; 0 without rows."""
    import pyarrow.compute as pc

    integers = [field.name for field in table.schema if pa.types.is_integer(field.type)]
    return {name: pc.max(table[name]).as_py() or 0 for name in integers}


def column_types(weight: pa.DataType | None, largest: Mapping[str, int]) -> dict[str, np.dtype[Any]]:
    """The types of the columns in memory: of integers int32 where all values fit, for ids those of both ends, otherwise int64.

    `largest` has the largest values of columns of integers, or an upper bound; a column without one is int64.
    """
    fits = {name for name, value in largest.items() if value <= np.iinfo(_NARROW).max}
    ids = _NARROW if {"src", "dst"} <= fits else ID
    if weight is None:
        return {"src": ids, "dst": ids}
    if pa.types.is_floating(weight):
        return {"src": ids, "dst": ids, "weight": dtype_of(weight)}
    return {"src": ids, "dst": ids, "weight": _NARROW if "weight" in fits else ID}


def types_of(facts: EdgeFacts) -> dict[str, np.dtype[Any]]:
    """The types of an edge list's columns in memory."""
    return column_types(None if facts.weight is None else pa.type_for_alias(facts.weight), facts.largest)


def read_edges(edges: Folder, backend: Backend = "cpu", rank: int = 0, size: int = 1) -> Columns:
    """Columns `src`, `dst` and `weight` of one of `size` parts of an edge list, whole row groups each.

    A file to which the edge list refers must be the one that was ingested: see `unchanged`.

    Returns:
        src, dst (int32 [E]): int64 where not all ids of all parts fit.
        weights ([E] or None): The type that they are stored in: integers are int32, or int64 where not all of all parts fit.

    Raises:
        Damaged: A file cannot be read, or the number of rows differs from the manifest's.
    """
    facts = EdgeFacts.of(edges)
    names = facts.refers_to.columns if facts.refers_to else None
    paths = [*facts.referred] or sorted(edges.path.glob(FILES))
    types = types_of(facts)
    try:
        files = {path: pq.read_metadata(path) for path in paths}
        edge_count = sum(metadata.num_rows for metadata in files.values())
        if edge_count != facts.edges:
            raise Damaged(f"{edges.path}: {edge_count} edges, the manifest says {facts.edges}")
        groups = _part(files, edge_count * rank // size, edge_count * (rank + 1) // size)
        arrays = EdgeArrays(groups[-1][-1] if groups else 0, types, backend)
        read = partial(_read, files, names or {name: name for name in types}, arrays)
        for _ in map_in_order(read, groups, cores()):
            pass
    except (OSError, pa.ArrowException, ValueError) as error:
        raise Damaged(f"{edges.path}: {error}") from None
    return arrays.columns()


def id_blocks(edges: Folder) -> Iterator[tuple[Array, Array]]:
    """`src` and `dst` of an edge list, row group by row group in its order, read on all cores."""
    for src, dst in column_blocks(edges, ("src", "dst")):
        yield src.cast(pa.int64()).to_numpy(), dst.cast(pa.int64()).to_numpy()


def column_blocks(edges: Folder, names: Sequence[str]) -> Iterator[list[pa.ChunkedArray]]:
    """Columns of an edge list, row group by row group in its order, read on all cores."""
    yield from map_in_order(partial(read_group, edges, names), groups_of(edges), cores())


def groups_of(edges: Folder) -> list[tuple[Path, int]]:
    """The row groups of an edge list in its order: their files and their numbers there."""
    paths = [*EdgeFacts.of(edges).referred] or sorted(edges.path.glob(FILES))
    return [(path, number) for path in paths for number in range(pq.read_metadata(path).num_row_groups)]


def read_group(edges: Folder, names: Sequence[str], group: tuple[Path, int]) -> list[pa.ChunkedArray]:
    """Columns of a row group of an edge list."""
    facts, (path, number) = EdgeFacts.of(edges), group
    stored = [facts.refers_to.columns[name] if facts.refers_to else name for name in names]
    with span("read edges", "read"), pq.ParquetFile(path, pre_buffer=False, page_checksum_verification=True) as file:
        table = file.read_row_group(number, stored, use_threads=False)
    return [table[name] for name in stored]


@contextmanager
def unchanged(edges: Folder, hashed: Unwritten | None = None) -> Iterator[None]:
    """Raise Changed unless the files that an edge list refers to, if any, are the ingested ones before and after the block.

    `hashed` says whether they have not been written since this run hashed them, and knows whether there are others by now.
    """
    files = EdgeFacts.of(edges).referred
    if not files:
        yield
        return
    unwritten = [hashed] if hashed else [Unwritten(path) for path in files]

    def require_same() -> None:
        for path, digest in files.items():
            try:
                same = digest_of_file(path) == digest
            except OSError as error:
                raise Changed(path, f"cannot be read after its edges were checked: {error.strerror}; run again") from None
            if not same:
                raise Changed(path, "changed after its edges were checked; run again")

    if not hashed:
        require_same()
    yield
    if not all(unwritten):
        require_same()
    if hashed is not None:
        hashed.require_listed()


Group = tuple[Path, int, int, int]  # a row group: its file, its number there, and where its rows begin and end in the part


def _part(files: dict[Path, Any], start: int, stop: int) -> list[Group]:
    """The row groups that begin within these rows."""
    groups: list[Group] = []
    first = begin = 0
    for path, metadata in files.items():
        for number in range(metadata.num_row_groups):
            rows = metadata.row_group(number).num_rows
            if start <= first < stop:
                groups.append((path, number, begin, begin + rows))
                begin += rows
            first += rows
    return groups


def _read(files: dict[Path, Any], names: Mapping[str, str], arrays: EdgeArrays, group: Group) -> None:
    path, number, begin, end = group
    opened = pq.ParquetFile(path, metadata=files[path], pre_buffer=False, page_checksum_verification=True)
    with span("read edges", "read"), opened as file:
        read = file.read_row_group(number, [*names.values()], use_threads=False)
    if len(read) != end - begin:
        raise ValueError(f"{path}: row group {number} has {len(read)} rows, its footer says {end - begin}")
    table = pa.table({name: read.column(of) for name, of in names.items()})
    if not arrays.put(begin, table, largest_of(table)):
        raise ValueError(f"{path}: row group {number} has a value that is larger than the manifest says")


def _new_arrays(
    rows: int, types: Mapping[str, np.dtype[Any]], backend: Backend
) -> tuple[dict[str, Array], Callable[[Array, Array], None]]:
    """New arrays where `backend` computes, and a function that copies rows into a slice of one."""
    if backend == "cpu":
        return {name: np.empty(rows, dtype) for name, dtype in types.items()}, _copy
    import cupy

    from kernels.distributed.gpu.memory import Staging

    there = {name: cupy.empty(rows, dtype) for name, dtype in types.items()}
    return there, Staging(cupy.cuda.Device()).copy


def _copy(values: Array, target: Array) -> None:
    np.copyto(target, values, "unsafe")
