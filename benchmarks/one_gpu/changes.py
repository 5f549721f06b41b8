"""Measure changes merged into a graph in device memory: `python -m benchmarks.one_gpu.changes --scale 24 --changes 1000000`.

The graph is R-MAT with all reverse arcs. Half of the changes delete edges, half insert some between random vertices. The time is
that of sorting both arcs of each change and of merging them into the rows, in both directions, which are one in this graph.
Before it counts, the result is compared with that of CuPy's set operations on all arcs.
"""

import argparse

import cupy as cp
import numpy as np

from benchmarks.one_gpu.graphs import rmat
from benchmarks.one_gpu.timing import milliseconds
from kernels.graph import Array, Graph
from kernels.layout.merging.pairs import PairChanges, merge_pairs, newest


def drawn(graph: Graph, number: int, seed: int) -> PairChanges:
    """Both arcs of changed edges, side by side, in any order."""
    random = cp.random.default_rng(seed)
    arcs = random.integers(0, graph.num_arcs, number // 2)
    src = cp.searchsorted(graph.out.offsets, arcs, side="right") - 1
    ends = random.integers(0, graph.num_vertices, (2, number - len(arcs)))
    tails, heads = cp.concatenate([src, ends[0]]), cp.concatenate([graph.out.indices[arcs].astype(src.dtype), ends[1]])
    keep = tails != heads
    tails, heads, puts = (column[keep] for column in (tails, heads, cp.arange(number) >= len(arcs)))
    kind = graph.out.indices.dtype
    rows, indices = (cp.stack(pair, 1).ravel().astype(kind) for pair in ((tails, heads), (heads, tails)))
    return PairChanges(rows, indices, cp.repeat(puts, 2), None)


def _keys(rows: Array, indices: Array, vertices: int) -> Array:
    return rows.astype(np.int64) * vertices + indices


def is_right(graph: Graph, changes: PairChanges) -> bool:
    """Whether the merged arcs are those of set operations."""
    vertices, merged = graph.num_vertices, merge_pairs(graph.out, changes, graph.positions, graph.num_vertices)
    before, after = (
        _keys(cp.searchsorted(csr.offsets, cp.arange(len(csr.indices)), side="right") - 1, csr.indices, vertices)
        for csr in (graph.out, merged)
    )
    changed = _keys(changes.rows, changes.indices, vertices)
    kept = before[~cp.isin(before, changed)]
    return bool((cp.sort(after) == cp.sort(cp.concatenate([kept, changed[changes.puts]]))).all())


def main() -> None:
    """Print milliseconds for each number of changes."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.one_gpu.changes", description=__doc__)
    parser.add_argument("--scale", type=int, default=24)
    parser.add_argument("--changes", type=int, nargs="+", default=[1_000_000, 100_000_000])
    parser.add_argument("--checked", type=int, default=20, help="scale of the graph on which the result is compared")
    asked = parser.parse_args()
    small = rmat(asked.checked).graph()
    right = is_right(small, newest(drawn(small, min(asked.changes[0], small.num_arcs // 8), 1), small.positions))
    print(f"scale {asked.checked}: {'equal to set operations' if right else 'WRONG'}")
    del small
    graph = rmat(asked.scale).graph()
    positions = graph.positions
    for number in asked.changes:
        changes = drawn(graph, number, 2)
        ordered = newest(changes, positions)
        sorting = np.median(milliseconds(newest, [(changes, positions)] * 5))
        merging = np.median(milliseconds(merge_pairs, [(graph.out, ordered, positions, graph.num_vertices)] * 5))
        rate = number / (sorting + merging) / 1e6
        print(
            f"{number:,} changes, {graph.num_arcs:,} arcs: {sorting + merging:.2f} ms (sort {sorting:.2f}, merge {merging:.2f}), "
            f"{rate:.2f} G/s"
        )


if __name__ == "__main__":
    main()
