"""Shards that ranks draw by themselves are parts of the graph that a single rank draws, and have its answers."""
# ruff: noqa: E402  (the imports below need CuPy)

import io
from dataclasses import replace

import numpy as np
import pytest

cupy = pytest.importorskip("cupy")

from benchmarks.one_gpu.drawn import RULES, DrawnEdges
from benchmarks.one_gpu.drawn import laid_out as laid_out_alone
from benchmarks.several_gpus import generated
from benchmarks.several_gpus.drawn import Share, laid_out
from benchmarks.several_gpus.ranks import KERNELS
from kernels.bfs import bfs
from kernels.distributed.gpu_threads import on_gpus
from kernels.distributed.threads import run_ranks
from kernels.forest import minimum_spanning_forest
from kernels.generators import graph500
from kernels.gpu.transfer import on_host
from kernels.layout.certificate import certify_layout
from kernels.pagerank import pagerank
from kernels.sssp import sssp
from kernels.wcc import wcc
from kernels.wcc.sharded import wcc as wcc_over_shards

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


@pytest.mark.parametrize("weighted", [False, True])
def test_the_answers_of_one_rank(weighted):
    """By external ids; PageRank's scores, which depend on the shards, within the tolerance."""
    edges = DrawnEdges(graph500(9, seed=5), 3000, weighted)
    graph = laid_out_alone(edges)[0]
    source = int(graph.rows_by_id[0])
    expected = on_host(graph)

    def work(ranks):
        shard, _ = laid_out(edges, ranks)
        first = ranks.max(
            int(shard.rows.start + cupy.flatnonzero(shard.positions == 0)[0]) if (shard.positions == 0).any() else 0
        )
        found = {}
        for name, kernel in KERNELS.items():
            part = kernel.solve(shard, ranks, *((first,) if kernel.takes_source else ()))
            assert kernel.certify(shard, ranks, part.answer).holds
            found[name] = {field: cupy.asnumpy(array) for field, array in vars(part.answer).items() if hasattr(array, "dtype")}
        return cupy.asnumpy(shard.ids), found

    parts = on_ranks(2, work)
    ids = np.concatenate([own for own, _ in parts])

    def whole(name, field):
        return np.concatenate([found[name][field] for _, found in parts])

    def by_id(values, of_ids):
        return values[np.argsort(of_ids)]

    def named(rows, of_ids):
        return np.where(rows >= 0, of_ids[rows], -1)

    for name, answer in (("bfs", bfs(graph, source)), ("sssp", sssp(graph, source))):
        right, predecessor = cupy.asnumpy(answer.distance), cupy.asnumpy(answer.predecessor)
        assert np.array_equal(by_id(whole(name, "distance"), ids), by_id(right, expected.ids))
        assert np.array_equal(
            by_id(named(whole(name, "predecessor"), ids), ids), by_id(named(predecessor, expected.ids), expected.ids)
        )
    forest = minimum_spanning_forest(graph)
    for name, labels in (("wcc", wcc(graph).labels), ("forest", forest.labels)):
        assert np.array_equal(by_id(ids[whole(name, "labels")], ids), by_id(expected.ids[cupy.asnumpy(labels)], expected.ids))
    edges_found = np.stack([ids[whole("forest", "src")], ids[whole("forest", "dst")], whole("forest", "weights")])
    right = np.stack([*(expected.ids[cupy.asnumpy(ends)] for ends in (forest.src, forest.dst)), cupy.asnumpy(forest.weights)])
    assert np.array_equal(edges_found[:, np.lexsort(edges_found[1::-1])], right[:, np.lexsort(right[1::-1])])
    scores = by_id(cupy.asnumpy(pagerank(graph).scores), expected.ids)
    assert abs(by_id(whole("pagerank", "scores"), ids) - scores).sum() < 1e-6


@pytest.mark.parametrize("arcs", ["device", "host"])
def test_the_benchmark(monkeypatch, arcs):
    """Prints a row for each step; `--arcs host` adds one."""
    monkeypatch.setattr(generated, "machine", lambda: "a machine")
    monkeypatch.setattr(generated, "device_count", lambda: 1)
    printed = io.StringIO()
    generated.main(["--scale", "7", "--searches", "2", "--block", "500", "--ranks", "2", "--arcs", arcs], printed)
    rows = [line.split("|")[1:] for line in printed.getvalue().splitlines()[4:]]
    moved = ["arcs to the host"] if arcs == "host" else []
    assert [row[0].strip() for row in rows] == ["edges drawn once", "drawn and laid out", *moved, *generated.STAGES]
    assert all(row[4].strip() for row in rows if row[0].strip() in generated.STAGES)  # proved


def test_a_refused_answer(monkeypatch):
    """Ends the benchmark with the certificate's reason."""

    def apart(shard, ranks):
        part = wcc_over_shards(shard, ranks)
        return replace(part, answer=replace(part.answer, labels=cupy.arange(shard.rows.start, shard.rows.stop, dtype=np.int32)))

    monkeypatch.setattr(generated, "machine", lambda: "a machine")
    monkeypatch.setattr(generated, "device_count", lambda: 1)
    monkeypatch.setitem(generated.KERNELS, "wcc", replace(KERNELS["wcc"], solve=apart))
    with pytest.raises(SystemExit, match="label"):
        generated.main(["--scale", "6", "--stages", "wcc", "--ranks", "2"], io.StringIO())
