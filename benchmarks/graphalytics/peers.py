"""Libraries with Python interfaces, each in a process of its own: `python -m benchmarks.graphalytics.peers NAME FOLDER OUT RUNS`.

The process writes `OUT/ALGORITHM.npy`, values by ascending vertices, and prints JSON: version, seconds to load, and of each run.
Only algorithms that are the benchmark's are here: NetworKit's and igraph's label propagation is neither synchronous nor in fixed
rounds, and igraph's PageRank has no fixed number of iterations.
"""

import argparse
import json
import time
from collections.abc import Callable
from importlib.metadata import version
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.graphalytics.inputs import BenchmarkGraph
from kernels.graph import Array
from pipeline.graphalytics.machine import memory_in_use
from pipeline.graphalytics.validation import UNREACHED

Solver = Callable[[], Any]
Values = Callable[[Any], Array]  # from what a solver returned; not timed
Calls = dict[str, tuple[Solver, Values]]


def networkit(graph: BenchmarkGraph) -> Calls:
    """NetworKit on all cores."""
    import networkit as nk

    weights = np.ones(len(graph.src)) if graph.weights is None else graph.weights.astype(np.float64)
    ends = graph.src.astype(np.uint64), graph.dst.astype(np.uint64)
    made = nk.GraphFromCoo((weights, ends), len(graph.ids), weighted=graph.weights is not None, directed=False)
    made.sortEdges()  # asked for by `turbo`
    given = graph.properties.algorithms["pr"]

    def ranks() -> Any:
        algorithm = nk.centrality.PageRank(made, damp=given["damping-factor"], tol=1e-300)
        algorithm.maxIterations = given["num-iterations"]
        return algorithm.run()

    hops = nk.Graph(made) if graph.weights is None else nk.graphtools.toUnweighted(made)
    calls: Calls = {
        "bfs": (lambda: nk.distance.BFS(hops, graph.source, storePaths=False).run(), lambda run: _hops(run.getDistances())),
        "wcc": (
            lambda: nk.components.ParallelConnectedComponents(made).run(),
            lambda run: np.asarray(run.getPartition().getVector(), np.int64),
        ),
        "lcc": (
            lambda: nk.centrality.LocalClusteringCoefficient(made, True).run(),
            lambda run: np.asarray(run.scores()),
        ),
        "pr": (ranks, lambda run: np.asarray(run.scores())),
    }
    if graph.weights is not None:
        calls["sssp"] = (
            lambda: nk.distance.Dijkstra(made, graph.source, storePaths=False).run(),
            lambda run: _sums(run.getDistances()),
        )
    return calls


def igraph(graph: BenchmarkGraph) -> Calls:
    """igraph, whose algorithms use one core."""
    import igraph as ig

    made = ig.Graph(len(graph.ids), np.column_stack((graph.src, graph.dst)), directed=False)
    calls: Calls = {
        "bfs": (lambda: made.distances([graph.source])[0], _hops),
        "wcc": (lambda: made.connected_components("weak").membership, lambda labels: np.asarray(labels, np.int64)),
        "lcc": (lambda: made.transitivity_local_undirected(mode="zero"), np.asarray),
    }
    if graph.weights is not None:
        weights = graph.weights.tolist()
        calls["sssp"] = (lambda: made.distances([graph.source], weights=weights)[0], _sums)
    return calls


def cugraph(graph: BenchmarkGraph) -> Calls:
    """Pylibcugraph on the current GPU; LCC by its triangles."""
    import cupy as cp
    import pylibcugraph as library

    handle = library.ResourceHandle()
    src, dst = (cp.asarray(np.append(one, other)) for one, other in ((graph.src, graph.dst), (graph.dst, graph.src)))
    weights = None if graph.weights is None else cp.asarray(np.tile(graph.weights, 2).astype(np.float64))

    def build(transposed: bool, of_arcs: Any = None) -> Any:
        properties = library.GraphProperties(is_symmetric=True, is_multigraph=False)
        return library.SGGraph(
            handle, properties, src, dst, weight_array=of_arcs, store_transposed=transposed, renumber=True,
            do_expensive_check=False, vertices_array=cp.arange(len(graph.ids), dtype=src.dtype),
        )  # fmt: skip

    made, given = build(False), graph.properties.algorithms["pr"]
    transposed = build(True)
    start = cp.asarray([graph.source], src.dtype)
    degrees = cp.bincount(src, minlength=len(graph.ids)).astype(np.float64)
    pairs = cp.maximum(degrees * (degrees - 1), 1)

    def search() -> Any:
        distance, _, vertices = library.bfs(handle, made, start, True, -1, True, False)  # predecessors cannot be left out
        return vertices, distance

    def coefficients() -> Any:
        vertices, triangles = library.triangle_count(handle, made, None, False)
        return vertices, 2 * triangles / pairs[vertices]

    def ranks() -> Any:
        return library.pagerank(
            handle, transposed, None, None, None, None, given["damping-factor"], 1e-30, given["num-iterations"], False,
            fail_on_nonconvergence=False,
        )[:2]  # fmt: skip

    def by_vertex(answer: Any) -> Array:
        vertices, values = answer
        ordered: Array = values[cp.argsort(vertices)].get()
        return ordered

    def waiting(solve: Solver) -> Solver:
        def solved() -> Any:
            answer = solve()
            cp.cuda.Device().synchronize()
            return answer

        return solved

    calls: Calls = {
        "bfs": (waiting(search), lambda answer: _hops(by_vertex(answer))),
        "wcc": (
            waiting(lambda: library.weakly_connected_components(handle, made, None, None, None, None, False)),
            lambda answer: by_vertex(answer).astype(np.int64),
        ),
        "lcc": (waiting(coefficients), by_vertex),
        "pr": (waiting(ranks), by_vertex),
    }
    if weights is not None:
        weighted = build(False, weights)

        def paths() -> Any:
            vertices, distance, _ = library.sssp(handle, weighted, graph.source, np.inf, True, False)
            return vertices, distance

        calls["sssp"] = (waiting(paths), lambda answer: _sums(by_vertex(answer)))
    return calls


PEERS: dict[str, Callable[[BenchmarkGraph], Calls]] = {"networkit": networkit, "igraph": igraph, "cugraph": cugraph}
DISTRIBUTIONS = {"cugraph": "pylibcugraph-cu13"}  # of libraries, where the names differ


def _hops(distances: Any) -> Array:
    values = np.asarray(distances, np.float64)
    far = ~(values < 2**31 - 1)
    return np.where(far, UNREACHED, np.where(far, 0, values).astype(np.int64))


def _sums(distances: Any) -> Array:
    values = np.asarray(distances, np.float64)
    return np.where(values < 1e300, values, np.inf)


def main() -> None:
    """Measure one library on one graph."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.graphalytics.peers", description=__doc__)
    parser.add_argument("name", choices=PEERS)
    parser.add_argument("folder", type=Path)
    parser.add_argument("out", type=Path)
    parser.add_argument("runs", type=int)
    options = parser.parse_args()
    graph, started = BenchmarkGraph.read(options.folder), time.perf_counter()
    calls = PEERS[options.name](graph)
    measured: dict[str, Any] = {"load": graph.seconds + time.perf_counter() - started, "processing": {}}
    for name, (solve, values) in calls.items():
        times = []
        for _ in range(options.runs):
            started = time.perf_counter()
            answer = solve()
            times.append(time.perf_counter() - started)
        np.save(options.out / f"{name}.npy", values(answer))
        measured["processing"][name] = times
    memory = memory_in_use("gpu" if options.name == "cugraph" else "cpu")
    print(json.dumps(measured | {"gpu": memory.get("gpu"), "version": version(DISTRIBUTIONS.get(options.name, options.name))}))


if __name__ == "__main__":
    main()
