"""Bytes that the forest and PageRank take beside shards of a drawn graph, for each local row, arc and partial.

What R-MAT 29 needs over two GPUs is computed from these (benchmarks/results/generated_h100.md).
"""
# ruff: noqa: E402  (the imports below need CuPy)

from functools import partial

import pytest

cupy = pytest.importorskip("cupy")

from benchmarks.one_gpu.drawn import DrawnEdges
from benchmarks.one_gpu.timing import peak_bytes
from benchmarks.several_gpus.drawn import laid_out
from kernels.distributed import Halo
from kernels.distributed.gpu_threads import on_gpus
from kernels.distributed.threads import run_ranks
from kernels.forest.sharded.cuda import span
from kernels.generators import graph500
from kernels.pagerank import tiles
from kernels.pagerank.sharded import pagerank
from kernels.pagerank.sharded.cuda import _plan_of

DEADLINE = 10.0**6  # seconds
RANKS = 2


def shards_of(scale, weighted):
    """Shards of all ranks, which know their halos."""

    def work(ranks):
        shard, _ = laid_out(DrawnEdges(graph500(scale, seed=1), 1 << 20, weighted), ranks)
        Halo(shard, ranks)
        return shard

    return run_ranks(RANKS, on_gpus(1, work), DEADLINE)


def on_ranks(shards, solve):
    """Call on all ranks; the pool of the emulated GPU counts what they take together."""
    run_ranks(RANKS, on_gpus(1, lambda ranks: solve(shards[ranks.rank], ranks) and None), DEADLINE)


@pytest.mark.parametrize(("scale", "weighted", "bytes_of_row"), [(14, False, 110), (13, True, 140)])
def test_the_forest(scale, weighted, bytes_of_row):
    """Before arcs were filtered by several limits, and arrays released early, it took 300 bytes for each local row."""
    shards = shards_of(scale, weighted)
    rows = sum(shard.num_local for shard in shards)
    few_at_a_time = partial(span, gathered=1000, few=0)  # as many edges are left to join on devices as in large graphs
    assert peak_bytes(lambda: on_ranks(shards, few_at_a_time)) < bytes_of_row * rows


def test_pagerank(monkeypatch):
    band, partials = 1 << 11, 1 << 12
    monkeypatch.setattr("kernels.gpu.tiles.bands._BAND", band)
    monkeypatch.setattr(tiles, "_PARTIALS", partials)
    monkeypatch.setattr("kernels.pagerank.tiles.free_bytes", lambda: 0)  # items wait on the host for the last band
    shards = shards_of(14, False)
    rows, arcs = sum(shard.num_local for shard in shards), sum(int(shard.out.offsets[-1]) for shard in shards)
    first = peak_bytes(lambda: on_ranks(shards, pagerank))
    plans = [shard.derived.get(_plan_of, lambda: None) for shard in shards]
    assert all(len(plan.groups) > 2 for plan in plans)
    assert all(plan.num_partials <= partials for plan in plans)
    items = sum(plan.items.nbytes for plan in plans)
    of_call = 4 * RANKS * partials + 16 * rows  # shares and the next ones, scores, messages
    assert first < 2.1 * arcs + items + 12 * rows + of_call
    assert peak_bytes(lambda: on_ranks(shards, pagerank)) < of_call
