"""The report agrees with the tables and manifests for any graph, and loads nothing from elsewhere."""

from __future__ import annotations

import base64
import io
import re
from itertools import pairwise
from pathlib import Path

import numpy as np
import pytest
from PIL import Image

from pipeline.config.loading import load_run
from pipeline.config.run import STAGES
from pipeline.ingest import ingest
from pipeline.report import charts, maps
from pipeline.report.charts import bins
from pipeline.report.reading import Coordinates
from pipeline.steps.layout import lay_out
from pipeline.steps.runtime import Runtime
from pipeline.steps.stages import run_stage
from pipeline.steps.verify import prove
from pipeline.tables import files as tables
from tests.graphs import NAMED_GRAPHS
from tests.reports import Page, Steps, csv_of, grid, run

ROOT = Path(__file__).parent.parent.parent
LOADS = {"src", "href", "srcset", "action", "data", "poster", "xlink:href"}


def loaded(page: Page) -> list[str]:
    return [value for _, attributes in page.tags for name, value in attributes.items() if name in LOADS]


def image(page: Page) -> np.ndarray:
    """RGBA arrays of the pictures on the page, stacked."""
    pictures = [attributes["src"].partition("base64,")[2] for attributes in page.attributes("img")]
    return np.stack([np.asarray(Image.open(io.BytesIO(base64.b64decode(text))).convert("RGBA")) for text in pictures])


@pytest.fixture(scope="module")
def steps(tmp_path_factory) -> Steps:
    return run(tmp_path_factory.mktemp("grid"), *grid(12), sources=(1, 60), oracle=True)


@pytest.fixture(scope="module")
def page(steps) -> Page:
    return steps.page("grid")


def test_first_rows_equal_the_tables(steps, page):
    for answer in steps.answers:
        table = tables.read(answer.path)
        expected = [["null" if value is None else str(value) for value in row.values()] for row in table[:6].to_pylist()]
        assert page.head_of(tables.table_of(answer.manifest.step)) == expected
        assert f"6 of {table.num_rows:,} rows" in page.text


def test_counts_and_proofs_equal_the_manifests(steps, page):
    graph, edges = steps.graph.facts, steps.edges.facts
    assert f"{graph['vertices']} vertices, {graph['arcs']} arcs, directed, every arc with its reverse" in page.text
    assert edges["source"]["sha256"] in page.text
    assert edges["source"]["path"] in page.text
    for proof in steps.proofs:
        for rule in (*proof.facts["rules"], *proof.facts["oracle"]["rules"]):
            assert rule in page.text
    assert f"{len(STAGES)} of {len(STAGES)}" in page.text
    assert page.text.count("✓") == 0  # the style adds the sign; the text says it in words
    assert page.text.count("holds") == 2 * len(STAGES)


def test_a_stages_row_has_times_and_throughput(steps, page):
    rows = page.tables[0][1:]
    assert [row[0].startswith(stage) for row, stage in zip(rows, STAGES, strict=True)] == [True] * len(STAGES)
    for answer, proof, row in zip(steps.answers, steps.proofs, rows, strict=True):
        assert row[2] == f"{answer.facts['rows']:,}"
        assert row[3] == f"{answer.facts['seconds'] * 1000:,.1f}"
        assert row[5] == f"{proof.facts['seconds'] * 1000:,.1f}"
        assert row[6] == f"{proof.facts['oracle']['seconds'] * 1000:,.1f}"
        arcs = 2 * steps.graph.facts["arcs"]  # both sources reach the whole grid
        searched = f"{arcs / answer.facts['seconds'] / 1e6:,.1f}"
        assert row[4] == (searched if answer.manifest.step in ("bfs", "sssp") else "\N{EN DASH}")


def test_each_answer_has_a_summary(steps, page):
    table = tables.read(steps.answers[2].path)
    assert f"143 edges of total weight {sum(table['weight'].to_pylist())}; 1 tree" in page.text
    assert "1 component; the largest has 144 vertices (100.00%)" in page.text
    assert "2 sources; 288 distances" in page.text
    ranks = tables.read(steps.answers[5].path).to_pylist()
    highest = max(ranks, key=lambda row: row["pagerank"])
    assert f"vertex {highest['vertex']} has the highest pagerank, {highest['pagerank']:.6g}; the 10 highest have" in page.text


def test_charts_state_their_numbers(steps, page):
    bfs, sssp = (tables.read(answer.path).to_pandas() for answer in steps.answers[:2])
    for source, levels in bfs.groupby("source")["distance"]:
        sizes = np.bincount(levels)
        assert f"Levels from {source}" in page.text
        widest = f"widest level {sizes.argmax()} with {sizes.max()} vertices"
        assert f"144 of 144 vertices reached; deepest level {levels.max()}; {widest}." in page.text
    for source, distance in sssp.groupby("source")["distance"]:
        median = int(distance.quantile(0.5, interpolation="lower"))
        assert f"Distances from {source}" in page.text
        assert f"median {median}, farthest {distance.max()} (sum of weights)" in page.text
    drawn = [attributes["aria-label"] for attributes in page.attributes("svg")]
    assert len(drawn) == 5
    assert drawn[0].startswith("Degrees, vertices by degree (arcs). out-degree = in-degree: median 4, mean 3.67, largest 4.")


def test_the_maps_show_the_network(page):
    assert [attributes["alt"][:30] for attributes in page.attributes("img")] == [
        "Map. Shortest-path distance fr", "Map. The minimum spanning fore",
    ]  # fmt: skip
    distance, forest = image(page)
    assert 0.02 < (distance[..., 3] > 0).mean() < 0.5
    # Vertex 1 lies in the south-west: dark blue near it, yellow in the opposite corner.
    height, width, _ = distance.shape
    near = distance[height - 60 :, :60][distance[height - 60 :, :60, 3] == 255].mean(axis=0)
    far = distance[:60, width - 60 :][distance[:60, width - 60 :, 3] == 255].mean(axis=0)
    assert near[2] > near[0] and far[0] > far[2] + 80
    # 143 of the 264 edges are the forest's.
    green = (forest[..., 3] > 0) & (forest[..., 1] > forest[..., 0] + 40)
    grey = (forest[..., 3] > 0) & ~green
    assert green.sum() > grey.sum() > 0


def test_the_map_states_its_scale_unit_and_source(page):
    assert "source 1" in page.text
    assert " 2 km " in page.text
    assert f"Longitude is scaled by cos({(40 + 40.11) / 2:.2f}°)" in page.text
    assert "528 edges of the edge list drawn as straight lines" in page.text
    assert "Not drawn:" not in page.text
    marker = next(attributes for _, attributes in page.tags if attributes.get("class") == "marker")
    left, top = re.fullmatch(r"left: ([\d.]+)%; top: ([\d.]+)%", marker["style"]).groups()
    assert float(left) < 5 and float(top) > 95


def test_the_page_loads_nothing_from_elsewhere(steps, page):
    assert all(value.startswith("data:") for value in loaded(page))
    assert not {"script", "link", "iframe", "object", "embed", "form"} & {
        name for name, attributes in page.tags if attributes.get("rel") != "icon"
    }
    style = (ROOT / "pipeline/report/report.css").read_text()
    assert "url(" not in style and "@import" not in style
    policy = next(attributes for attributes in page.attributes("meta") if "http-equiv" in attributes)
    assert policy["content"] == "default-src 'none'; img-src data:; style-src 'unsafe-inline'"
    assert list(steps.draw("grid").manifest.files) == ["report.html"]


def test_the_page_is_accessible_to_screen_readers(page):
    assert page.attributes("html")[0]["lang"] == "en"
    assert all(attributes["alt"] for attributes in page.attributes("img"))
    assert all(attributes["aria-label"] for attributes in page.attributes("svg"))
    assert all(attributes.get("scope") in ("col", "row") for attributes in page.attributes("th"))
    levels = [int(name[1]) for name, _ in page.tags if re.fullmatch("h[1-6]", name)]
    assert levels[0] == 1 and max(b - a for a, b in pairwise(levels)) == 1
    names = [attributes["aria-labelledby"] for attributes in page.attributes("section")]
    assert names == [attributes["id"] for _, attributes in page.tags if "id" in attributes]


@pytest.mark.parametrize("theme", ["light", "dark"])
def test_colours_have_enough_contrast(theme):
    style = (ROOT / "pipeline/report/report.css").read_text()
    light, dark = style.split("prefers-color-scheme: dark", 1)
    colours = dict(re.findall(r"--(\w+): (#[0-9a-f]{6})", light if theme == "light" else dark))

    def luminance(colour: str) -> float:
        channels = [int(colour[i : i + 2], 16) / 255 for i in (1, 3, 5)]
        linear = [c / 12.92 if c <= 0.04045 else ((c + 0.055) / 1.055) ** 2.4 for c in channels]
        return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]

    def contrast(one: str, other: str) -> float:
        low, high = sorted((luminance(one), luminance(other)))
        return (high + 0.05) / (low + 0.05)

    for text in ("ink", "muted", "good", "bad"):
        assert contrast(colours[text], colours["paper"]) >= 4.5  # WCAG 2.2, 1.4.3
    for line in ("first", "second"):
        assert contrast(colours[line], colours["paper"]) >= 3  # 1.4.11


def test_equal_inputs_give_equal_bytes(steps, tmp_path):
    first = steps.draw("grid")
    again = Steps(tmp_path, steps.edges, steps.graph, steps.answers[::-1], steps.proofs[::-1]).draw("grid")
    assert not again.reused
    assert again.manifest.files == first.manifest.files
    assert steps.draw("grid").reused
    assert not steps.draw("another name").reused


def test_names_are_escaped(steps):
    page = steps.page("<script>alert('&')</script> & \"sons\"")
    assert "<script" not in page.html
    assert page.words.count("<script>alert('&')</script> & \"sons\"") == 1  # the heading
    assert "<script>alert('&')</script> & \"sons\" · graphmill report" in page.words


@pytest.mark.parametrize("edges", [graph for graph in NAMED_GRAPHS if graph.ids], ids=lambda graph: graph.name)
def test_every_named_graph_has_a_report(edges, tmp_path):
    steps = run(tmp_path, csv_of(edges), directed=edges.directed, sources=edges.ids[:1])
    page = steps.page(edges.name)
    assert f"{len(edges.ids):,} vertices, {len(edges.arcs()):,} arcs" in page.text
    assert "No map: the graph has no coordinates." in page.text
    for answer in steps.answers:
        head = tables.read(answer.path)[:6].to_pylist()
        assert page.head_of(tables.table_of(answer.manifest.step)) == [
            ["null" if value is None else str(value) for value in row.values()] for row in head
        ]
    assert "nan" not in page.text
    assert all("nan" not in attributes["d"] and "inf" not in attributes["d"] for attributes in page.attributes("path"))


@pytest.mark.parametrize("vertices", [0, 1, 3])
def test_a_graph_without_edges_has_a_report(vertices, tmp_path):
    places = f"p aux sp co {vertices}\n" + "".join(f"v {vertex} 5 7\n" for vertex in range(1, vertices + 1))
    page = run(tmp_path, f"p sp {vertices} 0\n", places).page()
    assert f"{vertices} vertices, 0 arcs" in page.text
    assert "No vertex has an arc: there is no degree to draw." in page.text
    assert len(page.attributes("img")) == (2 if vertices else 0)


def test_a_report_of_some_stages(tmp_path):
    steps = run(tmp_path, *grid(4), stages=("wcc", "bfs"))
    page = steps.page()
    assert [row[0][:3] for row in page.tables[0][1:]] == ["bfs", "wcc"]  # in the order of the stages
    assert "No map: neither sssp nor mst ran." in page.text
    assert "Oracle: did not run." in page.text
    assert not page.attributes("img")


def test_a_stage_without_a_proof_is_not_called_proved(tmp_path):
    steps = run(tmp_path, "src,dst\n1,2\n", stages=("bfs", "wcc"))
    page = Steps(tmp_path / "again", steps.edges, steps.graph, steps.answers, steps.proofs[:1]).page()
    assert "answers proved 1 of 2" in page.text
    assert "Not proved." in page.text


def test_of_many_sources_the_first_are_drawn_and_the_rest_counted(tmp_path):
    steps = run(tmp_path, *grid(5), stages=("bfs", "sssp"), sources=range(1, 26))
    page = steps.page()
    assert len(page.attributes("svg")) == 1 + 3 + 3
    assert "bfs: the first 3 of 25 sources are drawn; the table has all." in page.text
    assert "Sources: 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12 and 13 more." in page.text
    assert "25 sources; 625 distances" in page.text


def test_directed_degrees_are_drawn_both_ways_and_zeros_are_counted(tmp_path):
    page = run(tmp_path, "src,dst\n1,2\n1,3\n1,4\n4,4\n", stages=("scc",)).page()
    assert "out-degree: median 0, mean 0.75, largest 3; in-degree: median 1, mean 0.75, largest 1." in page.text
    assert "Not on the axes: 3 vertices of out-degree 0, 1 of in-degree 0." in page.text
    degrees = page.attributes("path")
    assert [attributes["class"] for attributes in degrees if "class" in attributes][:2] == ["dots s1", "dots s2"]
    assert "Self-loops dropped \N{MINUS SIGN} 1" in page.text


def test_component_sizes_are_drawn_if_they_differ(tmp_path):
    page = run(tmp_path, "src,dst\n1,2\n2,3\n5,6\n7,7\n8,8\n", stages=("wcc", "scc")).page()
    assert "4 components; the largest has 3 vertices (42.86%); 2 of one vertex" in page.text
    assert "4 components; the largest has 3 vertices; 2 of one vertex." in page.text
    assert "Strongly connected components: 7 components of 1 vertex; no distribution to draw." in page.text


def test_float_distances_are_shown(tmp_path):
    page = run(tmp_path, "src,dst,weight\n1,2,0.25\n2,3,1e9\n1,4,0.5\n", stages=("sssp", "mst"), sources=[1]).page()
    assert "median 0.25, farthest 1,000,000,000 (sum of weights)" in page.text
    assert page.head_of("sssp")[1] == ["1", "2", "0.25", "1"]
    assert "3 edges of total weight 1,000,000,001; 1 tree" in page.text


def test_vertices_without_coordinates_are_left_out_and_counted():
    coordinates = Coordinates(np.array([2, 5]), np.array([0.0, 1.0]), np.array([0.0, 0.0]))
    projection = maps.project(coordinates)
    drawn = maps.lines(projection, [(np.array([1, 2, 5, 2]), np.array([2, 5, 2, 99]))])
    assert (drawn.edges, drawn.left_out, len(drawn.ends)) == (2, 2, 1)


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
    projection = maps.Projection(np.array([1]), np.zeros(1), np.zeros(1), 6, 5, None, None)
    ends = np.array([[[0, 0], [10, 0]], [[4, 0], [4, 8]]])
    picture = maps.picture(projection, [(ends, np.array([7, 3], np.uint8), 2)])
    level = (picture.astype(int) - 1) // 4
    assert level.tolist() == [[7, 7, 3, 7, 7, 7], *[[-1, -1, 3, -1, -1, -1]] * 4]
    assert (picture[0] == [32, 32, 16, 32, 32, 32]).all()  # whole pixels: 1 + 4 level + 3


def test_heights_of_a_histogram_are_the_counts():
    edges, counts, _ = bins(np.array([0, 1, 1, 1, 3]), 10)
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


def test_bins_count_every_value_once():
    for values in (
        np.array([0]),
        np.arange(1000),
        np.array([5, 5, 5]),
        np.array([0.0]),
        np.array([0.1, 7.5]),
        np.array([0, 2**62]),
    ):
        edges, counts, width = bins(values, 60)
        assert counts.sum() == len(values) and len(counts) <= 60 and len(edges) == len(counts) + 1
        assert edges[0] <= values.min() and values.max() <= edges[-1]
        assert width > 0


def test_the_report_of_new_york_is_small(tmp_path):
    config = load_run(ROOT / "conf/runs/new-york.toml")
    edges = ingest(config.graph, tmp_path)
    graph = lay_out(edges, config.layout, Runtime(tmp_path))
    answers = [run_stage(graph, stage, config.sources, Runtime(tmp_path)) for stage in config.stages]
    steps = Steps(tmp_path, edges, graph, answers, [prove(graph, answer, False, Runtime(tmp_path)) for answer in answers])
    report = steps.draw("new-york")
    assert report.facts["bytes"] < 4_000_000
    page = steps.page("new-york")
    assert "264,346 vertices, 730,100 arcs" in page.text
    assert "730,100 edges of the edge list drawn" in page.text
    # Half of the picture is water, country and the sea.
    assert 0.15 < (image(page)[0][..., 3] > 0).mean() < 0.6
