"""Which columns of a file of places are what: by the names that `[places]` gives, or by common ones."""

import json
import logging
from collections.abc import Collection, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from typing import Any

import pyarrow as pa

from pipeline.config.products.places import GEOMETRY, ID, LATITUDES, LONGITUDES, NAME, VERTEX, PlacesConfig
from pipeline.errors import BadInput
from pipeline.ingest.formats.parquet.geometry import geometries_of
from pipeline.ingest.places.points import is_geometry
from pipeline.suggestions import did_you_mean
from pipeline.tables.definitions import PLACES, TABLES

log = logging.getLogger(__name__)
_OWN = {column.name for column in TABLES[PLACES]}  # the columns of table `places`, which no other column may have the name of
Crs = str | Mapping[str, Any] | None


@dataclass(frozen=True)
class Roles:
    """The columns of a file by what they are, and the system of its coordinates as `to_degrees` takes it."""

    id: str
    name: str | None
    vertex: str | None
    lon: str | None
    lat: str | None
    geometry: str | None
    others: list[str]
    crs: Crs

    @property
    def read(self) -> list[str]:
        """All columns that are read, each once."""
        own = (self.id, self.name, self.vertex, self.lon, self.lat, self.geometry)
        return [*dict.fromkeys([*filter(None, own), *self.others])]


def roles_of(file: str, schema: pa.Schema, config: PlacesConfig, crs: Crs = None) -> Roles:
    """The columns of a CSV file, or of Parquet without a geometry. Raises BadInput."""
    names = schema.names
    lon, lat = _one(file, names, config.lon, LONGITUDES, "lon"), _one(file, names, config.lat, LATITUDES, "lat")
    vertex = _optional(file, names, config.vertex, VERTEX, "vertex")
    if bool(lon) != bool(lat) or not (lon or vertex):
        either = "neither one column of ids, nor those of places, such as id, lon and lat; [places] names others"
        raise BadInput(file, f"has columns {_listed(names)}: {either}")
    return _roles(file, names, config, {"vertex": vertex, "lon": lon, "lat": lat, "crs": crs or config.crs})


def roles_of_features(file: str, schema: pa.Schema, config: PlacesConfig) -> Roles:
    """The columns of the features of GeoJSON, whose geometry is read already and in degrees. Raises BadInput."""
    vertex = _optional(file, schema.names, config.vertex, VERTEX, "vertex")
    return _roles(file, schema.names, config, {"vertex": vertex})


def roles_of_parquet(file: str, schema: pa.Schema, config: PlacesConfig) -> Roles:
    """The columns of a Parquet file, whose geometry comes before its longitudes and latitudes. Raises BadInput."""
    names = schema.names
    for name in names:
        if names.count(name) > 1:
            raise BadInput(file, f"two columns have the name {name!r}")
    geo = geo_of(schema)
    by_columns = config.lon or config.lat
    wanted = None if by_columns else config.geometry or geo.get("primary_column") or _first_of(names, (GEOMETRY,))
    if config.geometry and config.geometry not in names:
        raise _missing(file, names, config.geometry, "geometry")
    ignored = geometries_of(schema)
    if not isinstance(wanted, str) or wanted not in names:
        return roles_of(file, pa.schema([field for field in schema if field.name not in ignored]), config)
    if not is_geometry(schema.field(wanted).type):
        raise BadInput(file, f"column {wanted!r} is {schema.field(wanted).type}, not points as WKB or GeoArrow writes them")
    vertex = _optional(file, names, config.vertex, VERTEX, "vertex")
    crs = crs_of(file, geo, wanted, config.crs)
    return _roles(file, names, config, {"vertex": vertex, "geometry": wanted, "crs": crs}, ignored)


def geo_of(schema: pa.Schema) -> dict[str, Any]:
    """GeoParquet's metadata; empty if there is none."""
    with suppress(ValueError, RecursionError):
        geo = json.loads((schema.metadata or {}).get(b"geo", b"{}"))
        return geo if isinstance(geo, dict) else {}
    return {}


def crs_of(file: str, geo: Mapping[str, Any], name: str, configured: str | None, table: str = PLACES) -> Crs:
    """The system that GeoParquet states for a column, or else the configured one. Raises BadInput if there is none."""
    described = geo.get("columns", {}).get(name) if isinstance(geo.get("columns"), dict) else None
    if isinstance(described, dict) and "crs" not in described:
        return None  # degrees, as the specification says
    stated = described.get("crs") if isinstance(described, dict) else None
    if isinstance(stated, dict | str) and stated:
        return stated
    if not configured:
        what = "states that its crs is unknown" if described else "is no GeoParquet, and so states no crs"
        raise BadInput(file, f"column {name!r} {what}; state it by `crs` below [{table}]")
    return configured


def key_of_crs(file: str, crs: Crs, configured: str | None, table: str = PLACES) -> str:
    """What states a system, for messages: a key, or else the file."""
    return f"{table}.crs" if crs == configured else f"{file}: its crs"


def _roles(file: str, names: Sequence[str], config: PlacesConfig, chosen: dict[str, Any], ignored: Collection[str] = ()) -> Roles:
    if (id_name := _one(file, names, config.id, (ID,), "id")) is None:
        raise _missing(file, names, ID, "id")
    name = _optional(file, names, config.name, NAME, "name")
    used = {id_name, name, *(value for key, value in chosen.items() if key != "crs")}
    others = [one for one in names if one not in used and one not in ignored]
    if not chosen.get("lon"):  # a geometry comes before coordinates that the file has, too
        others = [one for one in others if one not in ("lon", "lat")]
    for one in others:
        if one in _OWN or one.removesuffix("_name") in _OWN:
            raise BadInput(file, f"column {one!r} has the name of a column of table {PLACES}; rename it")
    defaults = {"vertex": None, "lon": None, "lat": None, "geometry": None, "crs": None}
    return Roles(id=id_name, name=name, others=others, **defaults | chosen)


def _first_of(names: Sequence[str], known: Collection[str]) -> str | None:
    return next((name for name in names if name.lower() in known), None)


def only_column(file: str, names: Sequence[str], given: str | None, known: Collection[str], key: str, table: str) -> str:
    """The column that is given, or else the only one that has one of the known names. Raises BadInput if there is none."""
    column = _one(file, names, given, known, key, table)
    if column is None:
        raise _missing(file, names, key, key, table)
    return column


def _one(file: str, names: Sequence[str], given: str | None, known: Collection[str], key: str, table: str = PLACES) -> str | None:
    """The only column that has one of the known names, unless one is given."""
    if given:
        if given not in names:
            raise _missing(file, names, given, key, table)
        return given
    chosen = [name for name in names if name.lower() in known]
    if len(chosen) > 1:
        raise BadInput(file, f"columns {_listed(chosen)} may each be the {key}; name one of them by `{key}` below [{table}]")
    return chosen[0] if chosen else None


def _optional(file: str, names: Sequence[str], given: str | None, known: str, key: str) -> str | None:
    return _one(file, names, given, (known,), key)


def _missing(file: str, names: Sequence[str], name: str, key: str, table: str = PLACES) -> BadInput:
    hint = did_you_mean(name, names) or f"; name it by `{key}` below [{table}]"
    return BadInput(file, f"has no column {name!r} among {_listed(names)}{hint}")


def _listed(names: Sequence[str]) -> str:
    return ", ".join(map(repr, names))[:200]
