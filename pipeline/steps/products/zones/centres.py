"""The vertex that stands for a zone: the one of its vertices that is nearest on the sphere to the zone's centre."""

import numpy as np
import pyarrow as pa

from kernels.graph import Array
from pipeline.steps.places import ground_of
from pipeline.steps.products.zones import Zones, degrees_of
from pipeline.steps.products.zones.central import require_central
from pipeline.steps.runtime import Runtime
from pipeline.store.manifest import Folder
from pipeline.store.vertices import ids_of
from pipeline.tables.files import of_fields
from pipeline.tables.points import GEOMETRY, on_sphere

_KEY = "matrix.zone_ends"


def central_vertices(
    edges: Folder, graph: Folder, zones: Zones, weighted: bool, among: Array | None, runtime: Runtime
) -> tuple[Array, Array]:
    """The vertex that stands for each zone, among those that may stand for places (`snap_to`), and are not left out.

    The centre is the mean place of the zone's vertices by their weights if these are `weighted`. Otherwise, and where no vertex
    has a weight, it is the centroid of the zone's area, or without areas the mean place.

    Args:
        among (int64 [n] or None): External ids of the vertices that may be taken; None: all.

    Returns:
        External ids, int64 [k], of several equally near ones the smallest; and the numbers of their zones, int64 [k], ascending.
            Zones without such a vertex have none, and nor have vertices without a zone.

    Raises BadConfig if the graph has no coordinates, and ProofFailed.
    """
    (ids, _), degrees = ids_of(graph), degrees_of(edges, graph, _KEY)
    allowed = ~np.isnan(degrees).any(axis=1) & np.isin(ids, ground_of(edges, graph, runtime).allowed_ids)
    if zones.names.null_count:
        allowed &= zones.numbers != len(zones) - 1
    if among is not None:
        allowed &= np.isin(ids, among)
    rows = np.flatnonzero(allowed)
    numbers, places = zones.numbers[rows], on_sphere(*degrees[rows].T)
    weights = zones.weights[rows] if weighted else np.zeros(len(rows))
    centres = _centres(zones, numbers, places, weights)
    apart = np.square(places - centres[numbers]).sum(axis=1)
    order = np.lexsort((ids[rows], apart, numbers))
    first = order[np.diff(numbers[order], prepend=-1) != 0]
    require_central(zones.names.to_pylist(), zones.shapes, numbers, degrees[rows], weights, first)
    return ids[rows[first]], numbers[first]


def _centres(zones: Zones, numbers: Array, places: Array, weights: Array) -> Array:
    """Unit vectors of the centres of zones, float64 [Z, 3]."""

    def sums(factors: Array) -> Array:  # of no rows NumPy counts integers, whatever the weights are
        return np.stack([np.bincount(numbers, factors * axis, len(zones)) for axis in places.T], axis=1).astype(np.float64)

    centres, known = sums(weights), np.bincount(numbers, weights, len(zones)) > 0
    otherwise = zones.shapes.centres(zones.names) if zones.shapes else sums(np.ones(len(numbers)))
    centres[~known] = otherwise[~known]
    lengths = np.linalg.norm(centres, axis=1, keepdims=True)
    unit: Array = np.divide(centres, lengths, out=np.zeros_like(centres), where=lengths > 0)
    return unit


def table_of_zones(zones: Zones, ends: dict[str, tuple[Array, Array]], weighted: bool) -> pa.Table:
    """The zones, with the number and weight of their vertices, the vertices that stand for them as `ends`, and their areas."""
    columns = {"zone": zones.names, "vertices": pa.array(np.bincount(zones.numbers, minlength=len(zones)))}
    if weighted:
        columns["weight"] = pa.array(np.bincount(zones.numbers, zones.weights, len(zones)))
    for name, (vertices, numbers) in ends.items():
        of_zone = np.full(len(zones), -1)
        of_zone[numbers] = vertices
        columns[name] = pa.array(of_zone, mask=of_zone < 0)
    if zones.shapes:
        columns[GEOMETRY] = zones.outlines
    table = pa.table(columns)
    return table.cast(of_fields(table.schema, ("Polygon", "MultiPolygon")))
