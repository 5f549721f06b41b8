"""Maximum flows on the GPU (flow.cu), a block for each pair: the free memory decides how many run at a time."""

import cupy
import numpy as np

from kernels.answers import Flows
from kernels.flow.constants import THREADS
from kernels.flow.joining import joined
from kernels.flow.network import Network, network_of, tails_of
from kernels.gpu.loader import at_once, launch
from kernels.graph import Array, Graph

_LINK, _ROW = 26, 48  # bytes that a pair takes for a link and for a row, with those of the extraction


def solve(graph: Graph, src: Array, dst: Array) -> Flows:
    """Answer `kernels.flow.max_flow` on CuPy arrays."""
    network = network_of(graph)
    needed = _LINK * len(network.heads) + _ROW * graph.num_vertices
    step = at_once("the flow of one pair", needed)
    parts = [_solve_some(network, graph, src[first : first + step], dst[first : first + step])
             for first in range(0, max(len(src), 1), step)]  # fmt: skip
    return joined(graph, src, dst, parts)


def _solve_some(network: Network, graph: Graph, src: Array, dst: Array) -> tuple[Array, ...]:
    """The answers for some pairs, as `joined` takes them."""
    pairs, rows, links, row = len(src), graph.num_vertices, len(network.heads), graph.rows_by_id.dtype
    left, state = cupy.empty((pairs, links), np.int64), cupy.empty((pairs, 3, rows), np.int64)
    marks, lists = cupy.empty((pairs, rows), np.uint32), cupy.empty((pairs, 3, rows), row)
    value, vertices = cupy.empty(pairs, np.int64), cupy.empty(pairs, np.int64)
    width = min(32, 1 << max(0, (links // max(rows, 1)).bit_length() - 1))  # lanes for a row
    arrays = network.offsets, network.heads, network.capacity, network.back, np.int64(rows), np.int64(links), np.int32(width)
    pair = cupy.ascontiguousarray(src), cupy.ascontiguousarray(dst), left, state, marks, lists, value, vertices
    launch("flow/flow.cu", "solve", THREADS, None, *arrays, *pair, blocks=pairs, plain=True, ROW=row)
    reached = state[:, 0] >= 0
    full = reached[:, tails_of(network.offsets, links)] & ~reached[:, network.heads] & (network.capacity > 0)
    cuts, arcs = _listed(full, network.arcs)
    flows, flow_arcs = _listed(left < network.capacity, network.arcs)
    carried = (network.capacity - left)[left < network.capacity]
    begins = cupy.cumsum(flows) - flows
    pair_of = cupy.searchsorted(begins + flows, cupy.arange(len(flow_arcs)), side="right")
    order = cupy.lexsort(cupy.stack([flow_arcs, pair_of]))
    return value, vertices, cuts, arcs, flows, flow_arcs[order], carried[order]


def _listed(chosen: Array, arcs: Array) -> tuple[Array, Array]:
    """How many links of each pair are chosen, and the arcs of all of them."""
    places = cupy.flatnonzero(chosen.reshape(-1))
    return chosen.sum(axis=1).astype(np.int64), arcs[places % max(chosen.shape[1], 1)]
