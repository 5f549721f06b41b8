"""Edges of graphs whose searches have about as many levels as the graph has vertices, as arrays of NumPy, ends in two columns."""

import numpy as np

from kernels.graph import Array


def path(size: int) -> Array:
    """Each vertex is joined to the next one."""
    vertices = np.arange(size)
    return np.stack([vertices[:-1], vertices[1:]], 1)


def cycle(size: int) -> Array:
    """A path whose ends are joined."""
    vertices = np.arange(size)
    return np.stack([vertices, np.roll(vertices, -1)], 1)


def broom(size: int) -> Array:
    """A path of half of the vertices, whose last one is joined to all others."""
    handle = path(size // 2)
    leaves = np.arange(size // 2, size)
    return np.concatenate([handle, np.stack([np.full_like(leaves, size // 2 - 1), leaves], 1)])


def caterpillar(size: int) -> Array:
    """A path of half of the vertices, each of which has a leaf."""
    spine = np.arange(size // 2)
    return np.concatenate([path(size // 2), np.stack([spine, spine + size // 2], 1)])


def comb(size: int, tooth: int = 8) -> Array:
    """A path of every `tooth`-th vertex, each of which begins a path of its own."""
    teeth = path(size // tooth * tooth)
    first = np.arange(0, size // tooth * tooth, tooth)
    return np.concatenate([teeth[teeth[:, 1] % tooth > 0], np.stack([first[:-1], first[1:]], 1)])


def ladder(size: int) -> Array:
    """Two paths of half of the vertices, joined at each of them."""
    rail, steps = path(size // 2), np.arange(size // 2)
    return np.concatenate([rail, rail + size // 2, np.stack([steps, steps + size // 2], 1)])


FAMILIES = (path, cycle, broom, caterpillar, comb, ladder)
