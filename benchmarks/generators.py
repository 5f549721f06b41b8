"""Edges of generated graphs, as arrays, which the benchmarks and the tests share; those of R-MAT are in `kernels.generators`."""

from typing import Any

import numpy as np

from kernels.graph import Array

LARGEST_WEIGHT = 999


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
