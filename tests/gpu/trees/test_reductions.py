"""Reductions of trees on the GPU: the CPU's, to the byte."""

# ruff: noqa: E402  (the imports below need CuPy)
import numpy as np
import pytest

cupy = pytest.importorskip("cupy")

from kernels.gpu.loader import to_host
from kernels.gpu.transfer import to_device
from kernels.graph import Graph
from kernels.reductions import ArcLoads, Nearest, measure, within
from kernels.reductions.decay import Access, decayed
from kernels.reductions.decay.constants import EXPONENTIAL, GRAVITY
from kernels.reductions.decay.factors import Decay
from kernels.sssp import sssp
from tests.gpu.inputs import poison, random_edges, shuffled


def check(graph: Graph, sources: range, dtype: type) -> None:
    """All reductions of the trees from some rows."""
    paths = [sssp(graph, source) for source in sources]
    distances = np.stack([path.distance for path in paths]).astype(dtype)
    predecessors = np.stack([path.predecessor for path in paths])
    there, before = cupy.asarray(distances), cupy.asarray(predecessors)
    poison(1 << 20)
    for found, expected in zip(vars(measure(there)).values(), vars(measure(distances)).values(), strict=True):
        np.testing.assert_array_equal(found, expected)
    random = np.random.default_rng(1)
    columns = random.integers(-9, 9, (2, graph.num_vertices))
    thresholds = np.quantile(distances[distances >= 0], [0, 0.3, 1])
    np.testing.assert_array_equal(to_host(within(there, thresholds, columns)), within(distances, thresholds, columns))
    values, amounts = random.normal(0, 9, (2, graph.num_vertices)), random.random((len(sources), len(thresholds)))
    for decay in (Decay(), Decay(EXPONENTIAL, 0.013), Decay(GRAVITY, 1.7, 2.5)):
        sums = zip(decayed(there, thresholds, values, decay), decayed(distances, thresholds, values, decay), strict=True)
        for over, here in sums:
            np.testing.assert_array_equal(over, here)
        access = [Access(of, graph.num_vertices, thresholds, amounts.max(axis=0), decay) for of in (distances, there)]
        for of, trees in zip(access, (distances, there), strict=True):
            of.add(trees, amounts)
        np.testing.assert_array_equal(to_host(access[1].totals), access[0].totals)
    wide = np.float64 if dtype is np.float64 else np.int64
    for most in (1, 3):
        both = [Nearest(of, most, graph.num_vertices, wide) for of in (distances, there)]
        for part in (slice(0, 2), slice(2, None)):
            for nearest, of in zip(both, (distances, there), strict=True):
                nearest.add(of[part], np.arange(10, 10 + len(sources))[part])
        np.testing.assert_array_equal(to_host(both[1].distance), both[0].distance)
        np.testing.assert_array_equal(to_host(both[1].facility), both[0].facility)
    asked = random.integers(0, 4, graph.num_vertices)
    here, over = ArcLoads(graph), ArcLoads(to_device(graph))
    trees, ends = np.sort(random.integers(0, len(sources), 200)), random.integers(0, graph.num_vertices // 9, 200)
    for wanted in (None, asked):
        here.add(predecessors, wanted)
        over.add(before, None if wanted is None else cupy.asarray(wanted))
        np.testing.assert_array_equal(to_host(over.loads), here.loads)
    for of, paths in ((here, predecessors), (over, before)):
        of.add_paths(paths, trees, ends.astype(predecessors.dtype), trees % 3)
    np.testing.assert_array_equal(to_host(over.loads), here.loads)


@pytest.mark.parametrize("dtype", [np.int32, np.int64, np.float64])
def test_random_graphs(dtype: type) -> None:
    check(shuffled(random_edges(4, 700, 1400, dtype is np.int32)), range(5), dtype)


def test_several_chunks() -> None:
    check(shuffled(random_edges(5, 20_000, 50_000, False)), range(3), np.int64)
