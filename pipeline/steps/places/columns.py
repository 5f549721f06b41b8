"""Places in tables: a column of vertices is followed by the ids and the names of the places at them, a row for each place."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import cached_property
from hashlib import sha256
from typing import Any, Self

import numpy as np
import pyarrow as pa

from kernels.graph import Array, Graph
from kernels.trees import Trees
from pipeline.steps.products.sweeping import Sweeps
from pipeline.steps.products.tabulating import TreeTable
from pipeline.tables import files as tables
from pipeline.tables.definitions import PLACE, PLACE_NAME


@dataclass(frozen=True)
class PlaceColumns:
    """Places ascending by vertex, then by id: vertices int64 [n], ids int64 or string [n], and names string [n]."""

    vertices: Array
    ids: pa.Array
    names: pa.Array | None

    @classmethod
    def of(cls, vertices: Array, ids: pa.Array, names: pa.Array | None) -> Self:
        """Those of places in any order."""
        unsorted = pa.table({"vertex": vertices, "id": ids, "at": np.arange(len(vertices))})
        at = unsorted.sort_by([("vertex", "ascending"), ("id", "ascending")])["at"].combine_chunks()
        texts = [None if column is None else _short(column).take(at) for column in (ids, names)]
        return cls(vertices[at.to_numpy()], *texts)

    @cached_property
    def digest(self) -> str:
        """SHA-256 of all of them."""
        columns = {"vertex": pa.array(self.vertices), "id": self.ids} | ({} if self.names is None else {"name": self.names})
        return sha256(pa.RecordBatch.from_pydict(columns).serialize()).hexdigest()

    def span(self, vertices: Array) -> tuple[Array, Array]:
        """For each vertex the number of its first place, and how many it has, int64 [n] each."""
        first = np.searchsorted(self.vertices, vertices)
        return first, np.searchsorted(self.vertices, vertices, "right") - first

    def fields(self, column: str, nullable: bool = False) -> list[pa.Field]:
        """The fields of the columns that follow a column of vertices."""
        fields = [pa.field(f"{column}{PLACE}", self.ids.type, nullable)]
        return fields if self.names is None else [*fields, pa.field(f"{column}{PLACE_NAME}", pa.string())]

    def take(self, at: pa.Array) -> list[pa.Array]:
        """The values of these columns for places by their numbers, which may be null."""
        return [column.take(at) for column in (self.ids, self.names) if column is not None]


def _short(texts: pa.Array) -> pa.Array:
    """Texts as tables have them."""
    return texts.cast(pa.string()) if pa.types.is_large_string(texts.type) else texts


def with_fields(schema: pa.Schema, places: Mapping[str, PlaceColumns]) -> pa.Schema:
    """The schema of a table with columns of places after those of vertices."""
    fields = list[pa.Field]()
    for field in schema:
        fields += [field, *(places[field.name].fields(field.name, field.nullable) if field.name in places else ())]
    return pa.schema(fields, schema.metadata)


@dataclass(frozen=True)
class _AtPlaces:
    """A product with a row for each place instead of each vertex."""

    product: TreeTable
    places: Mapping[str, PlaceColumns]  # by columns of vertices
    keys: tuple[str, ...]  # columns by which the rows of the product are sorted

    @property
    def sweeps(self) -> Sweeps:
        return self.product.sweeps

    @cached_property
    def schema(self) -> pa.Schema:
        return with_fields(self.product.schema, self.places)

    def rows_of(self, graph: Graph, ids: Array, trees: Trees) -> Iterable[pa.RecordBatch]:
        for batch in self.product.rows_of(graph, ids, trees):
            yield self._expanded(batch)

    def _expanded(self, batch: pa.RecordBatch) -> pa.RecordBatch:
        rows, numbers = np.arange(len(batch)), dict[str, Array]()
        for column, places in self.places.items():
            first, counts = places.span(batch[column].to_numpy()[rows])
            again = np.repeat(np.arange(len(rows)), counts)
            within = np.arange(len(again)) - np.repeat(np.cumsum(counts) - counts, counts)
            numbers = {name: of[again] for name, of in numbers.items()} | {column: first[again] + within}
            rows = rows[again]
        if len(rows) > len(batch):
            # A place's number ascends with its vertex.
            order = np.lexsort([numbers[key] if key in numbers else batch[key].to_numpy()[rows] for key in reversed(self.keys)])
            rows, numbers = rows[order], {name: of[order] for name, of in numbers.items()}
        whole = batch if len(rows) == len(batch) else batch.take(pa.array(rows))
        columns = list[pa.Array]()
        for name in batch.schema.names:
            columns += [whole[name], *(self.places[name].take(pa.array(numbers[name])) if name in numbers else ())]
        return pa.RecordBatch.from_arrays(columns, schema=self.schema)


def at_places(table: str, product: TreeTable, places: Mapping[str, PlaceColumns | None]) -> TreeTable:
    """A product with the places at the vertices of some columns, if there are any."""
    known = {column: of for column, of in places.items() if of is not None}
    return _AtPlaces(product, known, tuple(tables.keys(table))) if known else product


def parameters_of(places: Mapping[str, PlaceColumns | None]) -> dict[str, Any]:
    """The places as parameters of a step's key; without places there is none."""
    known = {column: of.digest for column, of in places.items() if of is not None}
    return {"places": known} if known else {}


def ranked(rows: pa.RecordBatch, places: PlaceColumns, most: int, schema: pa.Schema) -> pa.RecordBatch:
    """The nearest places of some vertices, from the nearest vertices at which there are places.

    Args:
        rows: Columns `vertex`, `rank`, `facility` and `distance`: all ranks of each vertex, with nulls behind those that are
            connected.
        most: Ranks of a vertex in the answer. `rows` has as many, or one for each vertex with places.
    """
    facility = rows["facility"].fill_null(-1).to_numpy()
    ranks = int(rows["rank"].to_numpy().max(initial=1))
    vertices = rows["vertex"].to_numpy()[::ranks]
    first, counts = places.span(facility)
    again = np.repeat(np.arange(len(facility)), counts)
    number = first[again] + np.arange(len(again)) - np.repeat(np.cumsum(counts) - counts, counts)
    of = again // ranks
    rank = np.arange(len(of)) - np.searchsorted(of, of)
    kept = rank < most
    at = np.full((len(vertices), most), -1)
    source = at.copy()
    at[of[kept], rank[kept]], source[of[kept], rank[kept]] = number[kept], again[kept]
    missing = at.ravel() < 0
    from_rows, numbers = (pa.array(one.ravel(), mask=missing) for one in (source, at))
    columns = [
        pa.array(np.repeat(vertices, most)), pa.array(np.tile(np.arange(1, most + 1), len(vertices))),
        rows["facility"].take(from_rows), *places.take(numbers), rows["distance"].take(from_rows),
    ]  # fmt: skip
    return pa.RecordBatch.from_arrays(columns, schema=schema)
