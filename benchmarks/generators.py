"""Edges of generated graphs, as arrays: one generator for each kind, which the benchmarks and the tests share."""

from collections.abc import Callable
from typing import Any

import numpy as np

from kernels.graph import Array

# Limits of the first three quadrants for a number drawn from [0, 1): Graph500's parameters, of which the fourth is 0.05.
# Chakrabarti, Zhan, Faloutsos: R-MAT: A Recursive Model for Graph Mining, SDM 2004.
RMAT_LIMITS = np.cumsum([0.57, 0.19, 0.19])
LARGEST_WEIGHT = 999
EDGES_PER_VERTEX = 16


def rmat_edges(scale: int, count: int, draw: Callable[[int], Array], arrays: Any = np) -> tuple[Array, Array]:
    """Draw `count` R-MAT edges between 2^scale vertices, int64; `draw(count)` returns uniform numbers from [0, 1).

    `arrays` is NumPy or CuPy, as which `draw` returns its numbers.
    """
    src, dst = arrays.zeros((2, count), np.int64)
    limits = arrays.asarray(RMAT_LIMITS)
    for _ in range(scale):
        quadrant = arrays.searchsorted(limits, draw(count), side="right")
        src, dst = 2 * src + (quadrant >> 1), 2 * dst + (quadrant & 1)
    return src, dst


def grid_edges(width: int, height: int | None = None, arrays: Any = np) -> tuple[Array, Array]:
    """Edges of a 4-neighbour grid whose cells are numbered row by row, int64: to the right, then down.

    `height` is `width` by default; `arrays` is NumPy or CuPy.
    """
    height = width if height is None else height
    cells = arrays.arange(width * height, dtype=np.int64).reshape(height, width)
    src = arrays.concatenate([cells[:, :-1].ravel(), cells[:-1].ravel()])
    dst = arrays.concatenate([cells[:, 1:].ravel(), cells[1:].ravel()])
    return src, dst


def layered_edges(layers: int, width: int, random: np.random.Generator, degree: int = 4) -> tuple[Array, Array]:
    """Arcs of a random acyclic graph: `degree` from every vertex to random ones of the next layer; ids are permuted."""
    size = layers * width
    src = np.repeat(np.arange(size - width), degree)
    dst = (src // width + 1) * width + random.integers(width, size=len(src))
    ids = random.permutation(size)
    return ids[src], ids[dst]
