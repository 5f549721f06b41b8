"""No rank holds an array with one entry per vertex of the graph.

If each of 16 ranks held one, there would be 16 of them. So all ranks together must not need much more memory than a single rank
that has the complete graph. NumPy reports every array to tracemalloc; allocations within compiled loops are not seen (the queue
of `kernels.paths.sharded.multi_source_bfs_cpu`, one entry per own row).
"""

import tracemalloc
from collections.abc import Callable
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from benchmarks.graphs import grid
from kernels.bfs.sharded import bfs
from kernels.distributed.assembly import assemble
from kernels.distributed.dealing import Dealing
from kernels.distributed.shard import ShardAnswer, StoredRows
from kernels.distributed.threads import run_ranks
from kernels.graph import OFFSET, Csr
from kernels.pagerank.sharded import pagerank
from kernels.sssp.sharded import sssp
from pipeline.cluster.threads import LocalThreads
from pipeline.config.graph import GraphConfig
from pipeline.config.layout import LayoutConfig
from pipeline.ingest import ingest
from pipeline.steps.layout import lay_out
from pipeline.steps.runtime import Runtime
from pipeline.steps.stages import run_stage
from pipeline.steps.verify import prove
from pipeline.tables import files as tables
from tests.sharded.ranks import DEADLINE, evenly
from tests.sharded.shards import even_bounds, split

RANKS = 16


def peak(work: Callable[[], Any]) -> int:
    """Peak of the bytes that `work` has allocated."""
    tracemalloc.start()
    try:
        work()
        return tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()


def least_peak(work: Callable[[], Any]) -> int:
    """The least of three peaks: how many ranks hold their temporary arrays at the same moment is chance."""
    return min(peak(work) for _ in range(3))


def keeps_an_entry_per_vertex(shard, ranks, *arguments) -> ShardAnswer[None]:  # type: ignore[no-untyped-def]
    """A kernel that the test must detect: each rank keeps an array with one entry per vertex until all ranks have one."""
    kept = np.zeros(shard.num_vertices)
    parts = sssp(shard, ranks, *arguments)
    ranks.gather(kept[:1])
    return parts


def growth(kernel: Callable[..., Any], *arguments: Any) -> float:
    """Memory of 16 ranks relative to one, shards included, on a grid where a rank owns 6 lines and has two as ghosts."""
    graph = grid(96)
    evenly(kernel, graph, 2, *arguments)  # compiles the numba functions

    def run(size: int) -> int:
        shards = split(graph, even_bounds(graph, size))
        return least_peak(lambda: run_ranks(size, lambda ranks: kernel(shards[ranks.rank], ranks, *arguments), DEADLINE))

    return run(RANKS) / run(1)


@pytest.mark.parametrize(("kernel", "arguments"), [(bfs, (7,)), (sssp, (7,)), (pagerank, (0.85, 1e-6, 5))])
def test_kernels_on_16_ranks_need_little_more_memory_than_on_one(kernel, arguments) -> None:  # type: ignore[no-untyped-def]
    assert growth(kernel, *arguments) < 2


def test_an_array_with_an_entry_per_vertex_would_be_detected() -> None:
    assert growth(keeps_an_entry_per_vertex, 7) > 2


@pytest.mark.parametrize("stage", ["bfs", "mst", "wcc"])
def test_stages_and_proofs_on_16_ranks_need_little_more_memory_than_on_one(stage, tmp_path, monkeypatch) -> None:  # type: ignore[no-untyped-def]
    monkeypatch.setattr(tables, "ROWS_PER_GROUP", 500)
    monkeypatch.setattr(tables, "ROWS_PER_FILE", 2_000)
    ids = np.arange(96 * 96).reshape(96, 96)
    ends = [(ids[:, :-1], ids[:, 1:]), (ids[:-1], ids[1:])]
    src, dst = (np.concatenate([pair[end].ravel() for pair in ends]) for end in (0, 1))
    pq.write_table(pa.table({"src": src, "dst": dst, "weight": (src * 7 + dst) % 100}), tmp_path / "grid.parquet")
    edges = ingest(GraphConfig(source=str(tmp_path / "grid.parquet"), directed=False), tmp_path)
    graph = lay_out(edges, LayoutConfig(order="source"), Runtime(tmp_path))

    def run(size: int, name: str) -> None:
        answer = run_stage(graph, stage, [0], Runtime(tmp_path / name, cluster=LocalThreads(size)))
        prove(graph, answer, False, Runtime(tmp_path / name, cluster=LocalThreads(size)))

    run(2, "compiles")
    names = iter(["first", "second", "third"])
    assert least_peak(lambda: run(RANKS, next(names))) < 2 * peak(lambda: run(1, "one"))


@pytest.mark.parametrize("cuts", [[], [500_000, 900_000, 2_000_000, 3_900_000]], ids=["ranges", "dealt"])
def test_a_shard_is_assembled_without_an_entry_per_vertex(cuts, tmp_path) -> None:  # type: ignore[no-untyped-def]
    num_vertices = 4_000_000
    np.save(tmp_path / "rows_by_id.npy", np.arange(num_vertices, dtype=np.int32)[::-1])
    rows_by_id = np.load(tmp_path / "rows_by_id.npy", mmap_mode="r")
    ours = range(1_000_000, 1_000_100)
    pieces = np.array(sorted([0, ours.start, ours.stop, num_vertices, *cuts]), OFFSET)
    others = np.arange(len(pieces) - 1) % 2 * 2 if cuts else [0, 1, 2]
    dealing = Dealing.of_blocks(pieces, np.where(pieces[:-1] == ours.start, 1, others), 3)
    assert dealing.keeps == (not cuts)
    path = Csr(np.arange(101, dtype=OFFSET), np.arange(1_000_001, 1_000_101, dtype=np.int32), None)
    back = Csr(np.arange(101, dtype=OFFSET), np.arange(999_999, 1_000_099, dtype=np.int32), None)
    ids = num_vertices - 1 - np.arange(1_000_000, 1_000_100)
    shards = []
    assert peak(lambda: shards.append(assemble(1, dealing, StoredRows(ids, rows_by_id, [path], [back], True)))) < num_vertices
    before, after = dealing.dealt(np.array([999_999, 1_000_100]))
    assert shards[0].ghosts.tolist() == sorted([before, after])
    ghost_positions = dict(zip(shards[0].ghosts, shards[0].ghost_positions, strict=True))
    assert ghost_positions == {before: num_vertices - 1_000_000, after: num_vertices - 1_000_101}
    np.testing.assert_array_equal(shards[0].positions, ids)
