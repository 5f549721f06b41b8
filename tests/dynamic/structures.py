"""Random histories of all structures, against a replay of their arcs one by one."""

import numpy as np
import pytest

from kernels.bfs import bfs as static_bfs
from kernels.graph import Csr, Graph
from kernels.library.dynamic import STRUCTURES, BatchRules
from kernels.library.dynamic.contract import Lists, as_batch
from kernels.library.dynamic.searches import bfs, sssp
from kernels.sssp import sssp as static_sssp
from tests.dynamic.cases import Replay, arcs_of, host, random_arcs


def history(like, name: str, rules: BatchRules, weight=np.int32, vertices: int = 60, first: int = 0) -> Graph:
    """Batches and new vertices; the graph that is left, after its searches were compared with those of the static kernels."""
    none = np.zeros(vertices + 1, np.int64, like=like)
    empty = Csr(none, none[:0].astype(np.int32), None if weight is None else none[:0].astype(weight))
    graph, replay = STRUCTURES[name](empty, rules), Replay(vertices, [], rules.unique)
    for seed, number in enumerate((0, 3, 200, 400)):
        src, dst, weights = random_arcs(vertices, number, first + seed)
        if rules.unique:  # of parallel arcs any may stay; so that all structures keep the same
            weights = src + dst
        batch = as_batch(like, src, dst, weights, weight)
        assert graph.insert(batch) == replay.insert(*both(src, dst, rules))
        src, dst = (column[:: seed + 2] for column in (src, dst))
        assert graph.delete(as_batch(like, src, dst)) == replay.delete(*both(src, dst, rules))
        csr = graph.csr()
        assert arcs_of(Lists(*vars(csr).values())) == +replay.arcs
        assert graph.num_arcs == len(csr.indices) == replay.arcs.total()
        rows = np.asarray([5, 0, 5, vertices - 1], np.int32, like=like)
        lists = graph.advance(rows)
        for place, row in enumerate(host(rows).tolist()):
            begin, end = (int(csr.offsets[at]) for at in (row, row + 1))
            part = slice(int(lists.offsets[place]), int(lists.offsets[place + 1]))
            np.testing.assert_array_equal(host(lists.heads[part]), host(csr.indices[begin:end]))
        graph.add_vertices(3)
        replay.vertices += 3
        vertices += 3
    static = graph_of(graph.csr())
    for source in (0, vertices - 1):
        same(bfs(graph, source), static_bfs(static, source))
        same(sssp(graph, source), static_sssp(static, source))
    return static


def both(src, dst, rules: BatchRules):
    """Both arcs of each edge, as the structures order them."""
    if not rules.undirected:
        return src, dst
    turned = src != dst
    return np.append(src, dst[turned]), np.append(dst, src[turned])


def graph_of(csr: Csr) -> Graph:
    """A graph on the host with sorted rows."""
    offsets, heads = host(csr.offsets), host(csr.indices)
    weights = None if csr.weights is None else host(csr.weights)
    tails, vertices = np.repeat(np.arange(len(offsets) - 1), np.diff(offsets)).astype(np.int32), len(offsets) - 1

    def rows(tails, heads):
        order = np.lexsort((*(() if weights is None else (weights,)), heads, tails))
        counts = np.cumsum([0, *np.bincount(tails, minlength=vertices)])
        return Csr(counts, heads[order], None if weights is None else weights[order])

    ids = np.arange(vertices)
    return Graph(ids, ids.astype(np.int32), rows(tails, heads), rows(heads, tails), directed=True)


def same(found, expected) -> None:
    """Distances and predecessors are equal, and of one type."""
    for one, other in ((found.distance, expected.distance), (found.predecessor, expected.predecessor)):
        np.testing.assert_array_equal(host(one), host(other))
        assert one.dtype == other.dtype


def refuse_batches(like) -> None:
    """Batches in the memory of `like` that no graph takes."""
    with pytest.raises(ValueError, match="different lengths"):
        as_batch(like, [1], [1, 2])
    with pytest.raises(ValueError, match=r"vertices -1\.\.-1 are not all in"):
        as_batch(like, [1], [-1])
    with pytest.raises(ValueError, match="vertices are float64, not integers"):
        as_batch(like, [1.5], [2])
    wrong = (2**40, np.int32), (1.5, np.int64), (-1, np.int32), (2.0**63, np.int64), (np.nan, np.float64), (1e300, np.float32)
    for weight, dtype in wrong:
        with pytest.raises(ValueError, match=f"is not one of {np.dtype(dtype)}, 0 or more, and finite"):
            as_batch(like, [1], [2], np.array([weight]), dtype)
