"""Overture's transportation theme: segments, as Parquet. Roads that a profile takes become arcs between connectors.

rules.py     who may travel on which part of a segment, and how fast
columns.py   their columns in plain types
lines.py     the lines of segments, and places along them
transitions.py   those that are prohibited, as turn restrictions
parts.py     segments are cut at connectors, and where what the rules say changes
reading.py   the edge list
proof.py     the parts are those that the segments say, by other code

https://docs.overturemaps.org/schema/reference/transportation/segment
"""

import struct
from pathlib import Path

from pipeline.config.graph import GraphConfig
from pipeline.config.model import set_keys
from pipeline.errors import BadInput
from pipeline.ingest.formats.format import EdgeList, FileFormat

_COLUMNS = (b"connector_id", b"subtype", b"geometry")  # in the footer of a file of segments
_TAIL = struct.Struct("<I4s")
_LARGEST = 2**20  # bytes of a footer that are looked at


def is_overture(path: Path) -> bool:
    """Whether a Parquet file has the columns of segments, by the names in its footer."""
    with path.open("rb") as content:
        size = content.seek(0, 2)
        content.seek(max(0, size - _TAIL.size))
        tail = content.read()
        length = _TAIL.unpack(tail)[0] if len(tail) == _TAIL.size else 0
        content.seek(max(0, size - _TAIL.size - min(length, _LARGEST)))
        footer = content.read(min(length, _LARGEST))
    return all(name in footer for name in _COLUMNS)


def read(path: Path, file: str, graph: GraphConfig) -> EdgeList:
    """Read the segments of a file. Raises BadInput."""
    if graph.osm.profile is None:
        raise BadInput(
            file,
            'has segments of Overture; state who travels: profile = "car", "bicycle" or "foot" below [graph.osm] (--profile)',
        )
    if graph.directed is False:
        raise BadInput(file, "graph.directed is false, but segments say in which directions each is open; leave it out")
    if "signals" in set_keys(graph.osm.turns):
        raise BadInput(file, "graph.osm.turns.signals is given, but Overture has no traffic signals; leave the key out")
    if graph.coordinates:
        raise BadInput(file, "graph.coordinates is given, but segments have the places of their connectors; leave it out")
    from pipeline.ingest.formats.overture.reading import read_segments

    return read_segments(path, file, graph)


FORMAT = FileFormat(read, (), lambda _: False, frozenset({"osm"}))
