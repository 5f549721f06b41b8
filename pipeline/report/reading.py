"""Arrays and rows from the folders of steps, in external ids; vertices ascend."""

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from kernels.cpu.parallel import elementwise, over_items
from kernels.graph import Array, index_dtype
from pipeline.store.facts import GraphFacts, facts_of_answer
from pipeline.store.graph import open_shard, shard_rows
from pipeline.store.manifest import Folder
from pipeline.store.vertices import ids_of, open_vertices
from pipeline.tables import files as tables
from pipeline.tables.points import sorted_coordinates
from pipeline.tables.readable import readable

BLOCK = 1 << 20  # arcs that are drawn at a time, by one thread
MOST_MADE = 400  # vertices for whose map coordinates are made; `pipeline.report.spread`, which makes them, takes as many


class VertexColumns:
    """The vertices of a graph, in the order of their ids.

    Attributes:
        count: Number of vertices.
        out_degree, in_degree: int32 [V], or int64 from 2^31 arcs.
    """

    def __init__(self, graph: Folder) -> None:
        self._stored, self._rows_by_id, *degrees = open_vertices(graph)
        facts = GraphFacts.of(graph)
        kind = index_dtype(facts.arcs + 1)
        by_id = [elementwise(of.take, self._rows_by_id, dtype=kind) for of in degrees[: 1 if facts.symmetric else 2]]
        self.count, self.out_degree, self.in_degree = len(self._rows_by_id), by_id[0], by_id[-1]

    @cached_property
    def ids(self) -> Array:
        """Ids, int64 [V], ascending. Most reports need `ids_at` only."""
        return elementwise(self._stored.take, self._rows_by_id, dtype=self._stored.dtype)

    def ids_at(self, positions: Array) -> Array:
        """The ids [n] at some positions."""
        ids: Array = self._stored[self._rows_by_id[positions]]
        return ids

    def positions(self, vertices: Array) -> Array:
        """Positions [n] of vertices of the graph among its ids."""
        if self.count:
            first, last = self.ids_at(np.array([0, -1])).tolist()
            if last - first == self.count - 1:
                positions: Array = vertices - first
                return positions
        return np.searchsorted(self.ids, vertices)


@dataclass(frozen=True)
class Coordinates:
    """Coordinates of vertices, ascending by external id; a vertex may have none."""

    ids: Array  # int64 [P]
    # x, y: float64 [P]: degrees of longitude and latitude, or the unit of the source's plane.
    x: Array
    y: Array
    made: bool = False  # for the maps only: they have no meaning

    def head(self, rows: int) -> list[tuple[int, float, float]]:
        """The first vertices with their coordinates."""
        return [*zip(*(column[:rows].tolist() for column in (self.ids, self.x, self.y)), strict=True)]

    def texts(self, vertex: int) -> list[str]:
        """The coordinates of a vertex, empty where it has none."""
        at = int(np.searchsorted(self.ids, vertex))
        known = at < len(self.ids) and self.ids[at] == vertex
        return [f"{axis[at]:.6g}" if known else "" for axis in (self.x, self.y)]


def arcs(graph: Folder) -> Iterator[tuple[Array, Array]]:
    """Tails and heads of the arcs of the stored graph, block by block; of an undirected graph each edge once."""
    ids, directed = ids_of(graph)[0], GraphFacts.of(graph).directed
    for number in range(len(shard_rows(graph))):
        shard = open_shard(graph, number)
        offsets, indices = shard.out.offsets, shard.out.indices
        begins = np.searchsorted(offsets[1:], np.arange(0, len(indices), BLOCK), side="right")  # the rows of every BLOCK-th arc
        for first, stop in pairwise([*np.unique(begins), len(shard.rows)]):
            rows = shard.rows.start + first + np.repeat(np.arange(stop - first), np.diff(offsets[first : stop + 1]))
            heads = indices[offsets[first] : offsets[stop]]
            once = slice(None) if directed else rows <= heads
            yield ids[rows[once]], ids[heads[once]]


def coordinates(edges: Folder) -> Coordinates | None:
    """Coordinates, or None if the graph has none."""
    table = sorted_coordinates(edges)
    return None if table is None else Coordinates(*(table[name].to_numpy() for name in ("vertex", "x", "y")))


def made_coordinates(graph: Folder, vertices: VertexColumns) -> Coordinates | None:
    """Coordinates on a plane for the maps of a graph that has none; None if it has no vertex, or too many to be drawn so.

    `pipeline.report.spread` needs SciPy only: for a few hundred vertices, igraph or Graphviz would be a dependency too many.
    """
    if not 0 < vertices.count <= MOST_MADE:
        return None
    ids = vertices.ids
    from pipeline.report.spread import spread  # with SciPy's graphs, which take long to import

    blocks = [(ids[:0], ids[:0]), *arcs(graph)]
    tails, heads = (np.searchsorted(ids, np.concatenate(ends)) for ends in zip(*blocks, strict=True))
    x, y = spread(len(ids), tails, heads).T
    return Coordinates(ids, x, -y, made=True)  # the largest component, which is the first, is at the top


def distances(answer: Folder, num_vertices: int) -> Iterator[pa.ChunkedArray]:
    """The `distance` column [V] of each source of a table of paths; null where unreached. Integers have 32 bits if all fit."""
    files = tables.files(answer.path)

    def read(place: tuple[int, int]) -> pa.ChunkedArray:
        file, group = place
        column = tables.read_group(files[file], group, ["distance"])["distance"]
        fits = pa.types.is_integer(column.type) and (pc.max(column).as_py() or 0) < 2**31
        return column.cast(pa.int32()) if fits else column

    for number in range(facts_of_answer(answer).num_answers):
        groups = [tables.position_of(number, num_vertices, group) for group in range(tables.groups_of(num_vertices))]
        parts = over_items(groups, read, parallel=len(groups) > 1)
        widest = max((part.type for part in parts), key=lambda kind: kind.bit_width)
        yield pa.chunked_array([chunk for part in parts for chunk in part.cast(widest).chunks], widest)


def head(path: Path, rows: int) -> list[list[Any]]:
    """The first rows of a Parquet file, with None for null."""
    first = next(pq.ParquetFile(path).iter_batches(rows), None)
    return [[*row.values()] for row in readable(first).to_pylist()] if first else []
