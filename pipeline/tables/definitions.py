"""The columns of the published tables. `docs/tables.md` describes them for analysts; a test compares the two."""

from dataclasses import replace

from kernels.algorithm import Column
from kernels.registry import ALGORITHMS
from pipeline.registry import products
from pipeline.registry.entries import VERTEX
from pipeline.registry.stages import DERIVED, POINT

ATTRIBUTE = Column("", "", "as in the table of nodes", "it has no value, or the vertex is not in it")
OF_PLACE = Column("", "", "as in the file of places", "it has no value, or the file does not have it")
_NOWHERE = "the place has no coordinates"
SUMMED = Column("", "", "sum over the vertices within the threshold")
MEASURED = ("weight", "distance")  # types of columns
PLACES = "places"  # the table of the places in files
LIST = "list<int64>"  # a column's type, which Arrow has no alias for
TABLES: dict[str, tuple[Column, ...]] = {
    **{algorithm.table_name: algorithm.columns for algorithm in ALGORITHMS},
    **{name: table.columns for name, table in DERIVED.items()},
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
        Column("component", "int64", "external id, the smallest in the weak component"),
        Column("geometry", "binary", "the point (lon, lat), as WKB", _NOWHERE),
    ),
    **{name: table.columns for name, table in products.TABLES.items()},
    "coordinates": (
        VERTEX,
        *(replace(column, nulls="never") for column in POINT),
    ),
}


def geometry_of(table: str) -> str:
    """The type of the geometries in a table, as GeoParquet calls it."""
    return products.TABLES[table].geometry if table in products.TABLES else "Point"
