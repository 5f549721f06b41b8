"""A drawing's edges as the source of a layout on a GPU, and the graphs that are laid out from them."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import cupy as cp
import numpy as np

from kernels.cpu.parallel import differences
from kernels.distributed import SingleRank
from kernels.generators import Drawing, ends, weights
from kernels.graph import ID, Graph
from kernels.layout.building import build_csr
from kernels.layout.certificate.claim import Claim
from kernels.layout.rules import ArcRules, Edges

RULES = ArcRules(range(0), both=True, keep_self_loops=False, keep_parallel=False)
BLOCK = 1 << 26  # edges in memory at a time, of 16 bytes
_BY_DEGREE = 2**62  # a window of all rows
_WEIGHT = np.dtype(np.int32)  # the narrowest type of weights that a graph has; drawn ones would fit in 10 bits


@dataclass(frozen=True)
class DrawnEdges:
    """The edges of a drawing as `kernels.layout.rules.EdgeSource`, with CuPy's arrays: drawn again whenever they are read.

    Weights are those of `graphmill generate`: integers 1 to 999, which depend on the ends, so that parallel edges weigh the same.
    """

    drawing: Drawing
    block: int = BLOCK  # edges
    weighted: bool = False
    spill: None = None

    @property
    def count(self) -> int:
        """See `EdgeSource`."""
        return self.drawing.num_edges

    @property
    def weight(self) -> np.dtype[Any] | None:
        """See `EdgeSource`."""
        return _WEIGHT if self.weighted else None

    def span(self) -> range:
        """See `EdgeSource`."""
        return range(self.drawing.num_ids)

    def blocks(self) -> Iterator[Edges]:
        """See `EdgeSource`."""
        for begin in range(0, self.count, self.block):
            yield self.between(begin, min(begin + self.block, self.count))

    def between(self, begin: int, end: int) -> Edges:
        """The edges `begin..end-1`."""
        src, dst = ends(self.drawing, begin, end, cp)
        return Edges(src, dst, weights(src, dst, self.drawing.seed).astype(_WEIGHT) if self.weighted else None)

    def none(self) -> Edges:
        """See `EdgeSource`."""
        return Edges(cp.empty(0, ID), cp.empty(0, ID), cp.empty(0, _WEIGHT) if self.weighted else None)


def laid_out(edges: DrawnEdges) -> tuple[Graph, Claim]:
    """The graph in rows by descending degree, and what is to be proved of it."""
    found = build_csr(edges, RULES, _BY_DEGREE, SingleRank())
    out = found.whole("out")
    graph = Graph(found.ids, found.rows_by_id, out, out, found.directed)
    added = edges.count - found.self_loops
    degrees = differences(out.offsets)
    claim = Claim(
        len(found.ids), graph.num_arcs, found.self_loops, added, 2 * added - graph.num_arcs, degrees, degrees,
        edges.none().with_parts(found.dropped),
    )  # fmt: skip
    return graph, claim


def levels(graph: Graph, distance: Any) -> list[tuple[int, int]]:
    """Numbers of rows and of their arcs at every number of hops (int64 [V]) from a source."""
    degrees = cp.diff(graph.out.offsets)
    at = (distance == hops for hops in range(int(distance.max()) + 1))
    return [(int(cp.count_nonzero(rows)), int(degrees[rows].sum())) for rows in at]
