"""Vertices as users name them: an external id, the id of a source whose ids are strings, or the place `LON,LAT` near a vertex."""

import re
from collections.abc import Sequence

import pyarrow as pa

from pipeline.config.model import LARGEST
from pipeline.errors import BadSource
from pipeline.store.manifest import Folder
from pipeline.store.names import UNKNOWN, open_names
from pipeline.suggestions import did_you_mean
from pipeline.texts import id_of, other_form_of, why_not_an_id

Place = tuple[float, float]  # degrees of longitude and latitude
ORDER = "a place is LON,LAT in degrees, longitude first"
_NUMBER = r"[-+]?\d{1,3}(?:\.\d{0,15})?"
_PLACE = re.compile(rf"({_NUMBER})\s*,\s*({_NUMBER})")
_FEW = 1000  # names that are compared with a wrong one


def numbers_of(edges: Folder, vertices: Sequence[int | str]) -> list[int | Place]:
    """The external ids of the requested vertices; a place stays a place, unless it is an id of a source with string ids.

    Raises BadSource for a name that the source does not have, for a text that is neither an integer nor a place, and for a place
    that is not on the globe.
    """
    names = open_names(edges)
    if names is None:
        return [one if isinstance(one, int) else _integer(one) for one in vertices]
    numbers_of_names = names.find(pa.array([str(one) for one in vertices], pa.large_string())).tolist() if vertices else []
    numbers: list[int | Place] = []
    for one, number in zip(vertices, numbers_of_names, strict=True):
        place = place_of(str(one)) if number == UNKNOWN else None
        if number == UNKNOWN and place is None:
            like = did_you_mean(str(one), names.array()[:_FEW].to_pylist())
            raise BadSource(f"source {str(one)[:80]!r} is not among the {len(names)} ids of the graph{like}")
        numbers.append(number if place is None else place)
    return numbers


def is_place(text: str) -> bool:
    """Whether a text has the form of a place."""
    return _PLACE.fullmatch(text.strip()) is not None


def _integer(text: str) -> int | Place:
    if (number := id_of(text)) is not None:
        return number
    if place := place_of(text):
        return place
    if text.isdecimal() or other_form_of(text):
        raise BadSource(f"source {text[:80]!r} {why_not_an_id(text) or f'is not in 0..{LARGEST}'}")
    raise BadSource(f"source {text[:80]!r} is neither an id (ids are integers in this graph) nor a place LON,LAT in degrees")


def place_of(text: str) -> Place | None:
    """The place that a text `LON,LAT` is; None for another text. Raises BadSource for one that is not on the globe."""
    if not (match := _PLACE.fullmatch(text.strip())):
        return None
    for name, number, most in zip(("longitude", "latitude"), match.groups(), (180, 90), strict=True):
        if abs(float(number)) > most:
            raise BadSource(f"source {text!r} is no id, and as a place its {name} {number} is not in -{most}..{most}; {ORDER}")
    return float(match[1]), float(match[2])
