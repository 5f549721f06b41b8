"""The report's part on products: a sentence, first rows, figures to compare, and the values of a map."""

from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from kernels.graph import Array
from pipeline.report.isochrones import is_of_all
from pipeline.report.reading import VertexColumns
from pipeline.report.results import FOLDER, MOST, Result, Top
from pipeline.report.wording import counted, in_unit, number, with_unit
from pipeline.store.facts.products import ProductFacts
from pipeline.store.manifest import Folder
from pipeline.tables import files as tables


@dataclass(frozen=True)
class Drawn:
    """A map: a value [V] for each vertex in ascending order, null where it has none."""

    title: str
    sentence: str
    values: pa.ChunkedArray
    unit: str
    marked: Array | None = None  # int64 [n]: external ids of the places of the product, such as facilities
    what: str = ""  # one of them is


@dataclass(frozen=True)
class Shown:
    """A product in the report."""

    result: Result
    drawn: Drawn | None = None


Show = Callable[[Folder, VertexColumns, str], Shown]


def _nearest(product: Folder, vertices: VertexColumns, unit: str) -> Shown:
    table = tables.read(product.path)
    first = table.filter(pc.equal(table["rank"], 1))
    served = first.group_by("facility").aggregate([("vertex", "count"), ("distance", "max")]).drop_null()
    order = f"FROM '{FOLDER}/nearest/*.parquet' WHERE rank = 1 AND facility IS NOT NULL GROUP BY facility"
    order += f" ORDER BY vertices DESC, facility LIMIT {MOST}"
    sql = f"SELECT facility, count(*) AS vertices, max(distance) AS farthest\n{order};"
    top = _top("Facilities that are nearest to most vertices", ("facility", "vertices", in_unit("farthest", unit)), served, sql)
    reached, far = len(first) - first["distance"].null_count, pc.max(first["distance"]).as_py()
    where = f"; no vertex is farther than {with_unit(far, unit)} from the nearest" if reached else ""
    sentence = (
        f"{counted(ProductFacts.of(product).sources, 'facility', 'facilities')}; {_of(reached, vertices)} are connected{where}"
    )
    figures = {"nearest: farthest vertex": far} if reached else {}
    drawn = Drawn("Distance to the nearest facility", "Each half of an edge has the colour of its end.", first["distance"], unit)
    drawn = replace(drawn, marked=served["facility"].to_numpy(), what="facility")
    return Shown(Result("Nearest facilities", sentence, [top], figures), drawn if reached else None)


def _closeness(product: Folder, vertices: VertexColumns, unit: str) -> Shown:
    table, facts = tables.read(product.path), ProductFacts.of(product)
    if not len(table):
        return Shown(Result("Closeness", "no vertex"))
    order = f"ORDER BY closeness DESC, vertex LIMIT {MOST}"
    sql = f"SELECT vertex, closeness, eccentricity\nFROM '{FOLDER}/closeness/*.parquet' {order};"
    top = _top("Highest closeness", ("vertex", "closeness", in_unit("eccentricity", unit)), table.select([0, 4, 3]), sql)
    sentence = f"diameter {number(facts.diameter)}, radius {with_unit(facts.radius, unit)}, from {_of(len(table), vertices)}"
    others = pc.cast(pc.max_element_wise(pc.subtract(table["reached"], 1), 1), pa.float64())
    mean = pc.divide(pc.cast(table["total"], pa.float64(), safe=False), others)
    values = _spread(vertices, table["vertex"].to_numpy(), mean.to_numpy())
    drawn = Drawn("Mean distance to all that a vertex reaches", "Each half of an edge has the colour of its end.", values, unit)
    figures = {"closeness: diameter": facts.diameter or 0, "closeness: radius": facts.radius or 0}
    return Shown(Result("Closeness", sentence, [top], figures), drawn)


def _isochrones(product: Folder, vertices: VertexColumns, unit: str) -> Shown:
    table = tables.read(product.path)
    largest = pc.max(table["threshold"]).as_py()
    last = table.filter(pc.equal(table["threshold"], largest)) if len(table) else table
    order = f"WHERE threshold = {largest} ORDER BY vertices DESC, source LIMIT {MOST}"
    sql = f"SELECT source, vertices\nFROM '{FOLDER}/isochrones/*.parquet' {order};"
    within = f"within {with_unit(largest or 0, unit)}"
    top = _top(f"Most vertices {within}", ("source", "vertices"), last.select([0, 2]), sql)
    sentence = f"{counted(ProductFacts.of(product).sources, 'source')}, {counted(len(table), 'row')}"
    values = _spread(vertices, last["source"].to_numpy(), last["vertices"].to_numpy().astype(np.float64))
    drawn = Drawn(f"Vertices {within}", "Each source has the colour of their number; grey edges have none.", values, "vertices")
    few = not is_of_all(product, vertices)
    drawn = replace(drawn, marked=last["source"].to_numpy(), what="source") if few else drawn
    return Shown(Result("Isochrones", sentence, [top], {}), drawn if len(last) else None)


def _flows(product: Folder, vertices: VertexColumns, unit: str) -> Shown:
    table = tables.read(product.path)
    sql = f"FROM '{FOLDER}/flows/*.parquet' ORDER BY flow DESC, src, dst LIMIT {MOST};"
    top = _top("Arcs with most paths", ("src", "dst", "flow"), table, sql, by=2)
    sentence = f"{counted(len(table), 'arc')} with a path, of {counted(ProductFacts.of(product).sources, 'source')}"
    into = np.zeros(len(vertices.ids))
    np.add.at(into, vertices.positions(table["dst"].to_numpy()), table["flow"].to_numpy())
    values = pa.chunked_array([pa.array(into, mask=into == 0)])
    drawn = Drawn(
        "Paths that lead into a vertex",
        "Each half of an edge has the colour of its end; no path uses grey ones.",
        values,
        "paths",
    )
    return Shown(Result("Flows", sentence, [top], {}), drawn if len(table) else None)


def _rows(title: str) -> Show:
    return lambda product, *_: Shown(Result(title, counted(ProductFacts.of(product).rows, "row")))


SHOWN: dict[str, Show] = {
    "nearest": _nearest,
    "isochrones": _isochrones,
    "isochrone_vertices": _rows("Vertices of isochrones"),
    "isochrone_polygons": _rows("Areas of isochrones"),
    "closeness": _closeness,
    "flows": _flows,
}


def _top(title: str, columns: tuple[str, ...], table: pa.Table, sql: str, by: int = 1) -> Top:
    """The first rows of a table by column number `by`, descending, then by the first two."""
    names = table.schema.names
    order = [(names[by], "descending"), *((name, "ascending") for name in names[:2] if name != names[by])]
    chosen = table.take(pc.select_k_unstable(table, min(MOST, len(table)), order)).to_pylist() if len(table) else []
    rows = [[str(row[name]) if at < by else number(row[name]) for at, name in enumerate(names)] for row in chosen]
    pandas = f'pandas.read_parquet("{FOLDER}/{sql.partition(FOLDER + "/")[2].partition("/")[0]}")'
    return Top(title, list(columns), rows, sql, pandas)


def _spread(vertices: VertexColumns, some: Array, values: Array) -> pa.ChunkedArray:
    """Values of some vertices as those of all, null elsewhere."""
    found, known = np.zeros(len(vertices.ids)), np.zeros(len(vertices.ids), np.bool_)
    places = vertices.positions(some)
    found[places], known[places] = values, True
    return pa.chunked_array([pa.array(found, mask=~known)])


def _of(count: int, vertices: VertexColumns) -> str:
    return f"{count:,} of {counted(len(vertices.ids), 'vertex', 'vertices')}"
