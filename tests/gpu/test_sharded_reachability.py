"""The reachability index over shards on a GPU: the components are found there, and the index is one worker's, to the byte."""

# ruff: noqa: E402  (the imports below need CuPy)
from __future__ import annotations

from typing import Any

import pytest

cupy = pytest.importorskip("cupy")

from benchmarks.graphs import wiki_vote
from kernels.reachability import reachability as one_worker
from kernels.sharded.communicator import Communicator
from kernels.sharded.reachability import IndexPart, reachability
from kernels.sharded.shard import Part, Shard, even_bounds, to_device
from tests.graphs import NAMED_GRAPHS, graph_of
from tests.sharded.indexes import assert_index, layered, sparse_digraph
from tests.sharded.ranks import on_shards


def on_gpu(shard: Shard, communicator: Communicator, *arguments: Any) -> Part[IndexPart]:
    return reachability(to_device(shard), communicator, *arguments)


@pytest.mark.parametrize("size", [1, 2, 3, 7])
def test_named_graphs(size) -> None:
    for edges in NAMED_GRAPHS:
        graph = graph_of(edges)
        assert_index(on_shards(on_gpu, graph, even_bounds(graph, size), 3, 2), one_worker(graph, 3, 2))


@pytest.mark.parametrize("size", [1, 2, 4, 8])
def test_larger_graphs(size) -> None:
    for graph in (layered(12, 1000, 3), sparse_digraph(1.3), wiki_vote()):
        assert_index(on_shards(on_gpu, graph, even_bounds(graph, size)), one_worker(graph))
