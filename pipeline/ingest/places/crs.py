"""Coordinates of any reference system as degrees of longitude and latitude, by PROJ."""

import logging
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from kernels.graph import Array
from pipeline.errors import BadConfig, BadInput

log = logging.getLogger(__name__)
_DEGREES = "OGC:CRS84"
_SAME = ({"authority": "OGC", "code": "CRS84"}, {"authority": "EPSG", "code": 4326})  # `x` is the longitude in files of both
_AROUND = 1.0  # degrees around the area of use in which coordinates are expected, too


def by_row(number: int) -> str:
    """A point of a file in a message."""
    return f"row {number}"


def to_degrees(
    file: str, points: Array, crs: str | Mapping[str, Any] | None, key: str, what: Callable[[int], str] = by_row
) -> Array:
    """Longitudes and latitudes of points, float64 [n, 2]; NaN where a point has NaN.

    Args:
        points (float64 [n, 2]): x (or longitude, easting) and y, in this order whatever the system's own order is.
        crs: The system, as PROJ knows it, or as the PROJJSON of a GeoParquet file. None: degrees (WGS 84).
        key: What states it, for messages.
        what: A point in a message, by its number.

    Raises:
        BadConfig: `crs` is no system.
        BadInput: A point cannot be converted, or is not on the globe; or none is where the system is used.
    """
    if are_degrees(crs):
        return _on_globe(file, points, points, what)
    import pyproj.network

    try:
        system = pyproj.CRS.from_user_input(crs)
    except pyproj.exceptions.CRSError:
        raise BadConfig(
            f"{key}: {str(crs)[:80]!r} is not a coordinate reference system that PROJ knows, such as EPSG:2263"
        ) from None
    # Grids that PROJ could load from elsewhere would make the answer depend on the network.
    pyproj.network.set_network_enabled(active=False)
    transformer = pyproj.Transformer.from_crs(system, _DEGREES, always_xy=True)
    degrees = np.stack(transformer.transform(*points.T), axis=-1)
    degrees[np.isnan(points).any(axis=1)] = np.nan
    _on_globe(file, degrees, points, what)
    _require_in_use(file, degrees, points, system, what)
    return degrees


def are_degrees(crs: str | Mapping[str, Any] | None) -> bool:
    """Whether a system is certainly WGS 84's degrees, as files have them."""
    return crs is None or (not isinstance(crs, str) and _id_of(crs) in _SAME)


def _id_of(crs: Mapping[str, Any]) -> Mapping[str, Any] | None:
    stated: Mapping[str, Any] | None = crs.get("id")
    return stated


def _on_globe(file: str, degrees: Array, points: Array, what: Callable[[int], str]) -> Array:
    """The degrees. Raises BadInput for the first point that is not on the globe."""
    with np.errstate(invalid="ignore"):
        wrong = ~np.isnan(points).any(axis=1) & ~((np.abs(degrees) <= (180, 90)).all(axis=1))
    if wrong.any():
        row = int(wrong.argmax())
        shown = ",".join(f"{axis:.10g}" for axis in points[row])
        if degrees is points:
            reason = "is not LON,LAT in -180..180, -90..90 degrees; state the system of projected coordinates by `crs`"
        else:
            reason = "cannot be converted to degrees by the stated coordinate reference system"
        raise BadInput(file, f"{what(row)}: {shown} {reason}")
    return degrees


def _require_in_use(file: str, degrees: Array, points: Array, system: Any, what: Callable[[int], str]) -> None:
    """Raise BadInput if all points are outside of the area where a system is used, as degrees are in a system of metres."""
    if system.area_of_use is None:
        return
    west, south, east, north = system.area_of_use.bounds
    known = ~np.isnan(degrees).any(axis=1)
    x, y = degrees[known].T
    between = (x >= west - _AROUND) & (x <= east + _AROUND) if west <= east else (x >= west - _AROUND) | (x <= east + _AROUND)
    inside = between & (y >= south - _AROUND) & (y <= north + _AROUND)
    if not len(x) or inside.all():
        return
    first = int(np.flatnonzero(known)[int(np.argmin(inside))])
    given, degrees_shown = (",".join(f"{axis:.6g}" for axis in one[first]) for one in (points, degrees))
    where = f"{what(first)}: {given} is {degrees_shown} in degrees, where {system.name} is not used"
    if not inside.any():
        raise BadInput(file, f"{where}, nor are the others where it is used; is `crs` right?")
    log.warning("%s: %d of %d coordinates are outside of the area of their system: %s", file, (~inside).sum(), len(inside), where)
