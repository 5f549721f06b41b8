"""Random graphs whose edges are computed from their numbers: the same on CPU and GPU, in any order and in any number of parts.

Read `drawing.py` first. `cpu.py` and `edges.cu` compute the edges; `social.py` makes the tables of a social graph, and
`distinct.py` yields the distinct edges of a graph in bounded memory.

A random word is an output of SplitMix64, which can be computed from its number. Ids are scrambled as Graph500 does.

Sources: Steele, Lea, Flood, Fast Splittable Pseudorandom Number Generators, OOPSLA 2014. Chakrabarti, Zhan, Faloutsos, R-MAT: A
Recursive Model for Graph Mining, SDM 2004. Graph500's reference implementation, generator/graph_generator.c (`scramble`).
"""

from typing import Any

import numpy as np

from kernels.generators.drawing import Drawing, graph500, mixed
from kernels.graph import Array

__all__ = ["Drawing", "backend_of", "ends", "graph500", "weights"]
LARGEST_WEIGHT = 999


def ends(drawing: Drawing, begin: int, end: int, arrays: Any = np) -> tuple[Array, Array]:
    """The ends of the edges `begin..end-1`, int64 [end - begin] each, by `arrays`: NumPy or CuPy."""
    src, dst = backend_of(arrays).drawn(drawing, begin, end)
    return src, dst


def weights(src: Array, dst: Array, seed: int = 1, largest: int = LARGEST_WEIGHT) -> Array:
    """Weights 1..largest, int64, that depend on the seed and the ends of an edge only, in either direction."""
    keys = (np.minimum(src, dst).astype(np.uint64) << np.uint64(32)) ^ np.maximum(src, dst).astype(np.uint64)
    keys += np.uint64(mixed(seed))
    for shift, factor in ((30, 0xBF58476D1CE4E5B9), (27, 0x94D049BB133111EB)):
        keys ^= keys >> np.uint64(shift)
        keys *= np.uint64(factor)
    keys ^= keys >> np.uint64(31)
    drawn: Array = 1 + ((keys >> np.uint64(1)) % np.uint64(largest)).astype(np.int64)
    return drawn


def backend_of(arrays: Any) -> Any:
    """The module that draws arrays of NumPy or CuPy."""
    if arrays is np:
        from kernels.generators import cpu

        return cpu
    from kernels.generators import cuda

    return cuda
