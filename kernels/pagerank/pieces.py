"""What PageRank without tiles derives from a graph on the GPU: the pieces of long rows, which warps add (pull.cu)."""

from typing import Any

import cupy
import numpy as np

from kernels.gpu.locality import is_local
from kernels.graph import Array, Graph
from kernels.pagerank.constants import LONG_ROW, PIECE

# The shares of so many rows stay in L2, where gathering those of few arcs costs less than two passes over tiles. In larger graphs
# it does if most arcs lead to rows near by.
_CACHED_ROWS, _FEW_ARCS, _FEWER_ARCS = 1 << 21, 8, 6  # arcs per row


def is_pulled(graph: Graph) -> bool:
    """Whether rows add the shares of their in-arcs' tails without tiles; it depends on the graph alone, as the scores' bits do."""
    if graph.num_vertices <= _CACHED_ROWS:
        return graph.num_arcs <= _FEW_ARCS * graph.num_vertices
    return graph.num_arcs <= _FEWER_ARCS * graph.num_vertices and is_local(graph)


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
