"""The network of a graph: for each arc a link, and a link back, by which flow returns."""

from typing import NamedTuple

import numpy as np

from kernels.flow.capacities import capacities
from kernels.graph import OFFSET, Array, Graph


class Network(NamedTuple):
    """The links of L arcs and ways back, by their tails."""

    offsets: Array  # int64 [V + 1]
    heads: Array  # index width [L]
    capacity: Array  # int64 [L]; 0 where a link is only a way back
    back: Array  # int64 [L]: the place of the link back, of which this one is the link back; of a self-loop maybe itself
    arcs: Array  # int64 [L]: the place in `graph.out` of the arc; -1 where a link is only a way back


def network_of(graph: Graph) -> Network:
    """The network, which is kept with the graph. In a symmetric graph an arc's reverse is its way back."""
    network: Network = graph.derived.get(network_of, lambda: _symmetric(graph) if graph.symmetric else _directed(graph))
    return network


def _symmetric(graph: Graph) -> Network:
    tails, heads = tails_of(graph.out.offsets, graph.num_arcs), graph.out.indices.astype(OFFSET)
    size = graph.num_vertices
    forth, back = (np.argsort(near * size + far, kind="stable") for near, far in ((tails, heads), (heads, tails)))
    places = np.empty_like(forth)
    places[forth] = back  # of parallel arcs, too, each one and its reverse are equally far in both orders
    return Network(
        graph.out.offsets, graph.out.indices, capacities(graph), places, np.arange(len(heads), dtype=OFFSET, like=heads)
    )


def _directed(graph: Graph) -> Network:
    tails, heads = tails_of(graph.out.offsets, graph.num_arcs), graph.out.indices.astype(OFFSET)
    count = len(heads)
    near, far = np.concatenate([tails, heads]), np.concatenate([heads, tails])
    order = np.argsort(near, kind="stable")
    places = np.empty_like(order)
    places[order] = np.arange(2 * count, dtype=order.dtype, like=order)
    offsets = np.zeros_like(graph.out.offsets)
    np.cumsum(np.bincount(near, minlength=graph.num_vertices), out=offsets[1:])
    none = np.zeros(count, OFFSET, like=heads)
    capacity, arcs = (
        np.concatenate([capacities(graph), none]),
        np.concatenate([np.arange(count, dtype=OFFSET, like=heads), none - 1]),
    )
    back = np.concatenate([places[count:], places[:count]])[order]
    return Network(offsets, far[order].astype(graph.out.indices.dtype), capacity[order], back, arcs[order])


def tails_of(offsets: Array, links: int) -> Array:
    """The tail of each of `links` links, or arcs, int64."""
    return np.searchsorted(offsets, np.arange(links, dtype=OFFSET, like=offsets), side="right").astype(OFFSET) - 1
