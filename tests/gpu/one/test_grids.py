"""Launches with few blocks give the CPU's answers: no kernel relies on the number of blocks."""

# ruff: noqa: E402  (the imports below need CuPy)
import sys
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest

cupy = pytest.importorskip("cupy")

from benchmarks.generators import grid_edges
from benchmarks.one_gpu.contests import ALGORITHMS, ComparedKernel
from kernels.bfs import cuda as bfs
from kernels.gpu import loader as cuda
from kernels.gpu.loader import to_host
from kernels.gpu.transfer import to_device
from tests.gpu.inputs import poison, random_edges
from tests.graphs import EdgeList, graph_of

COOPERATIVE = cuda.cooperative


@pytest.fixture(autouse=True)
def teams() -> Iterator[None]:
    """Clear the cached launch of teams after a test."""
    yield
    bfs._team_kernel.cache_clear()


def limit(monkeypatch: pytest.MonkeyPatch, most: int) -> None:
    """Limit every cooperative launch to `most` blocks; a team of blocks counts as one."""

    def cooperative(*args: Any, **types: Any) -> tuple[Any, int]:
        kernel, blocks = COOPERATIVE(*args, **types)
        return kernel, min(blocks, most)

    for name, module in list(sys.modules.items()):
        if name.startswith("kernels.") and getattr(module, "cooperative", None) is COOPERATIVE:
            monkeypatch.setattr(module, "cooperative", cooperative)
    monkeypatch.setattr(bfs, "_TEAMS", 1)
    bfs._team_kernel.cache_clear()


def roads(random: np.random.Generator) -> EdgeList:
    ends = np.stack(grid_edges(50), 1)
    return weighted(ends[random.random(len(ends)) < 0.7], False, random)


def weighted(ends: Any, directed: bool, random: np.random.Generator) -> EdgeList:
    weights = random.integers(1, 99, len(ends)).tolist()
    edges = tuple((src, dst, weight) for (src, dst, *_), weight in zip(ends, weights, strict=True))
    return EdgeList("random", tuple((int(src), int(dst), weight) for src, dst, weight in edges), directed)


@pytest.mark.parametrize("blocks", [1, 3, 40])
@pytest.mark.parametrize("kernel", ALGORITHMS, ids=lambda kernel: kernel.name)
def test_the_answer_does_not_depend_on_the_number_of_blocks(
    monkeypatch: pytest.MonkeyPatch, kernel: ComparedKernel, blocks: int
) -> None:
    random = np.random.default_rng(blocks)
    crowd = random_edges(blocks, 2000, 30_000, True, 3).edges
    limit(monkeypatch, blocks)
    for edges in (roads(random), weighted(crowd, False, random), weighted(crowd[:7000], True, random)):
        graph = graph_of(edges, random.permutation(edges.ids).tolist(), np.int32)
        on_device = to_device(graph)
        for inputs in kernel.inputs(on_device, 2):
            expected = kernel.solve(graph, *map(to_host, inputs))
            for method in kernel.methods(on_device):
                poison()
                kernel.require_equal(kernel.solve(on_device, *inputs, **method), expected)
