"""The proof of table `arcs`: its files, read back, have the in-arcs of the stored graph, reversed, each once and in order.

The table is written from the out-arcs; the proof of the layout has compared both with the edges of the source. NumPy alone
computes the fingerprints: a run on a GPU would load Numba for nothing else.
"""

import time
from collections.abc import Iterable, Sequence
from functools import partial
from itertools import pairwise
from pathlib import Path
from typing import NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from kernels.cpu.parallel import cores
from kernels.graph import Array
from pipeline.errors import ProofFailed
from pipeline.runtime.threads import map_in_order
from pipeline.steps.derived.streets_proof import RULE, StreetsProof
from pipeline.store.arrays import dtype_of
from pipeline.store.facts import GraphFacts
from pipeline.store.graph import OpenedShard
from pipeline.store.manifest import Folder
from pipeline.store.names import open_names
from pipeline.store.vertices import open_vertices
from pipeline.tables import files as tables
from pipeline.tables.lines import ends_of
from pipeline.tables.names import require_names
from pipeline.tables.points import GEOMETRY, sorted_coordinates
from pipeline.tables.row_lookup import positions_in
from pipeline.tables.streets import STREETS, read_streets, way_of

_ORDER = "its rows ascend by src and dst, each pair once, or parallel arcs by weight and numbered from 0"
_ARCS = "its rows are the in-arcs of the stored graph, reversed: as many, with the same fingerprint of 128 bits"
_LINES = "each line leads from the coordinates of src to those of dst, and is missing where these are"
_NAMES = "each name is the id of its vertex in the source"
_MIX_1, _MIX_2 = np.uint64(0xBF58476D1CE4E5B9), np.uint64(0x94D049BB133111EB)  # of SplitMix64 (Steele, Lea and Flood, 2014)
_SHIFTS = np.array([30, 27, 31], np.uint64)


class FileRead(NamedTuple):
    """What was read back of a file: its rows, their fingerprint, its first and its last row, and the seconds this took."""

    rows: int
    sums: Array
    ends: pa.Table
    seconds: float


class ArcsProof:
    """The check of the files of a table against the stored graph."""

    def __init__(self, edges: Folder, graph: Folder, shards: Sequence[OpenedShard], schema: pa.Schema) -> None:
        """`schema` is what each file must have."""
        self._arcs, self._shards, self._schema = GraphFacts.of(graph).arcs, shards, schema
        self._ids = open_vertices(graph)[0]
        self._names, self._coordinates = open_names(edges), sorted_coordinates(edges)
        self._weight = dtype_of(schema.field("weight").type)
        streets = read_streets(edges) if STREETS in edges.manifest.files else None
        self._streets = None if streets is None else StreetsProof(streets, GraphFacts.of(graph).weight is not None)
        self._keys = np.random.default_rng().integers(1 << 64, size=(2, 3), dtype=np.uint64)

    @property
    def rules(self) -> list[str]:
        """The rules that are checked."""
        return [
            _ORDER,
            _ARCS,
            *([] if self._coordinates is None else [_LINES]),
            *([_NAMES] if self._names else []),
            *([RULE] if self._streets else []),
        ]

    def read(self, path: Path) -> FileRead:
        """Read a file, and check its rows. Raises ProofFailed."""
        started = time.perf_counter()
        with pq.ParquetFile(path, page_checksum_verification=True) as file:
            if not file.schema_arrow.equals(self._schema):
                raise ProofFailed(
                    f"arcs: {path.name}: its columns are {file.schema_arrow.names}, not {self._schema.names} of their types"
                )
            rows = file.read(use_threads=False).combine_chunks()
        if not _ascend(rows):
            raise ProofFailed(f"arcs: {path.name}: its rows do not ascend by src and dst")
        if self._streets:
            self._streets.require(path.name, rows)
            self._require_lines(path.name, rows.filter(rows[way_of(rows.column_names)].is_null()))
        else:
            self._require_lines(path.name, rows)
        if self._names:
            require_names(f"arcs: {path.name}", rows, ["src", "dst"], self._names)
        sums = self._sums(*(rows[name].to_numpy() for name in ("src", "dst", "weight")))
        return FileRead(len(rows), sums, rows.take([0, len(rows) - 1]) if len(rows) else rows, time.perf_counter() - started)

    def require_all(self, files: Sequence[FileRead]) -> None:
        """Raise ProofFailed unless the files that were read have all arcs, each once and in order."""
        ends = [file.ends for file in files]
        borders = (pa.concat_tables([before.slice(1), after.slice(0, 1)]) for before, after in pairwise(ends))
        begins = "parallel" not in self._schema.names or not len(ends[0]) or ends[0]["parallel"][0].as_py() == 0
        if not (begins and all(map(_ascend, borders))):
            raise ProofFailed("arcs: the rows of a file do not follow those of the file before")
        rows, stored = sum(file.rows for file in files), self._stored()
        if rows != self._arcs or (_total(file.sums for file in files) != stored).any():
            raise ProofFailed(f"arcs: its {rows:,} rows are not the {self._arcs:,} arcs of the stored graph")

    def _require_lines(self, file: str, rows: pa.Table) -> None:
        if self._coordinates is None:
            return
        due, placed = np.empty((len(rows), 4)), np.ones(len(rows), np.bool_)
        for end, column in enumerate(("src", "dst")):
            at, known = positions_in(self._coordinates["vertex"].to_numpy(), rows[column].to_numpy())
            placed &= known
            for axis, name in enumerate("xy"):
                due[known, 2 * end + axis] = self._coordinates[name].to_numpy()[at[known]]
        ends, drawn = ends_of(rows[GEOMETRY].combine_chunks())
        ends, due = (np.where(of == -180, 180, of)[placed] for of in (ends, due))  # both longitudes are the same meridian
        if not (np.array_equal(drawn, placed) and np.array_equal(ends, due)):
            raise ProofFailed(f"arcs: {file}: a line does not lead from the coordinates of src to those of dst")

    def _stored(self) -> Array:
        """The fingerprint of the stored in-arcs, reversed."""
        return _total(
            sums for shard in self._shards for sums in map_in_order(partial(self._in_arcs, shard), _blocks(shard), cores())
        )

    def _in_arcs(self, shard: OpenedShard, first: int) -> Array:
        """The fingerprint of as many in-arcs of a shard as a row group has, from number `first` on."""
        into, last = shard.into, min(first + tables.ROWS_PER_GROUP, len(shard.into.indices))
        begin = int(np.searchsorted(into.offsets, first, side="right")) - 1
        end = int(np.searchsorted(into.offsets, last, side="left"))
        lengths = np.diff(np.clip(into.offsets[begin : end + 1], first, last))
        heads = np.repeat(self._ids[shard.rows.start + begin : shard.rows.start + end], lengths)
        weights = np.ones(last - first, self._weight)
        if into.weights is not None:
            weights[:] = into.weights[first:last]
        return self._sums(self._ids[into.indices[first:last]], heads, weights)

    def _sums(self, src: Array, dst: Array, weights: Array) -> Array:
        """A fingerprint of arcs that does not depend on their order, uint64 [2]: sums of their mixed words."""
        words = [src.view(np.uint64), dst.view(np.uint64), weights.view(f"u{weights.itemsize}").astype(np.uint64)]
        return np.array([self._sum(words, keys) for keys in self._keys])

    @staticmethod
    def _sum(words: Sequence[Array], keys: Array) -> np.uint64:
        mixed = np.zeros(len(words[0]), np.uint64)
        for word, key in zip(words, keys, strict=True):
            mixed += word
            mixed += key
            mixed = _mixed(mixed)
        total: np.uint64 = mixed.sum(dtype=np.uint64)
        return total


def _blocks(shard: OpenedShard) -> range:
    return range(0, len(shard.into.indices), tables.ROWS_PER_GROUP)


def _mixed(words: Array) -> Array:
    words = (words ^ (words >> _SHIFTS[0])) * _MIX_1
    words = (words ^ (words >> _SHIFTS[1])) * _MIX_2
    mixed: Array = words ^ (words >> _SHIFTS[2])
    return mixed


def _total(sums: Iterable[Array]) -> Array:
    total = np.zeros(2, np.uint64)
    for one in sums:
        total += one
    return total


def _ascend(rows: pa.Table) -> bool:
    """Whether rows ascend by `src` and `dst`; those of a pair, where they are numbered, by their number and weight."""
    src, dst = (rows[name].to_numpy() for name in ("src", "dst"))
    same = src[1:] == src[:-1]
    later = (src[1:] > src[:-1]) | (same & (dst[1:] > dst[:-1]))
    if "parallel" not in rows.schema.names:
        return bool(later.all())
    number, weight = (rows[name].to_numpy() for name in ("parallel", "weight"))
    parallel = same & (dst[1:] == dst[:-1]) & (weight[1:] >= weight[:-1]) & (number[1:] == number[:-1] + 1)
    return bool((parallel | (later & (number[1:] == 0))).all())
