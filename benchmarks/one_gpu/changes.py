"""Measure changes merged into a graph in device memory: `python -m benchmarks.one_gpu.changes --scale 24 --changes 1000000`.

The graph is R-MAT with all reverse arcs. Half of the changes delete edges, half insert some between random vertices. The time is
that of sorting both arcs of each change and of merging them into the rows, in both directions, which are one in this graph;
without weights, and with weights of four bytes. Before it counts, the result is compared with that of CuPy's set operations on
all arcs.
"""

import argparse
from dataclasses import replace

import cupy as cp
import numpy as np

from benchmarks.generators import LARGEST_WEIGHT
from benchmarks.one_gpu.graphs import rmat
from benchmarks.one_gpu.timing import milliseconds
from kernels.graph import Array, Csr, Graph
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
    kind, weights = graph.out.indices.dtype, None
    rows, indices = (cp.stack(pair, 1).ravel().astype(kind) for pair in ((tails, heads), (heads, tails)))
    if graph.out.weights is not None:
        weights = cp.repeat(random.integers(1, LARGEST_WEIGHT + 1, len(puts)), 2).astype(graph.out.weights.dtype)
    return PairChanges(rows, indices, cp.repeat(puts, 2), weights)


def without_weights(graph: Graph) -> Graph:
    """The same graph, whose arcs have no weights."""
    bare = replace(graph.out, weights=None)
    return replace(graph, out=bare, into=bare)


def _sorted(keys: Array, weights: Array | None) -> list[Array]:
    """Distinct keys in order, and their weights."""
    order = cp.argsort(keys)
    return [keys[order], cp.zeros(1) if weights is None else weights[order]]


def is_right(graph: Graph, changes: PairChanges) -> bool:
    """Whether the merged arcs, and their weights, are those of set operations."""
    merged = merge_pairs(graph.out, changes, graph.positions, graph.num_vertices)

    def keys(csr: Csr) -> Array:
        tails = cp.searchsorted(csr.offsets, cp.arange(len(csr.indices)), side="right") - 1
        return tails.astype(np.int64) * graph.num_vertices + csr.indices

    before, changed = keys(graph.out), changes.rows.astype(np.int64) * graph.num_vertices + changes.indices
    kept, puts = ~cp.isin(before, changed), changes.puts
    parts = [(before, graph.out.weights, kept), (changed, changes.weights, puts)]
    weights = None if merged.weights is None else cp.concatenate([own[chosen] for _, own, chosen in parts])
    expected = _sorted(cp.concatenate([own[chosen] for own, _, chosen in parts]), weights)
    found = _sorted(keys(merged), merged.weights)
    return all(len(one) == len(other) and bool((one == other).all()) for one, other in zip(found, expected, strict=True))


def main() -> None:
    """Print milliseconds for each number of changes."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.one_gpu.changes", description=__doc__)
    parser.add_argument("--scale", type=int, default=24)
    parser.add_argument("--changes", type=int, nargs="+", default=[1_000_000, 100_000_000])
    parser.add_argument("--checked", type=int, default=20, help="scale of the graph on which the result is compared")
    asked = parser.parse_args()
    small, graph = (rmat(scale).graph() for scale in (asked.checked, asked.scale))
    for kind, shaped in (("without weights", without_weights), ("with weights", lambda graph: graph)):
        checked, timed = shaped(small), shaped(graph)
        number = min(asked.changes[0], small.num_arcs // 8)
        right = is_right(checked, newest(drawn(checked, number, 1), checked.positions))
        print(f"{kind}, scale {asked.checked}: {'equal to set operations' if right else 'WRONG'}")
        for number in asked.changes:
            changes, positions = drawn(timed, number, 2), timed.positions
            ordered = newest(changes, positions)
            sorting = np.median(milliseconds(newest, [(changes, positions)] * 5))
            merging = np.median(milliseconds(merge_pairs, [(timed.out, ordered, positions, timed.num_vertices)] * 5))
            total, parts = sorting + merging, f"(sort {sorting:.2f}, merge {merging:.2f})"
            print(f"{number:,} changes, {timed.num_arcs:,} arcs: {total:.2f} ms {parts}, {number / total / 1e6:.2f} G/s")


if __name__ == "__main__":
    main()
