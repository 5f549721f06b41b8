"""What PageRank without tiles derives from a graph on the GPU: the pieces of long rows, which warps add (pull.cu)."""

from typing import Any

import cupy
import numpy as np

from kernels.gpu.tiles.locality import is_local
from kernels.graph import Array, Graph
from kernels.pagerank.constants import LONG_ROW, PIECE

# Gathering the shares of few arcs per row costs less than two passes over tiles, if L2 holds the shares of all rows, or if most
# arcs lead to rows near by, whose shares L2 holds at the same time, or to the first rows, whose shares L1 holds.
_FEW_ARCS, _CACHED_ROWS, _NEAR, _POPULAR = 8, 1 << 21, 1 << 20, 1 << 15


def is_pulled(graph: Graph) -> bool:
    """Whether rows add their in-arcs' shares without tiles. This depends on the graph alone, as the scores' bits do."""
    if graph.num_arcs > _FEW_ARCS * graph.num_vertices:
        return False
    return graph.num_vertices <= _CACHED_ROWS or is_local(graph, _NEAR, _POPULAR)


def pieces_of(graph: Graph) -> Array:
    """The pieces of rows of at least LONG_ROW in-arcs: row, first arc, end and the row's first piece, int64 [P, 4].

    The first call on a graph makes them.
    """
    pieces: Array = graph.derived.get(pieces_of, lambda: _made(graph.into.offsets))
    return pieces


def _made(offsets: Any) -> Any:
    lengths = cupy.diff(offsets)
    rows = cupy.flatnonzero(lengths >= LONG_ROW)
    ends = cupy.cumsum(-(-lengths[rows] // PIECE))  # of the rows' pieces
    pieces = cupy.arange(int(ends[-1]) if len(ends) else 0)
    places = cupy.searchsorted(ends, pieces, side="right")
    rows, first_pieces = rows[places], cupy.concatenate([cupy.zeros(1, np.int64), ends])[places]
    firsts = offsets[rows] + (pieces - first_pieces) * PIECE
    return cupy.stack([rows, firsts, cupy.minimum(firsts + PIECE, offsets[rows + 1]), first_pieces], axis=1)
