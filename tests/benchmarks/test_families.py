"""The families of the sweep have the properties that they are named for, and its table shows what is too slow."""

from dataclasses import replace

import numpy as np
import pytest
from scipy.sparse import coo_array
from scipy.sparse.csgraph import connected_components

from benchmarks.families import generators
from benchmarks.families.table import markdown
from tests.benchmarks.test_benchmark_table import ROW

SIZE = 4096
CONNECTED = ("random_regular", "small_world", "preferential_attachment", "tree", "star_of_stars", "grid", "cubic_grid")
MEAN_DEGREE = {
    "random_regular": 6, "nearest_neighbours": 12, "small_world": 4, "preferential_attachment": 4, "tree": 2,
    "star_of_stars": 2, "grid": 4, "cubic_grid": 6, "bipartite": 4, "web": 13,
}  # fmt: skip


def made(name: str, size: int = SIZE) -> tuple[np.ndarray, np.ndarray, int]:
    return getattr(generators, name)(size, np.random.default_rng(3))


@pytest.mark.parametrize("name", MEAN_DEGREE)
def test_edges_are_between_about_as_many_vertices_as_wanted(name):
    src, dst, num_vertices = made(name)
    assert src.dtype == dst.dtype == np.int64
    assert len(src) == len(dst)
    assert min(src.min(), dst.min()) >= 0
    assert max(src.max(), dst.max()) < num_vertices == pytest.approx(SIZE, rel=0.02)
    assert 2 * len(src) / num_vertices == pytest.approx(MEAN_DEGREE[name], rel=0.1)
    assert all(np.array_equal(one, other) for one, other in zip((src, dst), made(name), strict=False))


@pytest.mark.parametrize("name", CONNECTED)
def test_families_that_are_connected(name):
    src, dst, num_vertices = made(name)
    parts, _ = connected_components(coo_array((np.ones(len(src)), (src, dst)), (num_vertices, num_vertices)), directed=False)
    assert parts == 1


def test_degrees():
    def degrees(name):
        src, dst, num_vertices = made(name)
        return np.bincount(src, minlength=num_vertices) + np.bincount(dst, minlength=num_vertices)

    assert set(degrees("random_regular")) == {6}
    assert degrees("preferential_attachment").max() > 100 > 30 > degrees("tree").max()
    assert sorted(degrees("star_of_stars"))[-65:] == [64, *[65] * 64]
    assert degrees("grid").max() == 4
    assert degrees("cubic_grid").max() == 6


def test_the_nearest_neighbours_are_the_nearest():
    src, dst, num_vertices = made("nearest_neighbours", 100)
    right, up = np.random.default_rng(3).random((2, 10, 10), dtype=np.float32)
    places = np.stack([np.arange(10) + right, np.arange(10)[:, None] + up]).reshape(2, -1)
    apart = np.abs(places[:, :, None] - places[:, None])
    squares = (np.minimum(apart, 10 - apart) ** 2).sum(axis=0)
    for point in range(num_vertices):
        assert set(dst[src == point]) == set(np.argsort(squares[point])[1:7])


def test_edges_of_the_small_world_the_bipartite_graph_and_the_web():
    src, dst, _ = made("small_world")
    assert 0.9 < ((dst - src) % SIZE <= 2).mean() < 0.97
    src, dst, _ = made("bipartite")
    assert src.max() < SIZE // 2 <= dst.min()
    src, dst, _ = made("web")
    popular, links = np.bincount(dst).max(), np.bincount(src)
    assert popular > 10 * links.mean()
    assert links.max() > 10 * np.median(links)


def test_the_table_shows_what_is_slower_than_it_may_be():
    rows = [ROW, replace(ROW, kernel="sssp", pylibcugraph=0.4), replace(ROW, kernel="wcc", median=None, failure="no memory")]
    text = markdown(rows)
    assert "| New York | 264,346 | 730,100 | 0.990 (95.7x) | 0.990 (0.404x) | failed: no memory |" in text
    assert text.endswith("Slower than 2.00 times cuGraph: New York: sssp.\n")
    assert markdown([ROW]).endswith("none of those that have a ratio.\n")
