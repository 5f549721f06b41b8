"""Vertices as users name them: an external id, the id of a source whose ids are strings, or the place `LON,LAT` near a vertex."""

import re
from collections.abc import Sequence

import numpy as np
import pyarrow as pa

from kernels.graph import Array
from pipeline.config.model import LARGEST
from pipeline.config.suggestions import did_you_mean
from pipeline.errors import BadSource
from pipeline.store.manifest import Folder
from pipeline.store.names import UNKNOWN, open_names
from pipeline.store.vertices import open_vertices
from pipeline.tables.points import sorted_coordinates
from pipeline.tables.row_lookup import places_in
from pipeline.texts import id_of, other_form_of, why_not_an_id

Place = tuple[float, float]  # degrees of longitude and latitude
_NUMBER = r"[-+]?\d{1,3}(?:\.\d{0,15})?"
_PLACE = re.compile(rf"({_NUMBER})\s*,\s*({_NUMBER})")
_FEW = 1000  # names that are compared with a wrong one


def numbers_of(edges: Folder, asked: Sequence[int | str]) -> list[int | Place]:
    """The external ids of the requested vertices; a place stays a place, unless it is an id of a source with string ids.

    Raises BadSource for a name that the source does not have, and for a text that is neither an integer nor a place.
    """
    names = open_names(edges)
    if names is None:
        return [one if isinstance(one, int) else _integer(one) for one in asked]
    found = names.find(pa.array([str(one) for one in asked], pa.large_string())).tolist() if asked else []
    numbers: list[int | Place] = []
    for one, number in zip(asked, found, strict=True):
        place = _place(str(one)) if number == UNKNOWN else None
        if number == UNKNOWN and place is None:
            like = did_you_mean(str(one), names.array()[:_FEW].to_pylist())
            raise BadSource(f"source {str(one)[:80]!r} is not among the {len(names)} ids of the graph{like}")
        numbers.append(number if place is None else place)
    return numbers


def nearest(edges: Folder, graph: Folder, asked: Sequence[int | Place]) -> list[int]:
    """The same, with the nearest vertex for each place: on the sphere, with the smallest id among equally near ones.

    Raises BadSource if no vertex of the graph has coordinates.
    """
    places = [one for one in asked if not isinstance(one, int)]
    found = iter(_nearest(edges, graph, places) if places else ())
    return [one if isinstance(one, int) else next(found) for one in asked]


def different(edges: Folder, graph: Folder, asked: Sequence[int | Place]) -> list[int]:
    """The same. Raises BadSource also if two ask for the same vertex."""
    ids, seen = nearest(edges, graph, asked), set[int]()
    for one, vertex in zip(asked, ids, strict=True):
        if vertex in seen:
            raise BadSource(f"source {one} is vertex {vertex}, which is given twice")
        seen.add(vertex)
    return ids


def _integer(text: str) -> int | Place:
    if (number := id_of(text)) is not None:
        return number
    if place := _place(text):
        return place
    if text.isdecimal() or other_form_of(text):
        raise BadSource(f"source {text[:80]!r} {why_not_an_id(text) or f'is not in 0..{LARGEST}'}")
    raise BadSource(f"source {text[:80]!r} is neither an id (ids are integers in this graph) nor a place LON,LAT in degrees")


def _place(text: str) -> Place | None:
    if not (match := _PLACE.fullmatch(text.strip())):
        return None
    longitude, latitude = float(match[1]), float(match[2])
    return (longitude, latitude) if abs(longitude) <= 180 and abs(latitude) <= 90 else None


def _nearest(edges: Folder, graph: Folder, places: Sequence[Place]) -> list[int]:
    coordinates = sorted_coordinates(edges)
    ids, rows_by_id, _, _ = open_vertices(graph)
    if coordinates is not None and len(coordinates) and len(ids):
        placed = coordinates["vertex"].to_numpy()
        _, known = places_in(ids[rows_by_id], placed)
        of_graph = placed[known]
        if len(of_graph):
            points = _on_sphere(*(coordinates[name].to_numpy()[known] for name in ("x", "y")))
            # The chord ascends with the distance on the sphere. `argmax` takes the first of equal ones.
            return [int(of_graph[int((points @ _on_sphere(*map(np.array, place))).argmax())]) for place in places]
    raise BadSource(f"source {places[0][0]},{places[0][1]} is a place, but no vertex of the graph has coordinates")


def _on_sphere(longitude: Array, latitude: Array) -> Array:
    """Unit vectors [n, 3] of places in degrees."""
    east, north = np.radians(longitude), np.radians(latitude)
    return np.stack([np.cos(north) * np.cos(east), np.cos(north) * np.sin(east), np.sin(north)], axis=-1)
