"""`python -m kernels` compiles the CPU kernels into Numba's cache, so that the first run does not wait for the compiler."""

import time
from itertools import product
from typing import Any

import numpy as np

from kernels.algorithm import Algorithm
from kernels.graph import OFFSET, Csr, Graph
from kernels.registry import ALGORITHMS


def main() -> None:
    """Run every algorithm and its certificate on a graph of two vertices, for each type of weights that ingest writes."""
    started = time.perf_counter()
    for weights, symmetric in product((None, np.int32, np.float64), (True, False)):
        graph = _pair(None if weights is None else np.dtype(weights), symmetric)
        for algorithm in ALGORITHMS:
            _warm_up(algorithm, graph)
    print(f"CPU kernels compiled in {time.perf_counter() - started:.0f} s")


def _warm_up(algorithm: Algorithm, graph: Graph) -> None:
    if algorithm.warm_up:
        algorithm.resolve("warm_up")(graph)
        return
    answer = algorithm.resolve("solver")(graph, *([0] if algorithm.has_sources else []))
    certificate = algorithm.resolve("certificate")(graph, answer)
    assert certificate.holds, certificate.reason


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
