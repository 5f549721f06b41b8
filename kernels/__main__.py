"""`python -m kernels` compiles the CPU kernels into Numba's cache, so that the first run does not wait for the compiler."""

from __future__ import annotations

import time
from itertools import product
from typing import Any

import numpy as np

from kernels.bfs import bfs
from kernels.components.certificate import certify_scc, certify_wcc
from kernels.forest import minimum_spanning_forest
from kernels.forest.certificate import certify_forest
from kernels.graph import OFFSET, Csr, Graph
from kernels.pagerank import pagerank
from kernels.pagerank.certificate import certify_pagerank
from kernels.paths.certificate import certify_bfs, certify_sssp
from kernels.reachability import METHODS, reach, reachability
from kernels.reachability.certificate import certify_reachability
from kernels.scc import scc
from kernels.sssp import sssp
from kernels.wcc import wcc


def main() -> None:
    """Run every kernel on a graph of two arcs, for each width of weights that ingest makes."""
    started = time.perf_counter()
    for weights, symmetric in product((None, np.int32, np.float64), (True, False)):
        graph = _pair(None if weights is None else np.dtype(weights), symmetric)
        for certificate in (
            certify_bfs(graph, bfs(graph, 0)),
            certify_sssp(graph, sssp(graph, 0)),
            certify_forest(graph, minimum_spanning_forest(graph)),
            certify_wcc(graph, wcc(graph)),
            certify_scc(graph, scc(graph)),
            certify_pagerank(graph, pagerank(graph).scores),
            *(certify_reachability(graph, reachability(graph, 2, 0, method)) for method in METHODS),
        ):
            assert certificate.holds, certificate.reason
        assert all(reach(reachability(graph), [0], [1], search).reachable.all() for search in (None, "dfs"))
    print(f"CPU kernels compiled in {time.perf_counter() - started:.0f} s")


def _pair(weights: np.dtype[Any] | None, symmetric: bool) -> Graph:
    """Two vertices and the arc 0 -> 1; with its reverse where symmetric."""

    def csr(offsets: list[int], indices: list[int]) -> Csr:
        return Csr(
            np.array(offsets, OFFSET),
            np.array(indices, np.int32),
            None if weights is None else np.ones(len(indices), weights),
        )

    rows = np.arange(2, dtype=np.int32)
    both = csr([0, 1, 2], [1, 0])
    one_way = (csr([0, 1, 1], [1]), csr([0, 0, 1], [0]))
    return Graph(rows.astype(np.int64), rows, *((both, both) if symmetric else one_way))


if __name__ == "__main__":
    main()
