"""`make bench-trees`: time per shortest-path tree, on the GPU if there is one, beside `sssp` and other libraries."""

import argparse
import sys
import time
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.trees import peers
from benchmarks.trees.networks import networks
from benchmarks.trees.peers import Timed
from kernels.answers import Hierarchy
from kernels.cpu.parallel import cores
from kernels.gpu.devices import current, name_of, obstacle
from kernels.gpu.loader import to_host
from kernels.gpu.transfer import to_device
from kernels.graph import Array, Graph
from kernels.hierarchy import build_hierarchy, customise
from kernels.reductions import measure as reduce
from kernels.sssp import sssp
from kernels.trees import sweep, trees
from kernels.trees.targets import Targets

REPEATS = 3  # of which the fastest counts
TARGETS = 1000
_LARGE = 1 << 20  # vertices from which on compiling does not count in the time of a hierarchy


class CallTimer:
    """Wall time of calls, until the GPU is done if there is one."""

    def __init__(self, gpu: bool) -> None:
        self._gpu = gpu

    def milliseconds(self, call: Callable[[], Any], repeats: int = REPEATS, *, warm: bool = False) -> float:
        """The fastest of `repeats` calls; after one that compiles, unless compiling does not count (`warm`)."""
        if not warm:
            call()
        times = []
        for _ in range(repeats):
            self._wait()
            start = time.perf_counter()
            call()
            self._wait()
            times.append(1000 * (time.perf_counter() - start))
        return min(times)

    def made(self, call: Callable[[], Any], warm: bool) -> tuple[Any, float]:
        """What a call returns, and its milliseconds."""
        made = list[Any]()
        milliseconds = self.milliseconds(lambda: made.append(call()), 1, warm=warm)
        return made[-1], milliseconds

    def _wait(self) -> None:
        if self._gpu:
            import cupy

            cupy.cuda.Device().synchronize()


def of_trees(graph: Graph, hierarchy: Hierarchy, counts: list[int], clock: CallTimer) -> Iterator[Timed]:
    """Batches of `counts` trees: proved, with predecessors, and to some targets only; first they are compared with `sssp`."""
    random = np.random.default_rng(1)
    sources = random.integers(0, graph.num_vertices, max(counts))
    targets = Targets(graph, hierarchy, random.integers(0, graph.num_vertices, TARGETS))
    compare(graph, hierarchy, sources[:33])
    yield "sssp", 1, clock.milliseconds(lambda: [sssp(graph, int(row)) for row in sources[:4]]) / 4
    for count in counts:
        some = sources[:count]
        for what, call in (
            ("trees, proved", lambda some=some: trees(graph, some, hierarchy)),
            ("trees, proved, with predecessors", lambda some=some: trees(graph, some, hierarchy, predecessors=True)),
            (f"to {TARGETS:,} targets", lambda some=some: targets.distances(some)),
        ):
            yield what, count, clock.milliseconds(call) / count


def of_all(graph: Graph, hierarchy: Hierarchy, count: int, clock: CallTimer) -> Timed:
    """Sums and largest distances, for closeness and eccentricity, of `count` sources."""

    def call() -> None:
        for batch in sweep(graph, hierarchy, np.arange(count)):
            reduce(batch.distances)

    return "sums and largest distances", count, clock.milliseconds(call, 1) / count


def of_cugraph(graph: Graph, source: int) -> Iterator[Timed]:
    """The search of cuGraph from one source."""
    from benchmarks.one_gpu import peers as gpu_peers

    if version := gpu_peers.start():
        way = gpu_peers.Pylibcugraph(graph, np.dtype(np.float64))
        timed = gpu_peers.race(way, "sssp", sssp(graph, source), [(source,)] * 2, 20.0)
        yield f"pylibcugraph {version}: sssp {timed.note}".strip(), 1, timed.milliseconds or float("nan")
    else:
        yield peers.missing("cugraph")


def compare(graph: Graph, hierarchy: Hierarchy, sources: Array) -> None:
    """Raise AssertionError unless trees are those of `sssp`."""
    found = trees(graph, sources, hierarchy, predecessors=True)
    assert found.predecessors is not None
    for lane in range(0, len(sources), 8):
        paths = sssp(graph, int(sources[lane]))
        assert bool((found.distances[lane] == paths.distance).all()), "distances differ"
        assert bool((found.predecessors[lane] == paths.predecessor).all()), "predecessors differ"


def with_other_weights(graph: Graph) -> Graph:
    """A symmetric graph of which each edge weighs up to a fifth more."""
    assert graph.out.weights is not None
    tails = np.repeat(np.arange(graph.num_vertices), np.diff(to_host(graph.out.offsets)))
    ends = np.asarray(tails, like=graph.out.weights) + graph.out.indices
    weights = graph.out.weights + graph.out.weights * (ends * 7919 % 200) // 1000
    out = replace(graph.out, weights=weights.astype(graph.out.weights.dtype))
    return Graph(graph.ids, graph.rows_by_id, out, out, graph.directed)


def of_network(name: str, options: argparse.Namespace, gpu: bool) -> Iterator[Timed]:
    """All rows of one network."""
    graph, places = networks(options.graphs)[name]()
    clock, there = CallTimer(gpu), to_device(graph) if gpu else graph
    large = graph.num_vertices > _LARGE
    hierarchy, milliseconds = clock.made(lambda: build_hierarchy(there), large)
    yield f"hierarchy: {_size(hierarchy)}", 1, milliseconds
    other = with_other_weights(there)
    found, milliseconds = clock.made(lambda: customise(hierarchy, other), large)
    yield f"new weights on its order: {_size(found)}", 1, milliseconds
    yield from of_trees(there, hierarchy, options.trees, clock)
    yield of_all(there, hierarchy, min(options.sources or 300_000, graph.num_vertices), clock)
    if options.peers:
        random = np.random.default_rng(2)
        sources, targets = (random.integers(0, graph.num_vertices, count) for count in (64, TARGETS))
        if gpu:
            yield from of_cugraph(there, int(sources[0]))
        yield from peers.measure(graph, places, sources, targets, trees(graph, sources).distances[:, targets])


def _size(hierarchy: Hierarchy) -> str:
    return f"{len(hierarchy.up.others) / hierarchy.num_vertices:.2f} arcs a vertex, {hierarchy.num_levels} levels"


def main(arguments: list[str] | None = None) -> None:
    """Measure, and write the table after each row."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.trees.bench", description=__doc__)
    parser.add_argument("--graphs", type=Path, help="folder of further networks: USA-road-d.NAME.gr.gz, NAME.pace.gr.xz")
    parser.add_argument("--only", action="append", default=[], metavar="NAME", help="a network, such as 'grid 1024 x 1024'")
    parser.add_argument("--trees", type=int, action="append", default=[], help="trees of a batch; may be repeated")
    parser.add_argument("--sources", type=int, default=0, help="sources that are reduced (default: all, up to 300,000)")
    parser.add_argument("--peers", action="store_true", help="also SciPy, pyroutingkit, pandana and cuGraph, if installed")
    parser.add_argument("--cpu", action="store_true", help="measure the CPU even if there is a GPU")
    parser.add_argument("--out", type=Path, default=Path("out/benchmarks"))
    options = parser.parse_args(arguments)
    options.trees = options.trees or [1, 32, 256]
    if unknown := set(options.only) - set(networks(options.graphs)):
        parser.error(f"--only {unknown.pop()!r}: the networks are {', '.join(networks(options.graphs))}")
    gpu = not options.cpu and not obstacle()
    machine = name_of(current()) if gpu else f"{cores()} CPU cores"
    lines = [f"On {machine}, in milliseconds.\n", "| network | what | sources at once | ms for each |", "|---|---|---|---|"]
    options.out.mkdir(parents=True, exist_ok=True)
    for name in options.only or ["New York"]:
        for what, count, milliseconds in of_network(name, options, gpu):
            lines.append(f"| {name} | {what} | {count:,} | {milliseconds:,.4f} |".replace(" 0 | nan |", "  |  |"))
            print(lines[-1], file=sys.stderr, flush=True)
            (options.out / f"trees-{'gpu' if gpu else 'cpu'}.md").write_text("\n".join(lines) + "\n", encoding="utf-8")
    print("\n".join(lines))


if __name__ == "__main__":
    main()
