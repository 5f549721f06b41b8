"""The distinct edges of a drawing, as an undirected graph without self-loops, in bounded memory.

Edges are drawn as often as there are pieces: of each piece, a range of ids, those are kept whose smaller end is in it.
"""

from collections.abc import Iterator
from itertools import pairwise
from typing import Any

import numpy as np

from kernels.generators import backend_of
from kernels.generators.drawing import Drawing
from kernels.graph import Array

PIECE = 1 << 26  # edges with their repetitions, unless one range of ids has more; writing scale 22 then takes 3.4 GiB on a CPU
_RANGE_BITS = 14  # ids are divided into at most 2^14 ranges


def distinct_edges(drawing: Drawing, arrays: Any = np, piece: int = PIECE) -> Iterator[tuple[Array, Array]]:
    """Yield the edges, each once: the smaller end and the larger one, int64, ascending by both.

    Args:
        arrays: NumPy or CuPy, by which edges are drawn and whose arrays are yielded.
        piece: How many edges are in memory at a time. The edges do not depend on it.
    """
    backend, bits = backend_of(arrays), drawing.bits
    shift = max(0, bits - _RANGE_BITS)
    counts = backend.counts_of_smaller(drawing, 0, drawing.num_edges, shift)
    for first, last in pairwise(_cuts(counts, piece)):
        low, high = first << shift, last << shift
        runs = backend.keys_between(drawing, 0, drawing.num_edges, low, high)
        cuts = np.arange(first + 1, last, max(1, (last - first) // 64), dtype=np.uint64) << np.uint64(shift + bits)
        keys = backend.distinct(runs, cuts)
        yield (keys >> np.uint64(bits)).astype(np.int64), (keys & np.uint64((1 << bits) - 1)).astype(np.int64)


def _cuts(counts: Array, piece: int) -> list[int]:
    """Where the pieces begin and end: consecutive ranges with at most `piece` edges, or one range that has more."""
    cuts, edges = [0], 0
    for number, count in enumerate(counts.tolist()):
        if edges and edges + count > piece:
            cuts.append(number)
            edges = 0
        edges += count
    return [*cuts, len(counts)] if edges else cuts
