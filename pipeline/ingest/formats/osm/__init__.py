"""OpenStreetMap: PBF (`.osm.pbf`) and XML (`.osm`). Streets that a profile takes become arcs between crossings.

Ids of vertices are those of OpenStreetMap's nodes; the lengths of arcs are sums along the streets.
"""

import re
from pathlib import Path
from typing import TYPE_CHECKING

from pipeline.config.graph import GraphConfig
from pipeline.errors import BadInput
from pipeline.ingest.formats.format import EdgeList, FileFormat

if TYPE_CHECKING:
    from pipeline.ingest.formats.osm.updates import AppliedChanges

# The header of PBF, or the first element of XML, perhaps behind a declaration and comments.
_BEGIN = re.compile(rb"\0\0..\x0a\x09OSMHeader|(?:\xef\xbb\xbf)?\s*<(?:.{0,4096}?<)?osm(?:Change)?[\s/>]", re.DOTALL)


def read(path: Path, file: str, graph: GraphConfig, changes: "AppliedChanges | None" = None) -> EdgeList:
    """Read the streets of a file, as they are after changes. Raises BadInput."""
    if graph.osm.profile is None:
        raise BadInput(
            file, 'is OpenStreetMap; state who travels: profile = "car", "bicycle" or "foot" below [graph.osm] (--profile)'
        )
    if graph.directed is False:
        raise BadInput(
            file, "graph.directed is false, but the tags of OpenStreetMap say in which directions each way is open; leave it out"
        )
    if graph.coordinates:
        raise BadInput(file, "graph.coordinates is given, but OpenStreetMap has the places of its nodes; leave it out")
    from pipeline.ingest.formats.osm.reading import read_streets

    return read_streets(path, file, graph, changes)


FORMAT = FileFormat(read, ("pbf", "osm"), lambda head: _BEGIN.match(head) is not None, frozenset({"osm"}))
