"""The answers for all pairs, from those for some pairs at a time."""

from collections.abc import Sequence

import numpy as np

from kernels.answers import Flows
from kernels.flow.capacities import as_weights
from kernels.graph import OFFSET, Array, Graph


def joined(graph: Graph, src: Array, dst: Array, solved: Sequence[tuple[Array, ...]]) -> Flows:
    """The flows of all pairs.

    Args:
        solved: For some of the pairs at a time, in order: values, vertices, numbers of arcs of the cuts, these arcs, numbers of
            arcs of the flows, these arcs, and their amounts.
    """
    value, vertices, cuts, arcs, flows, flow_arcs, amounts = (np.concatenate(each) for each in zip(*solved, strict=True))
    none = np.zeros_like(cuts, shape=(1,))
    cut_begins, flow_begins = (np.concatenate([none, np.cumsum(counts)]).astype(OFFSET) for counts in (cuts, flows))
    cut = cut_begins, *_ends_of(graph, cut_begins, arcs)
    return Flows(src, dst, as_weights(graph, value), vertices, *cut, flow_begins, flow_arcs, amounts)


def _ends_of(graph: Graph, begins: Array, arcs: Array) -> tuple[Array, Array]:
    """The ends of the arcs of cuts, of each pair ascending by their external ids: a row's arcs ascend already."""
    pair = np.searchsorted(begins, np.arange(len(arcs), like=arcs), side="right")
    tails = np.searchsorted(graph.out.offsets, arcs, side="right") - 1
    order = np.lexsort(np.stack([arcs, graph.positions[tails].astype(OFFSET), pair.astype(OFFSET)]))
    return tails[order].astype(graph.rows_by_id.dtype), graph.out.indices[arcs[order]]
