"""What is known of the arcs of a road network: files that the step `edges` writes beside its edges, and how arcs find them."""

from collections.abc import Container, Iterable
from functools import cached_property
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from kernels.graph import Array
from kernels.records import dataclass
from pipeline.errors import Damaged
from pipeline.store.digests import digest_of_file
from pipeline.store.manifest import Folder
from pipeline.tables.lines import polylines

STREETS = "streets.parquet"
# A row is a chain between two crossings. `forward` and `backward`: weights from `src` to `dst` and back, null where it is closed;
# `length`: millimetres; `points`: longitudes and latitudes by turns, from `src` to `dst`, in the seventh decimal of a degree.
SCHEMA = pa.schema([
    pa.field("src", pa.int64(), False), pa.field("dst", pa.int64(), False), pa.field("forward", pa.int64()),
    pa.field("backward", pa.int64()), pa.field("way", pa.int64(), False), pa.field("class", pa.string(), False),
    pa.field("name", pa.string()), pa.field("length", pa.int64(), False), pa.field("points", pa.list_(pa.int32()), False),
])  # fmt: skip
RESTRICTIONS = "restrictions.parquet"
# A row is a movement over ways, which arrives at the first of `nodes` on the first way, goes on to each next one on the next way,
# and leaves the last one on the last way. It is forbidden or, with `only`, the only one that may follow all ways but the last.
RESTRICTION_SCHEMA = pa.schema([
    pa.field("relation", pa.int64(), False), pa.field("only", pa.bool_(), False),
    pa.field("ways", pa.list_(pa.int64()), False), pa.field("nodes", pa.list_(pa.int64()), False),
])  # fmt: skip
SIGNALS = "signals.parquet"
# A row is a traffic signal on a street, by its number, for who travels along or against it; `offset`: millimetres from `src`.
SIGNAL_SCHEMA = pa.schema([
    pa.field("street", pa.int64(), False), pa.field("against", pa.bool_(), False), pa.field("offset", pa.int64(), False),
])  # fmt: skip
PIECES = "pieces.parquet"
# A row is a piece of a street that places divide, by its number in STREETS. Where it begins or ends as the whole street does, the
# columns have the next point of the whole street, as in `points`; they are null where it begins or ends at a place.
PIECE_SCHEMA = pa.schema([
    pa.field("street", pa.int64(), False), pa.field("src_lon", pa.int32()), pa.field("src_lat", pa.int32()),
    pa.field("dst_lon", pa.int32()), pa.field("dst_lat", pa.int32()),
])  # fmt: skip
WAYS = ("way", "segment")  # the column that says of what a street is a part: of OpenStreetMap, and of Overture
PART = "part"  # of Overture only: the number of a street, which its pieces keep, and which restrictions have as a way
COLUMNS = (*WAYS, "class", "name", "length")  # of table `arcs` that only a road network has, with one of WAYS
UNITS = 10_000_000  # of coordinates in a degree
_PER_METRE = 1000


def write_streets(path: Path, schema: pa.Schema, tables: Iterable[pa.Table]) -> None:
    """Write streets, a row group for each table. Points are split into bytes, of which the higher ones hardly vary."""
    integers = {field.name: "DELTA_BINARY_PACKED" for field in schema if pa.types.is_integer(field.type)}
    with pq.ParquetWriter(
        path, schema, compression="zstd", write_page_checksum=True, use_dictionary=["class"],
        column_encoding=integers | {"points.list.element": "BYTE_STREAM_SPLIT"},
    ) as writer:  # fmt: skip
        for table in tables:
            writer.write_table(table)


def schema_of(way: str) -> pa.Schema:
    """The schema of streets whose ways are in this column of WAYS; segments have strings as ids, and PART."""
    if way == WAYS[0]:
        return SCHEMA
    place = SCHEMA.get_field_index(WAYS[0])
    return SCHEMA.set(place, pa.field(way, pa.string(), nullable=False)).append(pa.field(PART, pa.int64(), nullable=False))


def way_of(names: Container[str]) -> str:
    """Which of WAYS is among some columns."""
    return next(way for way in WAYS if way in names)


def restricted_ways(streets: pa.Table) -> Array:
    """What restrictions call the way of each street, int64 [C]."""
    ways: Array = streets[WAYS[0] if WAYS[0] in streets.column_names else PART].to_numpy()
    return ways


def read_streets(edges: Folder) -> pa.Table:
    """The streets of an edge list, whose manifest lists STREETS. Raises Damaged if the file differs from the manifest."""
    path = edges.path / STREETS
    if path.is_symlink() or not path.is_file():
        raise Damaged(f"{path}: {'is not a file' if path.is_symlink() or path.exists() else 'missing'}")
    if digest_of_file(path) != edges.manifest.files[STREETS].blake3:
        raise Damaged(f"{path}: its BLAKE3 digest differs from its manifest's")
    with pq.ParquetFile(path, page_checksum_verification=True) as file:
        return file.read().combine_chunks()


@dataclass(frozen=True)
class Streets:
    """The streets of a graph, by their arcs; `weighted` is whether the graph has their weights."""

    table: pa.Table
    weighted: bool

    @cached_property
    def _arcs(self) -> tuple[Array, Array, Array, Array, Array]:
        """The ids of vertices; of arcs, by source, target and weight: the code of their ends, weight, street, and sense."""
        weights = [self.table[name].fill_null(-1).to_numpy() for name in ("forward", "backward")]
        open_ = [np.flatnonzero(weight >= 0) for weight in weights]
        street = np.concatenate(open_)
        against = np.repeat(np.array([False, True]), [len(rows) for rows in open_])
        weight = np.concatenate([one[rows] for one, rows in zip(weights, open_, strict=True)])
        src, dst = (self.table[name].to_numpy()[street] for name in ("src", "dst"))
        ids = np.unique(np.concatenate([src, dst]))
        ends = np.searchsorted(ids, np.where(against, dst, src)) * len(ids) + np.searchsorted(ids, np.where(against, src, dst))
        order = np.lexsort((against, street, weight, ends))
        return ids, ends[order], weight[order], street[order], against[order]

    def find(self, src: Array, dst: Array, weight: Array, number: Array | None) -> tuple[Array, Array]:
        """The streets of arcs, int64 [n], or -1; and whether each arc leads against its street, bool [n].

        Args:
            src, dst: int64 [n], external ids.
            weight: Of the arcs; it is ignored if the graph does not have those of its streets.
            number: Of each arc among all parallel ones, if the graph has these.
        """
        ids, ends, weights, street, against = self._arcs
        if not len(ends):
            return np.full(len(src), -1), np.zeros(len(src), np.bool_)
        places = [np.minimum(np.searchsorted(ids, end), len(ids) - 1) for end in (src, dst)]
        known = (ids[places[0]] == src) & (ids[places[1]] == dst)
        code = places[0] * len(ids) + places[1]
        low, high = (np.searchsorted(ends, code, side=side) for side in ("left", "right"))
        begin, end = low, high
        if self.weighted:
            while (wide := low < high).any():  # the first that is as heavy
                middle = (low + high) // 2
                lighter = wide & (weights[np.minimum(middle, len(ends) - 1)] < weight)
                low, high = np.where(lighter, middle + 1, low), np.where(wide & ~lighter, middle, high)
        place = low if number is None else begin + number
        place, known = np.minimum(place, len(ends) - 1), known & (place < end)
        if self.weighted:
            known &= weights[place] == weight
        return np.where(known, street[place], -1), known & against[place]

    def columns(self, street: Array) -> dict[str, pa.Array]:
        """The columns COLUMNS of arcs on these streets, null where there is none."""
        names = [name for name in COLUMNS if name in self.table.column_names]
        taken = self.table.select(names).take(pa.array(street, mask=street < 0)).combine_chunks()
        columns = {name: taken[name].chunk(0) if taken[name].num_chunks else pa.array([], taken[name].type) for name in names}
        length = columns["length"]
        columns["length"] = pa.array(
            length.fill_null(0).to_numpy() / _PER_METRE, mask=~length.is_valid().to_numpy(zero_copy_only=False)
        )
        return columns

    def lines(self, street: Array, against: Array) -> pa.Array:
        """The lines of arcs on these streets as WKB."""
        points = self.table["points"].combine_chunks()
        offsets = points.offsets.to_numpy().astype(np.int64) // 2
        units = points.values.to_numpy().reshape(-1, 2)
        counts = offsets[street + 1] - offsets[street]
        ends = np.cumsum(counts)
        step = np.arange(ends[-1] if len(ends) else 0) - np.repeat(ends - counts, counts)
        backward = np.repeat(against, counts)
        place = np.repeat(offsets[street], counts) + np.where(backward, np.repeat(counts, counts) - 1 - step, step)
        return polylines(units[place] / UNITS, counts)
