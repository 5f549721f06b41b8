"""The oracle of maximum flows: SciPy's maximum_flow, whose capacities have 32 bits."""

from typing import Any

import numpy as np
from scipy.sparse import coo_array
from scipy.sparse.csgraph import maximum_flow

from kernels.answers import Flows
from kernels.certificate.rules import Broken, name_of
from kernels.flow.capacities import as_weights, capacities
from kernels.graph import Array, Graph
from kernels.oracle.compare import compares

PAIRS = 100  # of the sample


@compares(
    "values of {} of {} pairs are those of scipy.sparse.csgraph.maximum_flow; beyond 32 bits, between those of rounded weights",
    lambda _, flows, **__: (min(len(flows.src), PAIRS), len(flows.src)),
)
def max_flow(graph: Graph, flows: Flows) -> None:
    """Compare the values of a random sample of pairs, or of all."""
    units = capacities(graph)
    shift = max(int(sum(units.tolist())).bit_length() - 31, 0)
    low, high = _matrix(graph, units >> shift), _matrix(graph, -(-units >> shift))
    pairs = np.random.default_rng(0).choice(len(flows.src), min(len(flows.src), PAIRS), replace=False)
    for pair in np.sort(pairs).tolist():
        source, target = int(flows.src[pair]), int(flows.dst[pair])
        least, most = (np.int64(maximum_flow(arcs, source, target).flow_value) << shift for arcs in (low, high))
        bounds = as_weights(graph, np.array([least, most]))
        if not bounds[0] <= flows.value[pair] <= bounds[1]:
            ends = f"{name_of(graph, source)} to {name_of(graph, target)}"
            raise Broken(f"pair {pair}, {ends}: flow {flows.value[pair]} is not SciPy's, {bounds[0]} to {bounds[1]}")


def _matrix(graph: Graph, units: Array) -> Any:
    """Capacities with 32 bits, without self-loops; those of parallel arcs are added."""
    tails = np.repeat(np.arange(graph.num_vertices), np.diff(graph.out.offsets))
    kept = tails != graph.out.indices
    ends = tails[kept].astype(np.int32), graph.out.indices[kept].astype(np.int32)
    return coo_array((units[kept].astype(np.int32), ends), shape=(graph.num_vertices,) * 2).tocsr()
