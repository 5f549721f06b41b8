"""The vertices of an edge list on the GPU: ascending ids, and the positions of the ends of edges (arcs.cu)."""

from dataclasses import dataclass
from typing import Any

import cupy
import numpy as np

from kernels.gpu.loader import launch, pointer
from kernels.graph import ID, Array, index_dtype
from kernels.layout.constants import LAYOUT_THREADS
from kernels.layout.numbering import Searched, pays_as_table
from kernels.layout.rules import ArcRules, Edges, EdgeSource

_ARCS = "layout/arcs.cu"
_BLOCKS_PER_PROCESSOR = 8


@dataclass(frozen=True)
class NumberedEdges:
    """An edge list, all ids, their positions, the rules for its arcs, and where dropped edges are listed."""

    edges: EdgeSource
    ids: Array
    first_id: int
    positions: Array | None
    rules: ArcRules
    dropped: list[Edges] | None
    # order, rows: the position of each tail and the tail of each position, index width [V]; None: tails are positions.
    order: Array | None = None
    rows: Array | None = None

    @property
    def most_arcs(self) -> int:
        """The number of arcs if none is dropped."""
        return (1 + self.rules.both) * self.edges.count

    def positions_of(self, tails: Array) -> Array:
        """The positions of tails."""
        return tails if self.order is None else self.order[tails].astype(tails.dtype)

    def launch(self, name: str, row: np.dtype[Any], *arguments: Any, of_thread: int = 1, weighted: bool = False) -> None:
        """Launch a kernel, whose threads have `of_thread` edges, on each block of the edges."""
        of_all = (np.int64(self.first_id), pointer(self.positions))
        rules = (np.bool_(self.rules.both), np.bool_(self.rules.keep_self_loops))
        for block in self.edges.blocks():
            weights = (pointer(block.weights), bytes_of(block.weights)) if weighted else ()
            edges = (block.src, block.dst, np.int64(block.count), *of_all, *rules, *weights)
            run(name, streaming(-(-block.count // of_thread)), *edges, *arguments, EDGE=block.src.dtype, ROW=row)


def number(edges: EdgeSource, rules: ArcRules, dropped: list[Edges] | None) -> NumberedEdges:
    """Find the ascending ids, the first id, and the positions of the ids from it on (None without gaps)."""
    numbered = _numbered(edges, rules, dropped)
    if len(numbered.ids) > 1 << 32:
        raise ValueError(f"{len(numbered.ids)} vertices: two positions do not fit into a key of 64 bits")
    return numbered


def _numbered(edges: EdgeSource, rules: ArcRules, dropped: list[Edges] | None) -> NumberedEdges:
    declared, span = rules.declared, _span(edges, rules.declared)
    if not pays_as_table(span, 2 * edges.count + len(declared)):
        ids: Array = cupy.arange(declared.start, declared.stop, dtype=ID)
        for block in edges.blocks():
            ids = cupy.unique(cupy.concatenate([block.src.astype(ID), block.dst.astype(ID), ids]))
        searched = Searched(edges, ids)
        return NumberedEdges(next(searched.blocks()) if isinstance(edges, Edges) else searched, ids, 0, None, rules, dropped)
    if len(span) == len(declared):
        return NumberedEdges(edges, cupy.arange(span.start, span.stop, dtype=ID), span.start, None, rules, dropped)
    seen = cupy.zeros(len(span), np.bool_)
    seen[declared.start - span.start : declared.stop - span.start] = True
    for block in edges.blocks():
        ends = block.src, block.dst, np.int64(block.count), np.int64(span.start)
        run("mark_ids", streaming(block.count), *ends, seen, EDGE=block.src.dtype, ROW=index_dtype(0))
    places = cupy.flatnonzero(seen)
    positions = None
    if len(places) < len(span):
        positions = cupy.empty(len(span), index_dtype(len(places)))
        positions[places] = cupy.arange(len(places), dtype=positions.dtype)
    return NumberedEdges(edges, places + span.start, span.start, positions, rules, dropped)


def _span(edges: EdgeSource, declared: range) -> range:
    ends = [declared[0], declared[-1]] if declared else []
    if isinstance(edges, Edges) and edges.count:
        span, arrays = cupy.array([np.iinfo(ID).max, -1], ID), (edges.src, edges.dst, np.int64(edges.count))
        run("find_span", streaming(edges.count), *arrays, span, EDGE=edges.src.dtype, ROW=index_dtype(0))
        ends += [int(end) for end in span.get()]
    elif edges.count:
        ends += [edges.span()[0], edges.span()[-1]]
    return range(min(ends), max(ends) + 1) if ends else range(0)


def bits_of(largest: int) -> int:
    """Bits of a number up to `largest`, at least 1."""
    return max(largest, 1).bit_length()


def bytes_of(weights: Array | None) -> np.int32:
    """Bytes of a weight; 0 without weights."""
    return np.int32(0 if weights is None else weights.itemsize)


def streaming(threads: int) -> int:
    """Blocks for a loop over `threads` elements: at most as many as run at a time."""
    most = _BLOCKS_PER_PROCESSOR * cupy.cuda.Device().attributes["MultiProcessorCount"]
    return int(min(-(-threads // LAYOUT_THREADS), most))


def run(name: str, blocks: int, *arguments: Any, source: str = _ARCS, **types: Any) -> None:
    """Launch a kernel of the layout, by default of arcs.cu, with so many blocks."""
    launch(source, name, LAYOUT_THREADS, None, *arguments, blocks=blocks, plain=True, **types)
