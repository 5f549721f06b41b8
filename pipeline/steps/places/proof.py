"""Whether vertices stand for the places of a file as they must, by another formula than the one that found them."""

import numpy as np

from kernels.graph import Array
from pipeline.errors import ProofFailed
from pipeline.steps.places import Ground, text_of
from pipeline.steps.places.haversine import haversine
from pipeline.steps.places.placed import Placed

ON_STREETS = (
    "each place is within the limit of its vertex, by the haversine formula; the step that attached it proved that it is nearest",
    "the table, read back, has the rows that were written",
)
RULES = (
    "each place is within the limit of its vertex, by the haversine formula",
    "no vertex that may stand for it is nearer to a place of a sample",
    "the table, read back, has the rows that were written",
)
CENTRAL = "no vertex of a zone that may stand for it is nearer to the zone's centre than the one that does"
_COMPARED, _MOST = 2**22, 100  # distances that are computed for the sample, and places in it
_DECIMALS = 0.02  # metres that a vertex at a foot, which has seven decimals of a degree, is from it at most
_TOLERANCE, _RELATIVE = 1e-5, 1e-8  # metres, and of a distance: the formula is less exact on the other side of the globe


def require_nearest(placed: Placed, ground: Ground) -> None:
    """Raise ProofFailed unless each place has a vertex within the limit, and those of a sample have the nearest ones."""
    at, metres = placed.places.degrees, placed.metres
    known = ~np.isnan(metres)
    apart = haversine(at[known], ground.degrees_of(placed.vertices[known]))
    wrong = (np.abs(apart - metres[known]) > _tolerance(apart) + (_DECIMALS if ground.attached else 0)) | (
        metres[known] > ground.limit
    )
    if wrong.any():
        row = int(np.flatnonzero(known)[int(wrong.argmax())])
        raise ProofFailed(f"{_what(placed, row)} is not {metres[row]} m from vertex {placed.vertices[row]}, or beyond the limit")
    if ground.attached:
        return
    free = np.flatnonzero(~placed.stated)
    allowed, places = ground.allowed_degrees, len(free)
    count = min(places, _MOST, max(1, _COMPARED // max(1, len(allowed))))
    for row in free[np.random.default_rng(places).choice(places, count, replace=False)] if places else ():
        least = float(haversine(at[row][np.newaxis], allowed).min())
        if least < metres[row] - _tolerance(np.array(least)):
            raise ProofFailed(f"{_what(placed, row)} is {metres[row]} m from its vertex, and {least} m from another one")


def _what(placed: Placed, row: int) -> str:
    return f"place {placed.places.text(row)} at {text_of(placed.places.degrees[row])}"


def _tolerance(metres: Array) -> Array:
    tolerance: Array = _TOLERANCE + _RELATIVE * metres
    return tolerance
