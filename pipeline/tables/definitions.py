"""The columns of the published tables. `docs/tables.md` describes them for analysts; a test compares the two."""

from collections.abc import Collection, Iterable
from dataclasses import replace

import pyarrow as pa

from kernels.algorithm import SEED, Column
from kernels.registry import ALGORITHMS
from pipeline.registry import products
from pipeline.registry.entries import VERTEX, Table
from pipeline.registry.graph import GRAPH_TABLES
from pipeline.registry.stages import DERIVED, POINT

ATTRIBUTE = Column("", "", "as in the table of nodes", "it has no value, or the vertex is not in it")
OF_PLACE = Column("", "", "as in the file of places", "it has no value, or the file does not have it")
_NOWHERE = "the place has no coordinates"
_AT_VERTEX = "the file states the place's vertex"
MEAN = Column("", "", "mean over the sources of the zone", "no source of the zone has a weight")
SUMMED = Column("", "", "sum over the vertices within the threshold")
MEASURED = ("weight", "distance")  # types of columns
PLACES = "places"  # the table of the places in files
PLACE, PLACE_NAME = "_place", "_place_name"  # with which the names of columns end that follow one of vertices
REJECTED = "rejected.parquet"  # of an edge list: the table of this name
_MAY_HAVE_SEEDS = frozenset(algorithm.table_name for algorithm in ALGORITHMS if algorithm.may_have_seeds)
LIST = "list<int64>"  # a column's type, which Arrow has no alias for
CUSTOM = "custom-"  # begins the names of steps that write tables of stages that users wrote, which are not in TABLES
UNIT = b"unit"  # in the metadata of a column of such a table
TABLES: dict[str, tuple[Column, ...]] = {
    **{algorithm.table_name: algorithm.columns for algorithm in ALGORITHMS},
    **{name: table.columns for name, table in (*DERIVED.items(), *GRAPH_TABLES.items())},
    "reached": (
        Column("src", "int64", "external id"),
        Column("dst", "int64", "external id"),
        Column("reachable", "bool", "whether a path leads from src to dst", "the graph does not have one of the two"),
        Column("decided", "string", "same, filter, positive cut or search", "the graph does not have one of the two"),
    ),
    "paths": (
        Column("query", "int64", "row of the pairs, from 0", key=True),
        Column("src", "int64", "external id"),
        Column("dst", "int64", "external id"),
        Column("length", "int64", "arcs"),
        Column("path", LIST, "external ids, from src to dst"),
    ),
    PLACES: (
        Column("key", "string", "key of the configuration that names the file", key=True),
        Column("id", "string", "as in the file of places", key=True),
        Column("name", "string", "as in the file of places", "the place has no name"),
        Column("vertex", "int64", "external id"),
        Column("lon", "float64", "degrees, east", _NOWHERE),
        Column("lat", "float64", "degrees, north", _NOWHERE),
        Column("metres", "float64", "metres on the sphere to the vertex", "the place or the vertex has no coordinates"),
        Column("on_way", "int64", "OpenStreetMap's id of the way that the place is on", _AT_VERTEX),
        Column("on_segment", "string", "Overture's id of the segment that it is on", _AT_VERTEX),
        Column("on_name", "string", "the name of the street that the place is on", f"the street has none, or {_AT_VERTEX}"),
        Column("on_src", "int64", "external id: where this street begins", _AT_VERTEX),
        Column("on_dst", "int64", "external id: where it ends", _AT_VERTEX),
        Column("on_offset", "float64", "metres along it from `on_src` to the place's foot", _AT_VERTEX),
        Column("on_length", "float64", "metres, of the whole street", _AT_VERTEX),
        Column("component", "int64", "external id, the smallest in the weak component"),
        Column("geometry", "binary", "the point (lon, lat), as WKB", _NOWHERE),
    ),
    **{name: table.columns for name, table in products.TABLES.items()},
    "rejected": (
        Column("file", "string", "as in messages", key=True),
        Column("line", "int64", "line of a text, from 1; row of Parquet, from 0", key=True),
        Column("column", "string", "its name in the file", "the whole line is at fault"),
        Column("value", "string", "its first characters, or those of the line"),
        Column("reason", "string", "as in messages"),
    ),
    "coordinates": (
        VERTEX,
        *(replace(column, nulls="never") for column in POINT),
    ),
}


def definition_of(table: str, schema: pa.Schema | None = None, seeded: bool = False) -> tuple[Column, ...]:
    """The columns of a table, which may have an answer for each seed, if `seeded` or its `schema` says so.

    Those of a user's stage, which has a row for each vertex, are in its `schema`.
    """
    if table in TABLES:
        return (SEED, *TABLES[table]) if seeded or has_seeds(table, schema.names if schema else ()) else TABLES[table]
    return (VERTEX, *(_described(field) for field in schema or () if field.name != VERTEX.name))


def has_seeds(table: str, columns: Collection[str]) -> bool:
    """Whether a table with these columns has an answer for each seed."""
    return table in _MAY_HAVE_SEEDS and SEED.name in columns


def _described(field: pa.Field) -> Column:
    unit = (field.metadata or {}).get(UNIT, b"as its stage says").decode()
    return Column(field.name, str(field.type), unit, "it has none" if field.nullable else "never")


def other_column(table: str, field: pa.Field) -> Column:
    """A column that the user's files or sums add to a table."""
    if not field.nullable:
        return SUMMED
    if any(column.type == "zone" for column in TABLES.get(table, ())):
        return MEAN
    return OF_PLACE if table == PLACES else ATTRIBUTE


def with_followers(columns: Iterable[Column]) -> dict[str, Column]:
    """Columns by their names, and those that may follow a column of vertices: its names, and the places there."""
    units = {
        "_name": "the id of `{}` in the source",
        PLACE: "the id of a place at `{}`, as in its file",
        PLACE_NAME: "the name of this place",
    }
    own = {column.name: column for column in columns}
    ends = [(column, end, unit) for column in own.values() for end, unit in units.items()]
    return {f"{column.name}{end}": replace(column, unit=unit.format(column.name)) for column, end, unit in ends} | own


def geometry_of(table: str) -> tuple[str, ...]:
    """The types of the geometries in a table, as GeoParquet calls them."""
    entry: Table | None = products.TABLES.get(table) or GRAPH_TABLES.get(table)
    return entry.geometry if entry else Table.geometry
