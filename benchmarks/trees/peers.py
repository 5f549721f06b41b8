"""Other libraries on the same network: SciPy's searches, and the contraction hierarchies of pyroutingkit and pandana.

Each is compared with our distances before it is timed. Of a library that is not installed the rows say so.
"""

import os
import time
from collections.abc import Callable, Iterator
from importlib.metadata import version
from importlib.util import find_spec
from typing import Any

import numpy as np
from scipy.sparse import csr_array
from scipy.sparse.csgraph import dijkstra

from kernels.graph import Array, Graph

Timed = tuple[str, int, float]  # what is timed, number of sources, milliseconds for each of them
SEARCHES = 4  # sources of libraries that search from one at a time


def measure(graph: Graph, places: Array, sources: Array, targets: Array, expected: Array) -> Iterator[Timed]:
    """Time the libraries on distances from `sources` [k], to all vertices or to `targets` [T]; `expected` is [k, T]."""
    few = sources[:SEARCHES]
    size, out = graph.num_vertices, graph.out
    matrix = csr_array((out.weights, out.indices, out.offsets.astype(np.int32)), (size, size))
    name = f"scipy {version('scipy')}: dijkstra"
    yield _timed(name, len(few), lambda: dijkstra(matrix, indices=few)[:, targets], expected[: len(few)])
    tails = np.repeat(np.arange(size), np.diff(out.offsets))
    for library, build in (("pyroutingkit", _routing_kit), ("pandana", _pandana)):
        if not find_spec(library):
            yield missing(library)
            continue
        start = time.perf_counter()
        many = build(graph, tails, places)
        name = f"{library} {version(library)}"
        yield f"{name}: its hierarchy", 1, 1000 * (time.perf_counter() - start)
        yield _timed(f"{name}: to {len(targets):,} targets", len(sources), lambda many=many: many(sources, targets), expected)


def missing(library: str) -> Timed:
    """The row of a library that is not installed."""
    return f"{library}: not installed", 0, float("nan")


def _timed(what: str, count: int, call: Callable[[], Any], expected: Array) -> Timed:
    found = np.asarray(call(), np.float64)
    far = expected < 0
    if not (found[~far] == expected[~far]).all() or not (found[far] > expected.max()).all():
        raise AssertionError(f"{what}: its distances differ from ours")
    start = time.perf_counter()
    call()
    return what, count, 1000 * (time.perf_counter() - start) / count


def _routing_kit(graph: Graph, tails: Array, places: Array) -> Any:
    from pyroutingkit import CCHMetric, CCHTopology

    topology = CCHTopology()
    x, y = places
    topology.build(tails.astype(np.uint32), graph.out.indices.astype(np.uint32), y, x, graph.num_vertices)
    metric = CCHMetric(topology)
    metric.customize(graph.out.weights.astype(np.uint32), len(os.sched_getaffinity(0)))
    return lambda sources, targets: metric.distances_many_to_many(sources.astype(np.uint32), targets.astype(np.uint32))


def _pandana(graph: Graph, tails: Array, places: Array) -> Any:
    import pandana
    import pandas as pd

    x, y = (pd.Series(of) for of in places)
    ends = (pd.Series(of) for of in (tails, graph.out.indices))
    network = pandana.Network(x, y, *ends, pd.DataFrame({"weight": graph.out.weights.astype(np.float64)}), twoway=False)

    def many(sources: Array, targets: Array) -> Array:
        pairs = np.repeat(sources, len(targets)), np.tile(targets, len(sources))
        return np.array(network.shortest_path_lengths(*pairs)).reshape(len(sources), -1)

    return many
