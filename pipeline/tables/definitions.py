"""The columns of the published tables. `docs/tables.md` describes them for analysts; a test compares the two."""

from dataclasses import replace

from kernels.algorithm import Column
from kernels.registry import ALGORITHMS
from pipeline.tables.points import GEOMETRY

ATTRIBUTE = Column("", "", "as in the table of nodes", "it has no value, or the vertex is not in it")
SUMMED = Column("", "", "sum over the vertices within the threshold")
MEASURED = ("weight", "distance")  # types of columns
LIST = "list<int64>"  # a column's type, which Arrow has no alias for
_ROOT = "the vertex is the root of its tree"
_UNPLACED = "the vertex has no coordinates"
_NO_FACILITY = "no further facility is connected with the vertex"
_SOURCE = Column("source", "int64", "external id", key=True)
_VERTEX = Column("vertex", "int64", "external id", key=True)
_THRESHOLD = Column("threshold", "distance", "sum of weights", key=True)
_POINT = (
    Column("x", "float64", "degrees, east", _UNPLACED),
    Column("y", "float64", "degrees, north", _UNPLACED),
    Column(GEOMETRY, "binary", "the point (x, y), as WKB", _UNPLACED),
)
TABLES: dict[str, tuple[Column, ...]] = {
    **{algorithm.table_name: algorithm.columns for algorithm in ALGORITHMS},
    "forest": (
        _VERTEX,
        Column("parent", "int64", "external id", _ROOT),
        Column("weight", "weight", "the source's own", _ROOT),
        Column("depth", "int64", "edges from the root"),
        Column("labels", "int64", "external id, the smallest in the tree, which is its root"),
    ),
    "vertices": (
        _VERTEX,
        Column("id", "string", "the vertex in the source, whose ids are strings"),
        Column("out_degree", "int64", "arcs of the stored graph"),
        Column("in_degree", "int64", "arcs of the stored graph"),
        Column("component", "int64", "external id, the smallest in the weak component"),
        *_POINT,
    ),
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
    "matrix": (
        _SOURCE,
        Column("target", "int64", "external id", key=True),
        Column("distance", "distance", "sum of weights", "the source does not reach the target"),
    ),
    "nearest": (
        _VERTEX,
        Column("rank", "int64", "1 for the nearest", key=True),
        Column("facility", "int64", "external id", _NO_FACILITY),
        Column("distance", "distance", "sum of weights", _NO_FACILITY),
    ),
    "isochrones": (_SOURCE, _THRESHOLD, Column("vertices", "int64", "vertices within the threshold, the source included")),
    "isochrone_vertices": (_SOURCE, _VERTEX, Column("distance", "distance", "sum of weights")),
    "isochrone_polygons": (
        _SOURCE,
        _THRESHOLD,
        Column(GEOMETRY, "binary", "the area within the threshold, as WKB", "no triangle of vertices is within the threshold"),
    ),
    "closeness": (
        _VERTEX,
        Column("reached", "int64", "vertices that it reaches, itself included"),
        Column("total", "distance", "sum of the distances to them"),
        Column("eccentricity", "distance", "sum of weights, the largest distance to one of them"),
        Column("closeness", "float64", "1 over a sum of weights"),
    ),
    "flows": (
        Column("src", "int64", "external id", key=True),
        Column("dst", "int64", "external id", key=True),
        Column("flow", "int64", "paths"),
    ),
    "coordinates": (
        _VERTEX,
        *(replace(column, nulls="never") for column in _POINT),
    ),
}
