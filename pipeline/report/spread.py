"""Places on a plane for the vertices of a small graph without coordinates, so that the report can draw it.

Each component is laid out by stress majorization (Gansner, Koren and North, "Graph drawing by stress majorization", 2004):
distances on the plane come near those in the graph. Components are then packed in rows, the largest first.
"""

import math

import numpy as np
from scipy.sparse import csr_array
from scipy.sparse.csgraph import connected_components, shortest_path

from kernels.graph import Array

MOST_VERTICES = 400  # more are a ball of lines
_ROUNDS = 60  # afterwards a picture of 1,400 pixels hardly changes
_GAP = 1.0  # between components: the length of an arc


def spread(num_vertices: int, tails: Array, heads: Array) -> Array:
    """Places of vertices, float64 [V, 2]; an arc has about length 1.

    Args:
        num_vertices: At most a few hundred: time and memory grow with its square.
        tails, heads: The ends of the arcs, int64 [A]; directions, loops and parallel arcs have no effect.
    """
    links = csr_array((np.ones(len(tails)), (tails, heads)), (num_vertices, num_vertices))
    count, component = connected_components(links, directed=False)
    distances = shortest_path(links, directed=False, unweighted=True)
    members = sorted((np.flatnonzero(component == one) for one in range(count)), key=lambda rows: (-len(rows), rows[0]))
    parts = [_component(distances[np.ix_(rows, rows)]) for rows in members]
    places = np.zeros((num_vertices, 2))
    for rows, part, corner in zip(members, parts, _corners([np.ptp(part, axis=0) for part in parts]), strict=True):
        places[rows] = part - part.min(axis=0) + corner
    return places


def _component(distances: Array) -> Array:
    """Places [n, 2] for the vertices of a component by their distances [n, n]."""
    if len(distances) == 1:
        return np.zeros((1, 2))
    places = _classical_scaling(distances)
    weights = np.divide(1.0, distances**2, out=np.zeros_like(distances), where=distances > 0)
    solve = np.linalg.pinv(np.diag(weights.sum(axis=1)) - weights)
    for _ in range(_ROUNDS):
        apart = np.linalg.norm(places[:, None] - places[None], axis=2)
        pull = np.divide(weights * distances, apart, out=np.zeros_like(apart), where=apart > 0)
        places = solve @ ((np.diag(pull.sum(axis=1)) - pull) @ places)
    return _turned(places)


def _classical_scaling(distances: Array) -> Array:
    """First places: the two largest principal coordinates; a little of the order of vertices, so that no two have one place."""
    n = len(distances)
    centred = np.eye(n) - 1 / n
    values, vectors = np.linalg.eigh(centred @ (-0.5 * distances**2) @ centred)
    places: Array = vectors[:, -1:-3:-1] * np.sqrt(np.maximum(values[-1:-3:-1], 0))
    turn = 2 * math.pi * np.arange(n) / n
    return places + 0.01 * np.stack([np.cos(turn), np.sin(turn)], axis=1)


def _turned(places: Array) -> Array:
    """The places turned so that their longest extent lies across the page."""
    centred = places - places.mean(axis=0)
    _, _, axes = np.linalg.svd(centred, full_matrices=False)
    signs = np.sign(axes[np.arange(2), np.abs(axes).argmax(axis=1)])
    turned: Array = centred @ (axes * signs[:, None]).T
    return turned


def _corners(extents: list[Array]) -> list[Array]:
    """The lower left corners of boxes in rows, whose width follows from their area."""
    boxes = [extent + _GAP for extent in extents]
    width = max(math.sqrt(1.6 * sum(float(np.prod(box)) for box in boxes)), *(float(box[0]) for box in boxes))
    corners, left, bottom, height = [], 0.0, 0.0, 0.0
    for across, up in boxes:
        if left and left + across > width:
            left, bottom, height = 0.0, bottom + height, 0.0
        corners.append(np.array([left, bottom]))
        left, height = left + across, max(height, up)
    return corners
