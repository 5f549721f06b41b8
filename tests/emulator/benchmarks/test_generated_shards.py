"""Shards that ranks draw by themselves are parts of the graph that a single rank draws, and have its answers."""
# ruff: noqa: E402  (the imports below need CuPy)

from dataclasses import replace
from functools import partial

import numpy as np
import pytest

cupy = pytest.importorskip("cupy")

from benchmarks.one_gpu.drawn import RULES, DrawnEdges
from benchmarks.one_gpu.drawn import laid_out as laid_out_alone
from benchmarks.several_gpus.drawn import Share, laid_out
from kernels.distributed.gpu_threads import on_gpus
from kernels.distributed.threads import run_ranks
from kernels.generators import graph500
from kernels.gpu.transfer import on_host
from kernels.layout.certificate import certify_layout

DEADLINE = 10.0**6  # seconds


def on_ranks(size, function):
    return run_ranks(size, on_gpus(1, function), DEADLINE)


def arcs_of(out, ids, names):
    """(tail, head, weight) by external ids, in order."""
    tails = np.repeat(ids, np.diff(out.offsets[: len(ids) + 1]))
    columns = [tails, names[out.indices], np.ones_like(tails) if out.weights is None else out.weights]
    return np.stack(columns)[:, np.lexsort(columns[1::-1])]


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("size", [1, 2, 3])
def test_the_graph_of_one_rank(weighted, size):
    edges = DrawnEdges(graph500(8, seed=3), 700, weighted)
    graph = on_host(laid_out_alone(edges)[0])

    def work(ranks):
        shard, claim = laid_out(edges, ranks)
        share = Share(edges, ranks.rank, ranks.size)
        assert sum(block.count for block in share.blocks()) == share.count
        holds = certify_layout(share, RULES, claim, shard, ranks)
        other = certify_layout(replace(share, edges=replace(edges, drawing=graph500(8, seed=4))), RULES, claim, shard, ranks)
        return on_host(shard.local_out), *map(cupy.asnumpy, (shard.ids, shard.positions, shard.local_rows)), holds, other

    parts = on_ranks(size, work)
    ids = np.concatenate([part[1] for part in parts])
    assert np.array_equal(np.sort(ids), graph.ids[graph.rows_by_id])
    assert np.array_equal(ids[np.argsort(np.concatenate([part[2] for part in parts]))], np.sort(ids))
    found = np.concatenate([arcs_of(out, own, ids[rows]) for out, own, _, rows, _, _ in parts], axis=1)
    found = found[:, np.lexsort(found[1::-1])]
    assert np.array_equal(found, arcs_of(graph.out, graph.ids, graph.ids))
    assert all(part[4].holds for part in parts), parts[0][4].reason
    assert not any(part[5].holds for part in parts)
