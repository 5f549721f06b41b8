"""Maps and charts as they are drawn: projections, lines, histograms and dots."""

import io
import re
from types import SimpleNamespace

import numpy as np
import pyarrow as pa
import pytest
from PIL import Image

from pipeline.config.layout import LayoutConfig
from pipeline.report import charts, maps, reading
from pipeline.report.aggregates import bins
from pipeline.report.atlas import Atlas
from pipeline.report.charts import distributions
from pipeline.report.charts.distributions import degree_chart, distance_chart
from pipeline.report.reading import Coordinates
from pipeline.steps.layout import lay_out
from pipeline.steps.runtime import Runtime
from tests.reports import grid, run


def test_vertices_without_coordinates_are_left_out_and_counted():
    coordinates = Coordinates(np.array([2, 5]), np.array([0.0, 1.0]), np.array([0.0, 0.0]))
    projection = maps.project(coordinates)
    drawn = maps.plane(projection, [(np.array([1, 2, 5, 2]), np.array([2, 5, 2, 99]))])
    assert (drawn.edges, drawn.left_out) == (2, 2)
    levels = drawn.levels(np.array([4, 7], np.uint8))
    line = levels[levels.shape[0] // 2]
    assert set(line.tolist()) == {maps.NOTHING, 4, 7}
    assert abs(int((line == 4).sum()) - int((line == 7).sum())) <= 1  # each half has its own end


def test_extreme_coordinates_do_not_break_the_map():
    plane = maps.project(Coordinates(np.array([1, 2]), np.array([-1e308, 1e308]), np.array([0.0, 1e308])))
    assert plane.middle is None and plane.km_per_pixel is None
    assert np.isfinite(plane.x).all() and np.isfinite(plane.y).all()
    assert max(plane.width, plane.height) == maps.LONG_SIDE
    point = maps.project(Coordinates(np.array([1]), np.array([3.0]), np.array([4.0])))
    assert (point.width, point.height) == (maps.LEAST_SIDE, maps.LEAST_SIDE)
    assert point.x[0] == point.width / 2 and point.y[0] == point.height / 2


def test_east_and_north_have_equal_scale_in_the_middle():
    coordinates = Coordinates(np.array([1, 2, 3]), np.array([10.0, 10.2, 10.0]), np.array([60.0, 60.0, 60.1]))
    projection = maps.project(coordinates)
    east, north = projection.x[1] - projection.x[0], projection.y[0] - projection.y[2]
    assert east / north == pytest.approx(2 * np.cos(np.radians(60.05)))
    # 0.1 degrees of latitude are 11.1 km.
    assert north * projection.km_per_pixel == pytest.approx(11.12, abs=0.01)


def test_lines_include_both_endpoints_and_the_lowest_level_is_on_top():
    places = np.array([0.0, 5.0, 2.0, 2.0]), np.array([0.0, 0.0, 0.0, 4.0])
    projection = maps.Projection(np.arange(1, 5), *places, 6, 5, None, None)
    values = np.array([7.0, 7.0, 3.0, 3.0])
    batches = [(np.array([1]), np.array([2])), (np.array([4]), np.array([3]))]
    levels = maps.bold(maps.plane(projection, batches).levels(maps.by_value(values, maps.FAINT - 1)))
    picture = maps.picture(levels)
    level = (picture.astype(int) - 1) // 4
    assert level[1:].tolist() == [[-1, -1, 3, -1, -1, -1]] * 4
    assert level[0, [0, 5]].tolist() == [7, 7]
    assert (picture[1:, 2] == 16).all()  # whole pixels: 1 + 4 level + 3


def test_faint_lines_stay_thin_and_below():
    faint, nothing = maps.FAINT, maps.NOTHING
    assert maps.bold(np.array([[faint, 3, nothing, faint]], np.uint8)).tolist() == [[faint, 3, 3, faint]]


def test_a_picture_is_compressed_once_for_all_themes():
    indices = np.arange(12, dtype=np.uint8).reshape(3, 4) * 3
    light, dark = maps.pngs(indices, {theme: maps.distance_colours(theme) for theme in ("light", "dark")}).values()
    assert light[-60:] == dark[-60:] and light != dark
    read = Image.open(io.BytesIO(light))
    assert np.array_equal(np.asarray(read), indices)
    small = Image.open(io.BytesIO(maps.reduced(np.zeros((900, 600), np.uint8), maps.distance_colours("light"), 420)))
    assert small.size == (280, 420)


def test_named_vertices_are_spread_over_the_map(tmp_path, monkeypatch):
    monkeypatch.setattr("pipeline.report.atlas.MOST_NAMED", 50)
    steps = run(tmp_path, *grid(12), stages=("sssp",), sources=(1,))
    ids, coordinates = np.arange(1, 145), reading.coordinates(steps.edges)
    atlas = Atlas(steps.graph, coordinates, ids, 1)
    assert 20 <= len(atlas.named["id"]) <= 50
    for name, x, y in zip(atlas.named["id"], atlas.named["x"], atlas.named["y"], strict=True):
        for axis, pixel, places in ((0, x, coordinates.x), (1, y, coordinates.y)):
            assert atlas.named["corner"][axis] + atlas.named["step"][axis] * pixel == pytest.approx(
                places[int(name) - 1], abs=1e-5
            )


@pytest.mark.parametrize("ids", [[3, 4, 5], [3, 5, 9]])
def test_vertices_are_found_among_dense_and_sparse_ids(ids):
    projection = maps.Projection(np.array(ids), np.zeros(3), np.zeros(3), 6, 5, None, None)
    entry, known = projection.find(np.array([-(2**63), 2, *ids, 10, 2**63 - 1]))
    assert known.tolist() == [False, False, True, True, True, False, False]
    assert entry[2:5].tolist() == [0, 1, 2]


def test_heights_of_a_histogram_are_the_counts():
    edges, counts, _ = bins([np.array([0, 1]), np.array([1, 1, 3])], 10)
    chart = charts.histogram(charts.Caption("", "", "", ""), edges, counts, integer=True)
    assert [text for _, text in chart.x_ticks] == ["0", "1", "2", "3"]
    top = chart.y_ticks[-1]
    assert top == (charts.TOP, "3")
    heights = [float(height) for height in re.findall(r"V([\d.]+)H", chart.series[0].path)]
    one = (charts.BOTTOM - charts.TOP) / 3
    assert heights == pytest.approx([charts.BOTTOM - one * count for count in (1, 3, 0, 1)])
    sides = [float(side) for side in re.findall(r"H([\d.]+)", chart.series[0].path)]
    assert sides == pytest.approx(np.linspace(charts.LEFT, charts.RIGHT, 5)[1:])


def test_dots_are_drawn_at_their_logarithms():
    points = [("", np.array([1, 10, 100]), np.array([1000, 1, 10]))]
    chart = charts.log_log(charts.Caption("", "", "", ""), points)
    assert [text for _, text in chart.x_ticks] == ["1", "10", "100"]
    assert [text for _, text in chart.y_ticks] == ["1", "10", "100", "1k"]
    dots = [tuple(map(float, dot)) for dot in re.findall(r"M([\d.]+) ([\d.]+)h0", chart.series[0].path)]
    third = (charts.BOTTOM - charts.TOP) / 3
    middle = (charts.LEFT + charts.RIGHT) / 2
    expected = [(charts.LEFT, charts.TOP), (middle, charts.BOTTOM), (charts.RIGHT, charts.BOTTOM - third)]
    assert dots == expected


@pytest.mark.parametrize("most", [5e-324, 1e-310, 2.3e-308, 1e-300, 0.0, 1.7e308])
def test_distances_may_be_the_smallest_and_the_largest_floats(most):
    distance = pa.chunked_array([pa.array([0.0, most / 2, most, None])])
    chart = distance_chart(1, distance)
    assert chart.caption.sentence.startswith("3 of 4 vertices reached")
    edges, counts, _ = bins([distance.drop_null().to_numpy()], 60)
    assert counts.sum() == 3
    assert edges[-1] == (most or 1.0)


def test_bins_count_every_value_once():
    for values in (
        np.array([0]),
        np.arange(1000),
        np.array([5, 5, 5]),
        np.array([0.0]),
        np.array([0.1, 7.5]),
        np.array([0, 2**62]),
    ):
        edges, counts, width = bins(np.array_split(values, 2), 60)
        assert counts.sum() == len(values) and len(counts) <= 60 and len(edges) == len(counts) + 1
        assert edges[0] <= values.min() and values.max() <= edges[-1]
        assert width > 0


@pytest.mark.parametrize("block", [1, 3, 1 << 20])
@pytest.mark.parametrize("directed", [False, True])
@pytest.mark.parametrize("shards", [1, 3])
@pytest.mark.parametrize("keep", ["keep", "drop"])
def test_each_arc_is_drawn_once(tmp_path, monkeypatch, block, directed, shards, keep):
    monkeypatch.setattr(reading, "BLOCK", block)
    edges = [(9, 2), (2, 9), (2, 4), (4, 4), (7, 7), (9, 4), (11, 2), (2, 4)]
    lines = "".join(f"{src},{dst}\n" for src, dst in edges)
    steps = run(tmp_path, "src,dst\n" + lines, stages=(), directed=directed)
    layout = LayoutConfig(self_loops=keep, shards=shards)
    graph = lay_out(steps.edges, layout, Runtime(tmp_path))
    drawn = [pair for tails, heads in reading.arcs(graph) for pair in zip(tails.tolist(), heads.tolist(), strict=True)]
    kept = {pair for pair in edges if keep == "keep" or pair[0] != pair[1]}
    expected = kept if directed else {tuple(sorted(pair)) for pair in kept}
    found = drawn if directed else [tuple(sorted(pair)) for pair in drawn]
    assert sorted(found) == sorted(expected)


def test_degrees_are_counted_in_parts(monkeypatch):
    out, into = np.array([3, 0, 1, 1, 7, 1], np.int32), np.array([2, 2, 2, 2, 2, 3], np.int32)
    for columns in ((out, into), (out, out), (out, out.copy())):
        drawn = []
        for part in (2, 1 << 20):
            monkeypatch.setattr(distributions, "_BLOCK", part)
            drawn.append(degree_chart(SimpleNamespace(out_degree=columns[0], in_degree=columns[1])))
        assert drawn[0] == drawn[1] and "degree" in str(drawn[0])
