"""The report's parts on products: a sentence, first rows, figures to compare, and a map. One module for each product."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from kernels.graph import Array
from pipeline.registry.products import TABLES
from pipeline.report.reading import VertexColumns
from pipeline.report.results import FOLDER, MOST, Result, Top
from pipeline.report.wording import counted, number
from pipeline.store.facts.products import ProductFacts
from pipeline.store.manifest import Folder
from pipeline.tables.definitions import PLACE, PLACE_NAME

if TYPE_CHECKING:
    from pipeline.report.atlas import Atlas, Map, Marker

EACH_HALF = "Each half of an edge has the colour of its end"


@dataclass(frozen=True, kw_only=True)
class Drawn:
    """What a map shows.

    Attributes:
        unit: Of its values.
        marked: int64 [n]: external ids of the places of the product, such as facilities; `what` is one of them.
    """

    title: str
    sentence: str
    unit: str
    marked: Array | None = None
    what: str = ""

    def on(self, atlas: "Atlas", markers: Sequence["Marker"]) -> "Map":
        """The map."""
        raise NotImplementedError


@dataclass(frozen=True, kw_only=True)
class ValueMap(Drawn):
    """A value [V] for each vertex in ascending order, null where it has none."""

    values: pa.ChunkedArray

    def on(self, atlas: "Atlas", markers: Sequence["Marker"]) -> "Map":
        """The map of the vertices in the colours of their values."""
        return atlas.values(self.title, self.sentence, self.values, self.unit, markers)


@dataclass(frozen=True)
class ProductPart:
    """A product's table in the report; `not_drawn` says why a map is missing that a reader may expect."""

    result: Result
    drawn: Drawn | None = None
    not_drawn: str = ""
    others: Sequence[Drawn] = ()  # further maps

    @property
    def maps(self) -> list[Drawn]:
        """All maps."""
        return [*([self.drawn] if self.drawn else []), *self.others]


@dataclass(frozen=True)
class ReportContext:
    """What a part of the report is drawn from besides its table.

    Attributes:
        unit: Of the distances.
        title: Heading of the part.
        products: All tables of products of the run, by their names.
        has_map: Whether maps are drawn.
    """

    vertices: VertexColumns
    unit: str
    products: Mapping[str, Folder]
    has_map: bool
    title: str = ""


def shown(product: Folder, context: ReportContext) -> ProductPart:
    """The part of the report on one table: that of its entry, or the number of its rows."""
    table = TABLES[product.manifest.step]
    if table.report:
        part: ProductPart = table.resolve("report")(product, replace(context, title=table.title))
        return part
    return ProductPart(Result(table.title, counted(ProductFacts.of(product).rows, "row")))


def top(title: str, columns: tuple[str, ...], table: pa.Table, sql: str, by: int = 1) -> Top:
    """The first rows of a table by column number `by`, descending, then by the first two."""
    names = table.schema.names
    order = [(names[by], "descending"), *((name, "ascending") for name in names[:2] if name != names[by])]
    chosen = table.take(pc.select_k_unstable(table, min(MOST, len(table)), order)).to_pylist() if len(table) else []
    rows = [[_text(row[name]) if at < by else number(row[name]) for at, name in enumerate(names)] for row in chosen]
    pandas = f'pandas.read_parquet("{FOLDER}/{sql.partition(FOLDER + "/")[2].partition("/")[0]}")'
    return Top(title, list(columns), rows, sql, pandas)


def _text(value: object) -> str:
    return "" if value is None else str(value)


def who_of(table: pa.Table, column: str) -> list[str]:
    """The columns that say who a row is about: a column of vertices, and those of the places there."""
    return [name for name in (column, column + PLACE, column + PLACE_NAME) if name in table.schema.names]


def spread(vertices: VertexColumns, some: Array, values: Array) -> pa.ChunkedArray:
    """Values of some vertices as those of all, null elsewhere."""
    whole, known = np.zeros(vertices.count), np.zeros(vertices.count, np.bool_)
    positions = vertices.positions(some)
    whole[positions], known[positions] = values, True
    return pa.chunked_array([pa.array(whole, mask=~known)])


def quoted_name(name: str) -> str:
    """The name of a user's column in SQL, which may be a word of the language."""
    return '"' + name.replace('"', '""') + '"'


def share(count: int, vertices: VertexColumns) -> str:
    """A number of vertices, of all."""
    return f"{count:,} of {counted(vertices.count, 'vertex', 'vertices')}"
