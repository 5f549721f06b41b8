"""Shards of a drawing that no rank has to exchange: each draws all edges, block by block, and keeps the arcs of its own vertices.

Ids of a drawing are scrambled, so ranges of ids with equal lengths have about equally many vertices and arcs. A rank has the
vertices of one range; within it, rows descend by degree. Arcs are never sent: only the rows of neighbours are.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import cupy as cp
import numpy as np

from benchmarks.one_gpu.drawn import RULES, DrawnEdges
from kernels.cpu.parallel import differences, inverse
from kernels.distributed import Communicator, Owners, Shard
from kernels.graph import OFFSET, Array, Csr, index_dtype
from kernels.layout.certificate.claim import Claim
from kernels.layout.cleaning import clean
from kernels.layout.laid_out import LaidOut, take_rows
from kernels.layout.orders import by_degree_in_windows
from kernels.layout.rules import ArcRules, Edges
from kernels.layout.sharded import shard_of
from kernels.layout.sharded.cleaning import ArcsToIds, VerticesOfRange

_ARCS = ArcRules(range(0), both=False, keep_self_loops=RULES.keep_self_loops, keep_parallel=RULES.keep_parallel)
_BY_DEGREE = 2**62  # a window of all rows


@dataclass(frozen=True)
class _PartOfDrawing:
    """What parts of a drawing's edges have in common as `kernels.layout.rules.EdgeSource`."""

    edges: DrawnEdges

    @property
    def spill(self) -> None:
        """See `EdgeSource`."""

    @property
    def weight(self) -> np.dtype[Any] | None:
        """See `EdgeSource`."""
        return self.edges.weight

    def span(self) -> range:
        """See `EdgeSource`."""
        return self.edges.span()

    def none(self) -> Edges:
        """See `EdgeSource`."""
        return self.edges.none()


@dataclass(frozen=True)
class Share(_PartOfDrawing):
    """A rank's share of a drawing's edges as `kernels.layout.rules.EdgeSource`, in as many blocks as any other rank's."""

    rank: int
    size: int

    @property
    def count(self) -> int:
        """See `EdgeSource`."""
        return sum(end - begin for begin, end in self._bounds())

    def blocks(self) -> Iterator[Edges]:
        """See `EdgeSource`."""
        return (self.edges.between(begin, end) for begin, end in self._bounds())

    def _bounds(self) -> list[tuple[int, int]]:
        length, all_edges = self.edges.block, self.edges.count
        begins = range(self.rank * length, self.rank * length + all_edges, self.size * length)
        return [(min(begin, all_edges), min(begin + length, all_edges)) for begin in begins]


@dataclass(frozen=True)
class OwnArcs(_PartOfDrawing):
    """The arcs, in both directions, of a drawing's edges whose tails are a rank's, as an `EdgeSource`; a self-loop comes once."""

    own: range  # ids

    @cached_property
    def count(self) -> int:
        """See `EdgeSource`."""
        return sum(block.count for block in self.blocks())

    def blocks(self) -> Iterator[Edges]:
        """See `EdgeSource`."""
        for block in self.edges.blocks():
            out = block.take(cp.flatnonzero(self._is_own(block.src)))
            into = block.take(cp.flatnonzero(self._is_own(block.dst) & (block.src != block.dst)))
            del block
            yield out
            yield Edges(into.dst, into.src, into.weights)

    def _is_own(self, ids: Array) -> Array:
        own: Array = (ids >= self.own.start) & (ids < self.own.stop)
        return own


def laid_out(edges: DrawnEdges, communicator: Communicator) -> tuple[Shard, Claim]:
    """This rank's shard of the drawing, and what is to be proved of it. Collective.

    Rows differ from those of a single rank. Answers do not: they name vertices, by external ids.
    """
    cuts = [edges.drawing.num_ids * rank // communicator.size for rank in range(communicator.size + 1)]
    own = range(*cuts[communicator.rank : communicator.rank + 2])
    owned = _owned(edges, own, np.array(cuts[1:-1], OFFSET))
    self_loops = communicator.sum(owned.self_loops)
    claimed = owned.dropped
    shard = shard_of(_in_rows(owned, communicator), communicator)
    degrees = differences(shard.out.offsets)
    arcs, added = communicator.sum(int(shard.out.offsets[-1])), edges.count - self_loops
    claim = Claim(
        shard.num_vertices, arcs, self_loops, added, 2 * added - arcs, degrees, degrees, edges.none().with_parts(claimed)
    )
    return shard, claim


def _owned(edges: DrawnEdges, own: range, cuts: Array) -> VerticesOfRange:
    """The vertices in a range of ids, and their arcs."""
    dropped: list[Edges] = []
    heads, arcs, self_loops = clean(OwnArcs(edges, own), _ARCS, dropped)
    first, stop = cp.searchsorted(heads, cp.array([own.start, own.stop])).tolist()
    once = [part.take(cp.flatnonzero(part.src >= part.dst)) for part in dropped]  # the other end's rank has the reverse
    rows = Csr(arcs.offsets[first : stop + 1].copy(), arcs.indices, arcs.weights)
    return VerticesOfRange(cuts, heads[first:stop].copy(), [ArcsToIds(rows, heads)], self_loops, once)


def _in_rows(owned: VerticesOfRange, communicator: Communicator) -> LaidOut:
    """The rows of the own vertices by descending degree, after those of all lower ranks. Collective."""
    arcs = owned.arcs.pop()
    owners = Owners.of_counts(len(owned.ids), communicator)
    row = index_dtype(int(owners.bounds[-1]))
    order = by_degree_in_windows(differences(arcs.csr.offsets), _BY_DEGREE)
    rows = inverse(order).astype(row) + row.type(owners.start)
    csr = take_rows(arcs.csr, order, owned.request(arcs.heads, rows, communicator))
    part, positions = range(communicator.rank, communicator.rank + 1), order.astype(row) + row.type(owners.start)
    return LaidOut(
        owners.bounds, part, owned.ids[order], positions, owners.start, rows, {"out": csr}, False, False, 0, owned.dropped
    )
