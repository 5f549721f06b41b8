"""Kernels that only large graphs take, or graphs with certain degrees or numbers of paths; and the decoding of large files."""

# ruff: noqa: E402  (the imports below need the emulator)
from functools import partial

import numpy as np
import pytest

cupy = pytest.importorskip("cupy", reason="EMULATED_GPU=1 is not set")

from benchmarks.one_gpu.contests import equal, near
from kernels.answers import Components
from kernels.bfs import bfs
from kernels.bfs.sharded import bfs as bfs_over_shards
from kernels.bfs.sharded import cuda as cuda_levels
from kernels.distributed.assembly import to_device as shard_to_device
from kernels.gpu.loader import ROOT
from kernels.gpu.transfer import to_device
from kernels.layout import cuda as cuda_layout
from kernels.library.operators import Frontier, advance
from kernels.library.operators.constants import HUB_DEGREE
from kernels.pagerank import cuda as cuda_pagerank
from kernels.pagerank import pagerank
from kernels.pagerank.parameters import DAMPING, TOLERANCE
from kernels.pagerank.parameters import checked as parameters_of_pagerank
from kernels.reachability import reach, reachability
from kernels.reachability.certificate.answers import reach_with_proof
from kernels.reachability.certificate.answers_cuda import first_reached
from kernels.wcc import cuda as cuda_wcc
from kernels.wcc import wcc
from tests.emulator import coverage
from tests.emulator import test_kernels as on_one
from tests.emulator.test_kernels import crowd, roads, throng
from tests.gpu.decoding.test_blake3 import (  # noqa: F401
    test_any_length_in_any_parts,
    test_other_types_parts_of_arrays_and_pinned_memory,
)
from tests.gpu.decoding.test_decoding import (  # noqa: F401
    decoded,
    test_a_damaged_page,
    test_a_damaged_page_that_ends_the_work_on_the_gpu,
    test_a_decoder_that_is_wrong,
    test_a_file_without_rows,
    test_a_footer_that_states_too_small_values,
    test_the_same_edges_as_from_tables,
    test_values_that_are_refused,
    test_ways_of_writing,
)
from tests.gpu.several.test_sharded_reachability import assert_equals_one_rank
from tests.gpu.test_published import (  # noqa: F401
    test_any_number_of_queries,
    test_exceptions_are_those_that_the_cpu_lists,
    test_rows_are_in_the_queue_of_their_number_of_arcs_and_once_a_level,
)
from tests.graphs import EdgeList, graph_of
from tests.operators.cases import graph_of_arcs, like
from tests.sharded.indexes import layered
from tests.sharded.ranks import evenly


def test_a_layout_in_ranges_of_tails(monkeypatch):
    monkeypatch.setattr(cuda_layout, "_SMALL", 0)
    graph = crowd(50)
    on_one.test_the_layout(graph, to_device(graph))


def test_pagerank_in_tiles():
    graph, parameters = crowd(50), parameters_of_pagerank(DAMPING, TOLERANCE)
    near(cuda_pagerank.in_tiles(to_device(graph), parameters), pagerank(graph))


@pytest.mark.parametrize("most_rows", [64, 1 << 15])
def test_weak_components_from_all_arcs(most_rows):
    graph = roads(10)
    equal(Components(cuda_wcc.joining_all(to_device(graph), most_rows)()), wcc(graph))


def test_levels_that_are_pushed_over_shards(monkeypatch):
    monkeypatch.setattr(cuda_levels, "_FEW_ARCS", 0)
    monkeypatch.setattr(cuda_levels, "_PUSHED_SHARE", 1)
    graph = throng(60)
    parts = evenly(lambda shard, ranks: bfs_over_shards(shard_to_device(shard), ranks, 0), graph, 2)
    expected = bfs(graph, 0)
    for name in ("distance", "predecessor"):
        found = np.concatenate([getattr(part.answer, name).get() for part in parts])
        np.testing.assert_array_equal(found, getattr(expected, name))


def test_hubs():
    """Rows that all blocks share, with values of their own; one of them ends within a chunk."""
    arcs = [(row, arc % 7) for row, degree in ((0, HUB_DEGREE + 33), (3, HUB_DEGREE)) for arc in range(degree)]
    graph = graph_of_arcs([*arcs, (5, 6)], 8)

    def totals(graph):
        found = like(graph, np.zeros(8, np.int64))

        def before(row, degree):
            return degree % 9

        def edge(neighbour, own):
            return neighbour + own

        def after(row, total):
            found[row] = total

        advance(Frontier.everything(graph), edge, before=before, after=after, collect="sum")
        return found

    assert totals(to_device(graph)).tolist() == totals(graph).tolist()


def test_depth_first_trees_with_more_paths_than_integers_count():
    """A chain of 70 pairs of equally short ways."""
    ways = [(3 * i, 3 * i + way) for i in range(70) for way in (1, 2)]
    graph = graph_of(EdgeList("chain", tuple(ways + [(way, 3 * (row // 3) + 3) for row, way in ways])))
    index = reachability(graph, 2, method="dfs")
    assert index.labels.compared_paths == (True, True)
    equal(reachability(to_device(graph), 2, method="dfs"), index)


@pytest.mark.parametrize("tops", [1, 2])
def test_depth_first_trees_with_just_too_many_paths(tops):
    """From the end of a chain 2^62 - 3 paths begin, and from each top, which has three more ends below it, 2^62 + 1."""
    ways = [(3 * i, 3 * i + way) for i in range(60) for way in (1, 2)]
    ways += [(way, 3 * (row // 3) + 3) for row, way in ways]
    ways += [(200 + top, below) for top in range(tops) for below in (0, 190, 191, 192)]
    ways += [(300, 200 + top) for top in range(tops)]
    graph = graph_of(EdgeList("chain", tuple(ways)))
    index = reachability(graph, 1, method="dfs")
    assert index.labels.compared_paths == (True,)
    equal(reachability(to_device(graph), 1, method="dfs"), index)


def test_answers_no_are_searched_again():
    graph = layered(8, 12, 2)
    index, index_there = reachability(graph, 1), reachability(to_device(graph), 1)
    pairs = np.indices((graph.num_vertices,) * 2).reshape(2, -1)
    proved, expected = reach_with_proof(index_there, *map(cupy.asarray, pairs), 20), reach(index, *pairs)
    np.testing.assert_array_equal(proved.answers.reachable.get(), expected.reachable)
    assert proved.sampled == 20
    src, dst = (index_there.condensation.node[cupy.asarray(rows)] for rows in pairs)
    separate, joined = (cupy.asarray(np.flatnonzero(of)) for of in (~expected.reachable, expected.reachable & (src != dst).get()))
    places = cupy.concatenate([separate[:5], joined[:2]])
    assert first_reached(index_there, src[places], dst[places]) == 5


@pytest.mark.parametrize("make", [partial(layered, 4, 10, 2), partial(layered, 2, 70, 40)], ids=["lanes", "warps"])
def test_an_index_over_shards(make):
    assert_equals_one_rank(make(), 2)


def test_launched_kernels_are_known_by_file_and_name(monkeypatch):
    """A source has generated lines in front, and kernels of its headers."""
    launched = {("wcc/wcc.cu", "join_all"), ("sssp/short_paths.cu", "prepare"), ("paths/long_paths.cu", "shorten")}
    codes = {(f"// generated\n{(ROOT / file).read_text()}", name) for file, name in launched}
    monkeypatch.setattr(coverage, "LAUNCHED", codes)
    expected = {"wcc/wcc.cu:join_all", "sssp/buckets.cuh:prepare", "paths/long_paths.cu:shorten"}
    assert coverage.launched_kernels() == expected < coverage.all_kernels()
