"""Reports of other graphs: the named ones, graphs without edges, many sources, New York."""

import json
import re

import numpy as np
import pytest

from pipeline.config.loading import load_run
from pipeline.ingest import ingest
from pipeline.report.reading import MOST_MADE
from pipeline.report.spread import MOST_VERTICES
from pipeline.steps.layout import lay_out
from pipeline.steps.runtime import Runtime
from pipeline.steps.stages import run_stage
from pipeline.steps.verify import prove
from pipeline.tables import files as tables
from tests.counts import in_turn
from tests.graphs import NAMED_GRAPHS
from tests.pipeline.report.pictures import ROOT, image
from tests.reports import Steps, csv_of, grid, run


@pytest.mark.sampled
@pytest.mark.parametrize(("edges",), in_turn(3, [graph for graph in NAMED_GRAPHS if graph.ids]), ids=lambda graph: graph.name)
def test_every_named_graph_has_a_report(edges, tmp_path):
    steps = run(tmp_path, csv_of(edges), directed=edges.directed, sources=edges.ids[:1])
    page = steps.page(edges.name)
    assert f"{len(edges.ids):,} vertices, {len(edges.arcs()):,} arcs" in page.text
    few = len(edges.ids) <= MOST_MADE
    assert len(page.attributes("img")) == (2 if few else 0)
    assert ("no coordinates: distances on the plane" if few else "No map: the graph has no coordinates") in page.text
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
    assert ("No map: the graph has no vertex." in page.text) == (not vertices)


def test_a_small_graph_without_coordinates_is_drawn(tmp_path):
    """With dots in the colours of the values, with names if there are few, and without a meaning of where they are."""
    steps = run(tmp_path, "src,dst,weight\n1,2,1\n2,3,1\n3,4,2\n8,9,1\n", stages=("sssp", "wcc"), sources=[1], directed=False)
    page = steps.page()
    assert "4 edges of the graph drawn as straight lines" in page.text and "Longitude" not in page.text and "km" not in page.text
    labels = [attributes for attributes in page.attributes("span") if attributes.get("class", "").startswith("label")]
    assert len(labels) == 5  # the source has a marker
    named = json.loads(re.search(r'id="vertices">(.*?)</script>', page.html)[1])
    assert named["id"] == ["1", "2", "3", "4", "8", "9"] and named["corner"] is None
    x, y = np.array(named["x"]), np.array(named["y"])
    apart = np.hypot(np.diff(x), np.diff(y))
    assert apart[:3].std() < 0.05 * apart[:3].mean()  # a path
    assert (y[:4] < y[4:].min()).all()  # the larger component is above
    picture, dots = image(page)[0], np.rint([x, y]).astype(int).T
    colours = [tuple(picture[down - 2 : down + 2, across - 2 : across + 2].reshape(-1, 4).mean(axis=0)) for across, down in dots]
    assert len(set(colours)) == 5 and colours[4] == colours[5]  # the distances 0, 1, 2 and 4, and what is not reached
    only = run(tmp_path / "wcc", "src,dst\n1,2\n", stages=("wcc",)).page()
    assert "All vertices and arcs." in only.text and len(only.attributes("img")) == 1


def test_a_larger_graph_without_coordinates_is_not_drawn(tmp_path):
    assert MOST_MADE == MOST_VERTICES
    page = run(tmp_path, "src,dst\n" + "".join(f"{v},{v + 1}\n" for v in range(MOST_MADE)), stages=("wcc",)).page()
    assert f"No map: the graph has no coordinates, and more than {MOST_MADE} vertices." in page.text
    assert not page.attributes("img")


def test_a_report_of_some_stages(tmp_path):
    steps = run(tmp_path, *grid(4), stages=("wcc", "bfs"))
    page = steps.page()
    assert [row[0][:3] for row in page.table_under("Stages and their times")[1:]] == ["bfs", "wcc"]  # in the order of the stages
    assert "Oracle: did not run." in page.text
    assert len(page.attributes("img")) == 1  # hops, because no weights were asked for
    assert "No map: no stage with a map ran." in run(tmp_path / "wcc", *grid(4), stages=("wcc",)).page().text


def test_a_stage_without_a_proof_is_not_called_proved(tmp_path):
    steps = run(tmp_path, "src,dst\n1,2\n", stages=("bfs", "wcc"))
    page = Steps(tmp_path / "again", steps.edges, steps.graph, steps.answers, steps.proofs[:1]).page()
    assert "tables proved 1 of 2" in page.text
    assert "Not proved." in page.text


def test_of_many_sources_the_first_are_drawn_and_the_rest_counted(tmp_path):
    steps = run(tmp_path, *grid(5), stages=("bfs", "sssp"), sources=range(1, 26))
    page = steps.page()
    assert len(page.attributes("svg")) == 1 + 3 + 3
    assert len(page.attributes("img")) == 25
    assert "bfs: the first 3 of 25 sources have charts; the table has all." in page.text
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


def test_the_smallest_distances_are_drawn(tmp_path):
    page = run(tmp_path, "src,dst,weight\n1,2,5e-324\n2,3,1e-310\n", stages=("sssp", "mst"), sources=[1]).page()
    assert "farthest 1e-310 (sum of weights)" in page.text


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
    assert "730,100 arcs of the graph drawn" in page.text
    # Half of the picture is water, country and the sea.
    assert 0.15 < (image(page)[0][..., 3] > 0).mean() < 0.6
