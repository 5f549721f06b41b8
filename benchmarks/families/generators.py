"""Edges of twelve families of graphs with given numbers of vertices, as arrays of NumPy or CuPy, the library of `random`.

A generator takes the wanted number of vertices and a random generator, and returns the ends of the edges, int64, and the number
of vertices, which is near the wanted one. Self-loops and parallel edges occur.
"""

from typing import Any

import numpy as np

from benchmarks.generators import grid_edges
from kernels.graph import Array

Generated = tuple[Array, Array, int]
_NEAREST = 6  # neighbours that a point of `nearest_neighbours` is joined to
_SHORTCUTS = 0.05  # edges of the small world that lead to a random vertex
_LOCAL, _REACH = 0.75, 1000  # links of the web to a page near by, and how near
_MOST_LINKS = 500  # of a page


def random_regular(size: int, random: Any, arrays: Any = np, degree: int = 6) -> Generated:
    """Random graph in which nearly every vertex has `degree` neighbours: the union of random permutations."""
    orders = [random.random(size).argsort() for _ in range(degree // 2)]
    return arrays.concatenate(orders), arrays.concatenate([arrays.roll(order, 1) for order in orders]), size


def nearest_neighbours(size: int, random: Any, arrays: Any = np, nearest: int = _NEAREST) -> Generated:
    """Points of a plane, one at random in each cell of a square grid on a torus, joined to their nearest others.

    The eight neighbouring cells have points within 2.83 cells, so the nearest six are among those of 7 x 7 cells.
    """
    side = round(size**0.5)
    x, y = random.random((2, side, side), dtype=np.float32)
    steps = [(up, right) for up in range(-3, 4) for right in range(-3, 4) if up or right]
    squares = arrays.stack([
        (arrays.roll(x, (-up, -right), (0, 1)) + right - x) ** 2 + (arrays.roll(y, (-up, -right), (0, 1)) + up - y) ** 2
        for up, right in steps
    ]).reshape(len(steps), -1)  # fmt: skip
    cells = arrays.arange(side * side)
    ups, rights = arrays.asarray(steps).T
    ends = []
    for _ in range(nearest):
        chosen = squares.argmin(axis=0)
        squares[chosen, cells] = np.inf
        ends.append((cells // side + ups[chosen]) % side * side + (cells + rights[chosen]) % side)
    return arrays.tile(cells, nearest), arrays.concatenate(ends), side * side


def small_world(size: int, random: Any, arrays: Any = np) -> Generated:
    """A ring whose vertices are joined to the next two; a few of the edges lead to a random vertex instead (Watts, Strogatz)."""
    src = arrays.arange(2 * size) // 2
    near = (src + 1 + arrays.arange(2 * size) % 2) % size
    return src, arrays.where(random.random(2 * size) < _SHORTCUTS, _below(size, 2 * size, random), near), size


def preferential_attachment(size: int, random: Any, arrays: Any = np, degree: int = 2) -> Generated:
    """Every vertex is joined to `degree` earlier ones, drawn by their degree (Batagelj, Brandes, Physical Review E 71, 2005).

    Place 2e of the list of ends has the new vertex of edge e, and place 2e + 1 a copy of a random earlier place.
    """
    count = degree * size
    edges = arrays.arange(count)
    places = (random.random(count) * (2 * edges + 1)).astype(np.int64)
    while (odd := places % 2 == 1).any():
        places = arrays.where(odd, places[places // 2], places)
    return edges // degree, places // 2 // degree, size


def tree(size: int, random: Any, arrays: Any = np) -> Generated:
    """Random recursive tree: every vertex is joined to a random earlier one."""
    children = arrays.arange(1, size)
    return children, (random.random(size - 1) * children).astype(np.int64), size


def star_of_stars(size: int, random: Any, arrays: Any = np) -> Generated:
    """A centre with as many neighbours as each of these has leaves."""
    arms = round(size**0.5)
    others = arrays.arange(1, 1 + arms + arms * arms)
    return others, arrays.where(others <= arms, 0, (others - 1 - arms) // arms + 1), len(others) + 1


def grid(size: int, random: Any, arrays: Any = np) -> Generated:
    """Square grid with four neighbours per cell."""
    side = round(size**0.5)
    return *grid_edges(side, arrays=arrays), side * side


def cubic_grid(size: int, random: Any, arrays: Any = np) -> Generated:
    """Cubic grid with six neighbours per cell."""
    side = round(size ** (1 / 3))
    cells = arrays.arange(side**3).reshape(side, side, side)
    src = arrays.concatenate([cells[:-1].ravel(), cells[:, :-1].ravel(), cells[:, :, :-1].ravel()])
    dst = arrays.concatenate([cells[1:].ravel(), cells[:, 1:].ravel(), cells[:, :, 1:].ravel()])
    return src, dst, side**3


def bipartite(size: int, random: Any, arrays: Any = np, degree: int = 4) -> Generated:
    """Each vertex of one half is joined to `degree` random ones of the other half."""
    half = size // 2
    return arrays.arange(degree * half) // degree, half + _below(half, degree * half, random), 2 * half


def web(size: int, random: Any, arrays: Any = np) -> Generated:
    """Directed: numbers of links follow a power law, and lead near by or to a page that is popular by a power law."""
    links = arrays.minimum(3 * (1 - random.random(size)) ** -0.6, _MOST_LINKS).astype(np.int64)
    ends = links.cumsum()
    count = int(ends[-1])
    src = arrays.searchsorted(ends, arrays.arange(count), side="right")
    step = arrays.minimum((1 - random.random(count)) ** -1, _REACH).astype(np.int64)
    near = src + arrays.where(random.random(count) < 0.5, step, -step)
    popular = (size * random.random(count) ** 4).astype(np.int64) * 7919
    return src, arrays.where(random.random(count) < _LOCAL, near, popular) % size, size


def _below(limit: int, count: int, random: Any) -> Array:
    drawn: Array = (limit * random.random(count)).astype(np.int64)
    return drawn
