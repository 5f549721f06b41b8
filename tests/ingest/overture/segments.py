"""Files of segments with Overture's schema (release 2026-09), written by pyarrow."""

import struct
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq

from pipeline.config.graph import GraphConfig
from pipeline.ingest import ingest

BETWEEN = pa.field("between", pa.list_(pa.float64()))
WHEN = [
    ("during", pa.string()), ("heading", pa.string()), ("using", pa.list_(pa.string())), ("recognized", pa.list_(pa.string())),
    ("mode", pa.list_(pa.string())),
    ("vehicle", pa.list_(pa.struct([("dimension", pa.string()), ("comparison", pa.string()), ("value", pa.float64()),
                                    ("unit", pa.string())]))),
]  # fmt: skip
SPEED = pa.struct([("value", pa.int32()), ("unit", pa.string())])
VALUES = pa.list_(pa.struct([("value", pa.string()), BETWEEN]))
SCHEMA = pa.schema([
    ("id", pa.string()), ("geometry", pa.binary()),
    ("bbox", pa.struct([(name, pa.float32()) for name in ("xmin", "xmax", "ymin", "ymax")])), ("version", pa.int32()),
    ("subtype", pa.string()), ("class", pa.string()),
    ("names", pa.struct([("primary", pa.string()), ("common", pa.map_(pa.string(), pa.string()))])),
    ("connectors", pa.list_(pa.struct([("connector_id", pa.string()), ("at", pa.float64())]))),
    ("subclass_rules", VALUES),
    ("access_restrictions", pa.list_(pa.struct([("access_type", pa.string()), ("when", pa.struct(WHEN)), BETWEEN]))),
    ("prohibited_transitions", pa.list_(pa.struct([
        ("sequence", pa.list_(pa.struct([("connector_id", pa.string()), ("segment_id", pa.string())]))),
        ("final_heading", pa.string()), ("when", pa.struct(WHEN)), BETWEEN,
    ]))),
    ("road_surface", VALUES), ("road_flags", pa.list_(pa.struct([("values", pa.list_(pa.string())), BETWEEN]))),
    ("speed_limits", pa.list_(pa.struct([
        ("min_speed", SPEED), ("max_speed", SPEED), ("is_max_speed_variable", pa.bool_()), ("when", pa.struct(WHEN)), BETWEEN,
    ]))),
    ("subclass", pa.string()), ("theme", pa.string()), ("type", pa.string()),
])  # fmt: skip


def line(*points) -> bytes:
    return struct.pack("<BII", 1, 2, len(points)) + b"".join(struct.pack("<dd", *point) for point in points)


def segment(id, points, connectors, kind="residential", **more):
    named = {"names": {"primary": more.pop("name")}} if "name" in more else {}
    joined = [{"connector_id": name, "at": at} for name, at in connectors]
    given = {"id": id, "geometry": line(*points), "subtype": "road", "class": kind, "connectors": joined}
    return given | named | more


def access(kind, between=None, **when):
    return {"access_type": kind, "when": when or None, "between": between}


def limit(value, unit="km/h", between=None, **when):
    return {"max_speed": {"value": value, "unit": unit}, "when": when or None, "between": between}


def write(path: Path, segments) -> Path:
    pq.write_table(pa.Table.from_pylist(segments, SCHEMA), path)
    return path


def read(path: Path, work: Path, **keys):
    """The folder of the edge list of a file of segments."""
    return ingest(GraphConfig(source=str(path), osm={"profile": "car"} | keys), work)
