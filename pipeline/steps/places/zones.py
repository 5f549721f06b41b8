"""Zones that are sources, targets or facilities: for each of them stands the vertex nearest to its centre."""

import logging

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from pipeline.errors import BadSource
from pipeline.ingest.places import PlaceList
from pipeline.ingest.places.columns import Roles
from pipeline.steps.places.placed import Placed
from pipeline.steps.products.zones import Zones, degrees_of
from pipeline.steps.products.zones.centres import central_vertices
from pipeline.steps.runtime import Runtime
from pipeline.store.manifest import Folder
from pipeline.store.vertices import ids_of

log = logging.getLogger(__name__)
_ROLES = Roles("id", None, None, None, None, None, [], None)


def placed_zones(zone: str, edges: Folder, graph: Folder, runtime: Runtime) -> Placed:
    """The zones that a key names, `h3:8` or a file of polygons, as places: each is at the vertex that stands for it.

    Of cells those count that have a vertex which may stand for them.

    Raises:
        BadSource: A polygon has no such vertex.
    Otherwise as `Zones.of`.
    """
    centre = runtime.zones.centre
    zones = Zones.of(edges, graph, (zone, "zones.centre"), zone, centre, runtime.zones)
    vertices, numbers = central_vertices(edges, graph, zones, bool(centre), None, runtime)
    names = zones.names.take(pa.array(numbers))
    assert zones.shapes
    missing = zones.shapes.ids.filter(pc.invert(pc.is_in(zones.shapes.ids, names)))
    for one in missing[:1].to_pylist():
        way_out = 'leave it out or, if it is the outline of a place, set shapes = "centroid" below [places]'
        raise BadSource(f"{zone}: zone {one!r} has no vertex that may stand for it; {way_out}")
    if not len(names):
        raise BadSource(f"{zone}: no vertex that may stand for a zone has coordinates")
    log.info("zones %s: vertices stand for %d", zone, len(names))
    ids, rows_by_id = ids_of(graph)
    degrees = degrees_of(edges, graph, zone)[rows_by_id[np.searchsorted(ids[rows_by_id], vertices)]]
    places = PlaceList(names, None, None, degrees, pa.table({}), _ROLES)
    return Placed(places, vertices, np.zeros(len(vertices)), np.ones(len(vertices), np.bool_), zones=True)
