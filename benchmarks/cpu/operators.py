"""What operators could use on a CPU: lanes of short rows, frontiers by groups of degrees, packed values, clusters and segments.

`NUMBA_NUM_THREADS=1 python -m benchmarks.cpu.operators` prints the tables. Times are those of the processor, not of the clock.
"""

import argparse
import time
from collections.abc import Callable
from typing import Any

import numba
import numpy as np

from benchmarks.generators import grid_edges
from benchmarks.graphs import graph_of_edges
from benchmarks.packing import FAR, quotients, visits
from kernels.bfs import bfs
from kernels.generators import ends, graph500
from kernels.graph import Array, Csr, Graph
from kernels.library.operators import Frontier, Rules, advance, repeat_advance

_WIDTHS, _SHORT, _RUNS = (32, 256), 32, 9
_GROUPS = (1024, 32, 0)  # least degrees
_SEGMENTS, _SCALE = 4, 21


def by_degree(src: Array, dst: Array, size: int) -> Graph:
    """The symmetric graph of some edges, its rows by descending degree."""
    rows = np.empty(size, np.int64)
    rows[np.argsort(-np.bincount(np.append(src, dst), minlength=size), kind="stable")] = np.arange(size)
    return graph_of_edges(rows[src], rows[dst], None, size)


def graphs() -> dict[str, Graph]:
    """The graphs by name."""
    random = np.random.default_rng(1)
    uniform = random.integers(0, 1 << 20, (2, 1 << 22))
    return {
        "grid 2000 x 2000": by_degree(*grid_edges(2000), 2000 * 2000),
        "uniform, 2^20 rows of about 8 arcs": by_degree(*uniform, 1 << 20),
        "R-MAT 18": by_degree(*ends(graph500(18), 0, 16 << 18), 1 << 18),
    }


@numba.njit(fastmath=True)
def _sum_rows(offsets, indices, values, first, sums):
    for row in range(first, len(offsets) - 1):
        total = 0.0
        for arc in range(offsets[row], offsets[row + 1]):
            total += values[indices[arc]]
        sums[row] = total


@numba.njit(fastmath=True)
def _sum_lanes(segments, lanes, values, first, width, sums):
    totals = np.zeros(width)
    for segment in range(len(segments) - 1):
        totals[:] = 0
        for begin in range(segments[segment], segments[segment + 1], width):
            for lane in range(width):
                totals[lane] += values[lanes[begin + lane]]
        row = first + segment * width
        for lane in range(min(width, len(sums) - row)):
            sums[row + lane] = totals[lane]


@numba.njit
def _fill(offsets, indices, segments, first, width, lanes):
    for row in range(first, len(offsets) - 1):
        begin = segments[(row - first) // width] + (row - first) % width
        for k in range(offsets[row + 1] - offsets[row]):
            lanes[begin + k * width] = indices[offsets[row] + k]


def lanes_of(csr: Csr, first: int, width: int) -> tuple[Array, Array]:
    """Arc k of lane i of a segment of `width` rows is at `segment + width k + i`; padding is the entry behind all rows."""
    degrees = np.diff(csr.offsets)[first:]
    most = np.maximum.reduceat(degrees, np.arange(0, len(degrees), width)) if len(degrees) else degrees
    segments = np.append(0, np.cumsum(most * width))
    lanes = np.full(segments[-1], len(csr.offsets) - 1, csr.indices.dtype)
    _fill(csr.offsets, csr.indices, segments, first, width, lanes)
    return segments, lanes


def milliseconds(call: Callable[[], Any]) -> float:
    """The least processor time of nine calls, after one to compile."""
    call()
    times = []
    for _ in range(_RUNS):
        start = time.process_time()
        call()
        times.append(1000 * (time.process_time() - start))
    return min(times)


def compare_lanes(name: str, graph: Graph) -> str:
    """A row of the first table: sums of a float64 of each neighbour of all short rows."""
    csr, size = graph.out, graph.num_vertices
    first = int((np.diff(csr.offsets) >= _SHORT).sum())
    values, expected, found = np.append(np.random.default_rng(2).random(size), 0), np.zeros(size), np.zeros(size)
    cells = [f"{milliseconds(lambda: _sum_rows(csr.offsets, csr.indices, values, first, expected)):.1f}"]
    for width in _WIDTHS:
        made = milliseconds(lambda: lanes_of(csr, first, width))  # noqa: B023  (called at once)
        segments, lanes = lanes_of(csr, first, width)
        taken = milliseconds(lambda: _sum_lanes(segments, lanes, values, first, width, found))  # noqa: B023  (called at once)
        np.testing.assert_allclose(found, expected, rtol=1e-12)
        padding = len(lanes) / max(1, int(csr.offsets[-1] - csr.offsets[first])) - 1
        cells.append(f"{taken:.1f} | {made:.0f}, {padding:.1%} padding")
    return f"| {name} | {' | '.join(cells)} |"


def compare_frontiers(name: str, graph: Graph) -> list[str]:
    """Rows of the second table: each level of a search as a list, as flags, and as the faster one of each group of degrees."""
    levels, degrees = bfs(graph, 0).distance, np.diff(graph.out.offsets)
    seen = np.zeros(graph.num_vertices, np.int64)

    def visit(neighbour):
        seen[neighbour] = 1

    def taken(rows: Array) -> dict[str, float]:
        kinds = {"list": Rules(sparse_rows=1.0), "flags": Rules(sparse_rows=0.0)}
        made = {kind: Frontier.of_rows(graph, rows, rules) for kind, rules in kinds.items()}
        return {kind: milliseconds(lambda each=each: advance(each, visit)) for kind, each in made.items()}

    found = []
    for level in range(int(levels.max()) + 1):
        whole, parts, most = taken(np.flatnonzero(levels == level)), 0.0, 1 << 62
        for least in _GROUPS:
            rows = np.flatnonzero((levels == level) & (degrees >= least) & (degrees < most))
            parts, most = parts + (min(taken(rows).values()) if len(rows) else 0), least
        count = int((levels == level).sum())
        found.append(f"| {name}, level {level} | {count:,} | {whole['list']:.3f} | {whole['flags']:.3f} | {parts:.3f} |")
    return found


def compare_packing(name: str, graph: Graph) -> list[str]:
    """Rows of the third table: two int32 of a neighbour in two arrays, in one word, and as one value where that is possible."""
    everything, shares, found = Frontier.everything(graph), quotients(graph), visits(graph)

    def search(visit: Callable[..., Any]) -> None:
        found.levels[:], found.parents[:], found.state[:] = FAR, FAR, FAR << 32
        found.levels[0] = found.parents[0] = found.state[0] = 0
        repeat_advance(Frontier.of_rows(graph, [0]), visit)

    ways = [milliseconds(lambda each=each: advance(everything, each, after=shares.keep, collect="sum"))
            for each in shares[:3]]  # fmt: skip
    searches = [milliseconds(lambda each=each: search(each)) for each in (found.visit_two, found.visit_packed)]
    if not found.agree(found.levels < FAR):
        raise AssertionError(f"{name}: two arrays and packed words differ")
    return [
        f"| {name}, sum of rank / degree | {ways[0]:.1f} | {ways[1]:.1f} | {ways[2]:.1f} |",
        f"| {name}, levels and parents | {searches[0]:.1f} | {searches[1]:.1f} | |",
    ]


def compare_segments(name: str, src: Array, dst: Array, size: int) -> str:
    """A row of the fourth table: sums of an int32 of each neighbour, with and without clusters and segments."""
    cells = []
    for graph in (graph_of_edges(src, dst, None, size), by_degree(src, dst, size)):
        values, sums = np.arange(size, dtype=np.int32), np.zeros(size, np.int32)

        def give(neighbour):
            return values[neighbour]  # noqa: B023  (called at once)

        def keep(row, total):
            sums[row] = total  # noqa: B023

        for segments in (1, _SEGMENTS):
            frontier = Frontier.everything(graph, Rules(segments=segments))
            taken = milliseconds(lambda: advance(frontier, give, after=keep, collect="sum"))  # noqa: B023
            cells.append(f"{taken:.1f}")
    return f"| {name} | {' | '.join(cells)} |"


def main() -> None:
    """Print the tables."""
    argparse.ArgumentParser(prog="python -m benchmarks.cpu.operators", description=__doc__).parse_args()
    made = graphs()
    print(
        "| graph | from the rows, ms | from lanes of 32 | made in | from lanes of 256 | made in |\n|---|---:|---:|---:|---:|---:|"
    )
    for name, graph in made.items():
        print(compare_lanes(name, graph), flush=True)
    print("\n| level | rows | list, ms | flags, ms | by groups, ms |\n|---|---:|---:|---:|---:|")
    print("\n".join(compare_frontiers("R-MAT 18", made["R-MAT 18"])), flush=True)
    print("\n| what | two arrays, ms | packed in 8 bytes, ms | quotient made before, ms |\n|---|---:|---:|---:|")
    for name in ("R-MAT 18", "uniform, 2^20 rows of about 8 arcs"):
        print("\n".join(compare_packing(name, made[name])), flush=True)
    print("\n| graph | none, ms | segments, ms | clusters, ms | both, ms |\n|---|---:|---:|---:|---:|")
    random = np.random.default_rng(2)
    print(compare_segments(f"R-MAT {_SCALE}", *ends(graph500(_SCALE), 0, 4 << _SCALE), 1 << _SCALE), flush=True)
    print(compare_segments(f"uniform {_SCALE}", *random.integers(0, 1 << _SCALE, (2, 4 << _SCALE)), 1 << _SCALE))


if __name__ == "__main__":
    main()
