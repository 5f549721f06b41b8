"""The tables of the stored graph itself, which need no answer of a stage."""

from kernels.algorithm import Column, Costs
from pipeline.registry.entries import GraphTable

_ALL = (
    GraphTable(
        name="arcs",
        step="pipeline.steps.derived.arcs:tabulate_arcs",
        columns=(
            Column("src", "int64", "external id", key=True),
            Column("dst", "int64", "external id", key=True),
            Column("parallel", "int64", "number among the parallel arcs, by weight, from 0", key=True),
            Column("weight", "weight", "the source's own"),
            Column("way", "int64", "OpenStreetMap's id of the way", "no street has these ends and this weight"),
            Column("segment", "string", "Overture's id of the segment", "no street has these ends and this weight"),
            Column("class", "string", "as in tag highway, or ferry", "the arc has no way"),
            Column("name", "string", "as in tag name", "the way has no name, or the arc no way"),
            Column("length", "float64", "metres along the street", "the arc has no way"),
            Column("geometry", "binary", "the line from src to dst, as WKB", "src or dst has no coordinates"),
        ),
        geometry=("LineString", "MultiLineString"),  # the second of arcs across the 180th meridian
        proof="each row checked against the in-arcs of the proved graph, all are there",
        report="pipeline.report.arcs:show",
        by_default=1_000_000,
        costs=Costs(cpu=(0.03, 0.0, 0.27), gpu=(0.1, 0.0, 0.6), memory=(0.0, 60.0), stored=8.0),
    ),
)
GRAPH_TABLES = {table.name: table for table in _ALL}
