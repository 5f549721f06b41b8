"""Breadth-first search, Borůvka and Dijkstra beside the tables of the source documents: `python -m benchmarks.published.scaling`.

A speed-up S is over the same program on one thread, and the efficiency E is S over the number of threads. On a GPU S is over our
CPU kernel on one thread, with the graph in device memory; "and copies" also counts the copy of the graph to it. All answers are
compared. Without a GPU its columns are empty.

Amorim, de Aquino, Moreano: Aceleração da busca em largura em grafos de larga escala utilizando CUDA (UFMS). Anastasopoulos,
Megrampian: Mapping graphs on the graphics card (Athens, 2016), tables 2 and 4.
"""

import argparse
import os
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.graphs import facebook, rmat
from benchmarks.machine import machine
from benchmarks.published import argmin
from benchmarks.published.roads import roads
from kernels.bfs import bfs
from kernels.cpu.parallel import cores
from kernels.forest import minimum_spanning_forest
from kernels.gpu.devices import obstacle
from kernels.gpu.transfer import on_host, to_device
from kernels.graph import Array, Graph
from kernels.sssp import sssp

RUNS, SLOW = 5, 1.0  # of calls; seconds from which on one more run is enough
SETTLED = 1000  # rows that a search to a target settles
BLOCK = 256  # rows of a block of solution 3
# Speed-ups of the document: 2 and 4 threads, its GPU.
BORUVKA = {"BAY": (1.67, 2.03, 6.59), "NE": (1.68, 2.38, 14.27), "W": (1.68, 2.49, 23.75), "USA": (1.71, 2.54, 26.57)}
DIJKSTRA = {"NY": (1.99, 3.69, 2.51), "COL": (2.00, 3.63, 3.83), "FLA": (1.98, 3.15, 6.52), "NE": (1.99, 3.14, 7.72)}
BFS = {
    "solution1": "2.1",
    "solution2": "1.01 of solution 1",
    "solution3": "slower than 2",
    "solution4": "4.15",
    "three-queues": "",
}


@contextmanager
def on_cores(number: int) -> Iterator[None]:
    """Restrict this process to so many of its cores, which the kernels respect."""
    allowed = os.sched_getaffinity(0)
    os.sched_setaffinity(0, sorted(allowed)[:number])
    try:
        yield
    finally:
        os.sched_setaffinity(0, allowed)


def seconds(call: Callable[[], Any]) -> float:
    """Median wall time of a call after one that is not counted; on all streams of a GPU."""
    call()
    times = [_seconds(call)]
    while times[0] < SLOW and len(times) < RUNS:
        times.append(_seconds(call))
    return float(np.median(times))


def _seconds(call: Callable[[], Any]) -> float:
    start = time.perf_counter()
    call()
    if not obstacle():
        import cupy

        cupy.cuda.Device().synchronize()
    return time.perf_counter() - start


def thread_counts() -> list[int]:
    """1, 2, 4, ... up to the cores."""
    return [1 << power for power in range(cores().bit_length())]


def scaled(of_threads: dict[int, float]) -> list[str]:
    """S and E of each number of threads but one."""
    return [
        f"{of_threads[1] / of:.2f} / {100 * of_threads[1] / of / number:.0f} %" for number, of in of_threads.items() if number > 1
    ]


def heads(*names: str) -> str:
    """The first two lines of a table."""
    return f"| {' | '.join(names)} |\n|{'---|' * len(names)}"


def line(*cells: object) -> str:
    """A line of a table."""
    return f"| {' | '.join(f'{cell:.3g}' if isinstance(cell, float) else str(cell) for cell in cells)} |"


def boruvka_row(name: str, title: str, graph: Graph) -> str:
    """Threads of our kernel; on a GPU our kernel and the document's ten steps."""
    times = {}
    for number in thread_counts():
        with on_cores(number):
            times[number] = seconds(partial(minimum_spanning_forest, graph))
    gpu: list[object] = [""] * 4
    if not obstacle():
        from benchmarks.published.forest import span

        on_device, expected = to_device(graph), minimum_spanning_forest(graph)
        for place, solve in enumerate((minimum_spanning_forest, span)):
            require_equal(on_host(solve(on_device)), expected)
            gpu[2 * place] = times[1] / seconds(partial(solve, on_device))
            gpu[2 * place + 1] = times[1] / seconds(lambda solve=solve: solve(to_device(graph)))
    return line(title, graph.num_vertices, graph.num_arcs, 1000 * times[1], *scaled(times), *gpu, *BORUVKA[name])


def dijkstra_row(name: str, title: str, graph: Graph) -> str:
    """Microseconds for a row that is settled; threads; on a GPU the document's kernels; our kernels' whole searches."""
    source = int(np.argmax(np.diff(graph.out.offsets)))
    expected = sssp(graph, source).distance
    reached = np.flatnonzero(expected >= 0)
    target = int(reached[np.argsort(expected[reached], kind="stable")[min(SETTLED, len(reached)) - 1]])
    times = {}
    for number in thread_counts():
        length, settled = argmin.length_to(graph, source, target, number)
        assert length == expected[target], f"{title}: {length} instead of {expected[target]}"
        times[number] = seconds(partial(argmin.length_to, graph, source, target, number)) / settled
    with on_cores(1):
        alone = seconds(partial(sssp, graph, source))
    gpu: list[object] = [""] * 3
    if not obstacle():
        from benchmarks.published.sssp import length_to

        on_device = to_device(graph)
        assert length_to(on_device, source, target) == expected[target]
        gpu[0] = times[1] * settled / seconds(partial(length_to, on_device, source, target))
        gpu[1] = times[1] * settled / seconds(lambda: length_to(to_device(graph), source, target))
        gpu[2] = 1000 * seconds(partial(sssp, on_device, source))
    whole = 1000 * alone, 1000 * seconds(partial(sssp, graph, source))
    return line(title, graph.num_vertices, 1e6 * times[1], *scaled(times), *gpu[:2], *DIJKSTRA[name], *whole, gpu[2])


def bfs_rows(title: str, graph: Graph) -> Iterator[str]:
    """The four solutions and the three queues: milliseconds, microseconds for a level, S over a search on one core."""
    from benchmarks.published.bfs import METHODS, search

    source = int(np.argmax(np.diff(graph.out.offsets)))
    expected, on_device = bfs(graph, source), to_device(graph)
    with on_cores(1):
        alone = seconds(partial(bfs, graph, source))
    levels = int(expected.distance.max()) + 1
    for method in METHODS:
        require_equal(on_host(search(on_device, source, method)), expected)
        taken = seconds(partial(search, on_device, source, method))
        more = f"{staged(graph, expected.distance):.1f}" if method == "solution3" else ""
        yield line(title, method, levels, 1000 * taken, 1e6 * taken / levels, alone / taken, BFS[method], more)
    ours = seconds(partial(bfs, on_device, source))
    yield line(title, "graphmill", levels, 1000 * ours, 1e6 * ours / levels, alone / ours, "", "")


def staged(graph: Graph, distance: Array) -> float:
    """Arcs that solution 3 copies to shared memory for each arc that it follows: all of a block with a row of the frontier."""
    degrees, rows = np.diff(graph.out.offsets), np.flatnonzero(distance >= 0)
    blocks = np.add.reduceat(degrees, np.arange(0, len(degrees), BLOCK))
    active = np.unique(np.stack([rows // BLOCK, distance[rows]]), axis=1)[0]
    return float(blocks[active].sum() / degrees[rows].sum())


def require_equal(found: Any, expected: Any) -> None:
    """Raise AssertionError unless two answers have the same arrays."""
    for name, array in vars(expected).items():
        if isinstance(array, np.ndarray):
            np.testing.assert_array_equal(getattr(found, name), array, name)


def main() -> None:
    """Print three tables."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.published.scaling", description=__doc__)
    parser.add_argument("--graphs", type=Path, help="folder of files USA-road-d.NAME.gr.gz; without one, stand-ins are generated")
    parser.add_argument("--skip", action="append", default=[], metavar="NAME", help="a network to leave out, such as USA")
    options = parser.parse_args()
    columns = [f"{number} threads: S / E" for number in thread_counts()[1:]]
    theirs = "document: 2 threads, S", "4 threads, S", "GPU, S"
    print(f"{machine('numba')}.\n\n## Borůvka\n")
    both = "GPU: S", "and copies", "document's steps: S", "and copies"
    print(heads("graph", "vertices", "arcs", "1 thread, ms", *columns, *both, *theirs))
    for name in (name for name in BORUVKA if name not in options.skip):
        print(boruvka_row(name, *roads(name, options.graphs)), flush=True)
    print("\n## Dijkstra, one row a step\n")
    ours = "sssp: 1 core, ms", "all cores, ms", "GPU, ms"
    print(heads("graph", "vertices", "1 thread, us a row", *columns, "GPU: S", "and copies", *theirs, *ours))
    for name in (name for name in DIJKSTRA if name not in options.skip):
        print(dijkstra_row(name, *roads(name, options.graphs)), flush=True)
    if reason := obstacle():
        print(f"no GPU: {reason}", file=sys.stderr)
        return
    print("\n## Breadth-first search\n")
    print(
        heads("graph", "method", "levels", "ms", "us a level", "S over one core", "document: S", "arcs staged for each followed")
    )
    for title, graph in (roads("NY", None), roads("FLA", options.graphs), ("Facebook", facebook()), ("R-MAT 17", rmat())):
        print("\n".join(bfs_rows(title, graph)), flush=True)


if __name__ == "__main__":
    main()
