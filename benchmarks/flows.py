"""Maximum flows beside SciPy's, and transitive closures: `python -m benchmarks.flows`, on a GPU if there is one.

Nothing is timed before its certificate holds; values are compared with SciPy's, which solves for the first pairs on one core.
"""

import argparse
import time
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np
from scipy.sparse import csr_array
from scipy.sparse.csgraph import maximum_flow

from benchmarks.graphs import new_york, random_digraph, wiki_vote
from kernels.closure import closure
from kernels.closure.certificate import certify_closure
from kernels.cpu.parallel import cores
from kernels.flow import max_flow
from kernels.flow.capacities import capacities
from kernels.flow.certificate import certify_flows
from kernels.gpu.devices import obstacle
from kernels.gpu.loader import to_host
from kernels.gpu.transfer import to_device
from kernels.graph import Graph

RUNS = 3


def main() -> None:
    """Print a table."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.flows", description=__doc__)
    parser.add_argument("--pairs", type=int, default=100, help="random pairs of each graph (default: 100)")
    parser.add_argument("--peer-pairs", type=int, default=10, help="of these, solved by SciPy, too (default: 10)")
    parser.add_argument("--cpu", action="store_true", help="time the CPU kernels even if there is a GPU")
    options = parser.parse_args()
    where = "cpu" if options.cpu or obstacle() else "gpu"
    print(f"on {where}, {cores()} cores\n")
    print("| graph | question | ms | SciPy, one core: ms | times as fast |\n|---|---|---:|---:|---:|")
    roads = new_york()
    for name, graph in (("New York, weights", roads), ("New York, unit", unit(roads)), ("wiki-Vote", wiki_vote())):
        report(name, *flows(graph, where, options.pairs, options.peer_pairs))
    for name, graph in (("wiki-Vote", wiki_vote()), ("random, 50,000 arcs", random_digraph(50_000, 1))):
        report(name, *closures(graph, where))


def report(name: str, question: str, ours: float, theirs: float | None = None) -> None:
    """Print a line, of seconds."""
    beside = f"{1000 * theirs:,.2f} | {theirs / ours:,.1f}" if theirs else " | "
    print(f"| {name} | {question} | {1000 * ours:,.3f} | {beside} |", flush=True)


def unit(graph: Graph) -> Graph:
    """A symmetric graph without its weights."""
    arcs = replace(graph.out, weights=None)
    return Graph(graph.ids, graph.rows_by_id, arcs, arcs, graph.directed)


def flows(graph: Graph, where: str, pairs: int, peer_pairs: int) -> tuple[str, float, float]:
    """Seconds of a pair: of all together, and of the first ones by SciPy."""
    random = np.random.default_rng(7)
    ends = np.stack([random.choice(graph.num_vertices, 2, replace=False) for _ in range(pairs)], 1).astype(graph.rows_by_id.dtype)
    held = to_device(graph) if where == "gpu" else graph
    src, dst = (np.asarray(rows, like=held.ids) for rows in ends)
    found = max_flow(held, src, dst)
    require(certify_flows(held, found))
    seconds = best(lambda: max_flow(held, src, dst)) / pairs
    shape = graph.num_vertices, graph.num_vertices
    arcs = csr_array((capacities(graph).astype(np.int32), graph.out.indices, graph.out.offsets.astype(np.int32)), shape=shape)
    started, values = time.perf_counter(), list[int]()
    for source, target in ends.T[:peer_pairs].tolist():
        values.append(maximum_flow(arcs, source, target).flow_value)
    theirs = (time.perf_counter() - started) / max(len(values), 1)
    np.testing.assert_array_equal(to_host(found.value)[: len(values)], values)
    return f"maximum flow, a pair of {pairs}", seconds, theirs


def closures(graph: Graph, where: str) -> tuple[str, float]:
    """Seconds of a closure."""
    held = to_device(graph) if where == "gpu" else graph
    found = closure(held)
    require(certify_closure(held, found))
    return f"closure, {len(found.vertex):,} pairs", best(lambda: closure(held))


def require(certificate: Any) -> None:
    """Raise AssertionError unless the certificate holds."""
    assert certificate.holds, certificate.reason


def best(call: Callable[[], Any]) -> float:
    """The median of a few calls, in seconds, until their answers are complete."""
    times = []
    for _ in range(RUNS):
        started = time.perf_counter()
        to_host(next(iter(vars(call()).values()))[:1])  # waits for a GPU
        times.append(time.perf_counter() - started)
    return float(np.median(times))


if __name__ == "__main__":
    main()
