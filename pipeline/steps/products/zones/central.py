"""The proof that what stands for a zone is nearest to its centre, by other formulas than those that chose it."""

from collections.abc import Sequence
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from kernels.graph import Array
from pipeline.errors import ProofFailed
from pipeline.ingest.places.shapes import centroid, shape_of
from pipeline.steps.places.haversine import haversine
from pipeline.steps.products.zones.shapes import Shapes

_TOLERANCE, _RELATIVE = 1e-5, 1e-8  # metres, and of a distance: haversines are less exact on the other side of the globe
_NOWHERE = 1e-9  # length of a mean of unit vectors that has no direction
_TURN = 360.0


def require_central(
    names: Sequence[Any], shapes: Shapes | None, numbers: Array, degrees: Array, weights: Array, chosen: Array
) -> None:
    """Raise ProofFailed unless each zone has one vertex that stands for it, than which none is nearer to its centre.

    Args:
        names: Of the zones [Z].
        shapes: Their areas, if they are areas.
        numbers (int64 [n]): The zones of the vertices that may stand for them.
        degrees (float64 [n, 2]): Of these vertices.
        weights (float64 [n]): Of them in centres; 0 if there are no weights.
        chosen (int64 [k]): Those that stand for zones.
    """
    if not np.array_equal(np.sort(numbers[chosen]), np.unique(numbers)):
        raise ProofFailed("zones: one has no vertex that stands for it, or several")
    order = np.argsort(numbers, kind="stable")
    for members in np.split(order, np.flatnonzero(np.diff(numbers[order])) + 1) if len(order) else ():
        zone = int(numbers[members[0]])
        if (centre := _centre(names[zone], shapes, degrees[members], weights[members])) is None:
            continue
        apart = haversine(degrees[members], np.broadcast_to(centre, (len(members), 2)))
        (least,), stated = [apart.min(keepdims=True)], apart[np.isin(members, chosen)]
        if not (stated <= least + _TOLERANCE + _RELATIVE * stated).all():
            raise ProofFailed(f"zones: another vertex is nearer to the centre of {names[zone]!r} than the one that stands for it")


def _centre(name: Any, shapes: Shapes | None, degrees: Array, weights: Array) -> Array | None:
    """The centre of a zone in degrees, float64 [2]; None if its vertices are all around the globe, so that they have no mean."""
    if not weights.any():
        if shapes:
            return _of_area(shapes, name)
        weights = np.ones(len(weights))
    (east, north), share = np.radians(degrees).T, weights / weights.sum()
    x, y, z = (float(share @ axis) for axis in (np.cos(north) * np.cos(east), np.cos(north) * np.sin(east), np.sin(north)))
    if np.linalg.norm((x, y, z)) < _NOWHERE:
        return None
    return np.degrees([np.arctan2(y, x), np.arctan2(z, np.hypot(x, y))])


def _of_area(shapes: Shapes, name: Any) -> Array:
    """The centre of a cell or polygon; parts more than half a turn away from the largest are counted on its other side."""
    if shapes.resolution is not None:
        import h3.api.numpy_int as h3

        return np.array(h3.cell_to_latlng(int(name, 16))[::-1])
    import shapely

    parts = shapely.get_parts(shapes.areas[pc.index(shapes.ids, pa.scalar(name, shapes.ids.type)).as_py()]).tolist()
    middles = [(part.bounds[0] + part.bounds[2]) / 2 for part in parts]
    middle = middles[max(range(len(parts)), key=lambda at: parts[at].area)]
    polygons = []
    for part, own in zip(parts, middles, strict=True):
        turn = -_TURN if own - middle > _TURN / 2 else _TURN if middle - own > _TURN / 2 else 0.0
        polygons.append([[[x + turn, y] for x, y in ring] for ring in shape_of(part.wkb)["coordinates"]])
    return np.array(centroid({"type": "MultiPolygon", "coordinates": polygons}, degrees=False))
