"""How values are shown: units with and without brackets, geometries, and the rows of tables in Prefect."""

import json
import os
import re

import pyarrow.parquet as pq
import pytest

from pipeline.config.loading import run_config
from pipeline.report.wording import in_unit, with_unit
from pipeline.run import run
from pipeline.tables.points import as_text, points
from tests.reports import Page, grid


@pytest.mark.parametrize(
    ("unit", "value", "label"),
    [
        ("hops", "7.5 (hops)", "distance (hops)"),
        ("sum of weights", "7.5 (sum of weights)", "distance (sum of weights)"),
        ("minutes (walk)", "7.5 minutes (walk)", "distance, minutes (walk)"),
        ("m [metres]", "7.5 m [metres]", "distance, m [metres]"),
        ("(km)", "7.5 (km)", "distance, (km)"),
    ],
)
def test_a_unit_has_one_pair_of_brackets(unit, value, label):
    assert (with_unit(7.5, unit), in_unit("distance", unit)) == (value, label)


@pytest.fixture(scope="module", params=[False, True], ids=["integers", "strings"])
def published(tmp_path_factory, request):
    """A run of stages and products over a grid with coordinates, whose unit has brackets; ids are integers or strings."""
    folder, named = tmp_path_factory.mktemp("shown"), request.param
    text, places = grid(6)
    arcs = [line.split()[1:] for line in text.splitlines() if line.startswith("a ")]
    spots = [line.split()[1:] for line in places.splitlines() if line.startswith("v ")]
    of = "v" if named else ""
    (folder / "g.csv").write_text("src,dst,weight\n" + "".join(f"{of}{src},{of}{dst},{weight}\n" for src, dst, weight in arcs))
    (folder / "xy.csv").write_text(
        "vertex,x,y\n" + "".join(f"{of}{vertex},{int(x) / 1e6},{int(y) / 1e6}\n" for vertex, x, y in spots)
    )
    (folder / "f.csv").write_text(f"facility\n{of}3\n{of}31\n")
    graph = {"source": str(folder / "g.csv"), "coordinates": str(folder / "xy.csv"), "directed": True}
    graph["weight"] = {"name": "walk", "unit": "minutes"}
    asked = {"nearest": {"facilities": str(folder / "f.csv")}, "closeness": {}, "flows": {}}
    asked["isochrones"] = {"thresholds": [3, 8], "polygons": True}
    stages = ["bfs", "sssp", "mst", "wcc", "pagerank"]
    sources = [f"{of}1", f"{of}20"] if named else [1, 20]
    return run(run_config("test", graph=graph, output=folder / "out", stages=stages, sources=sources, backend="cpu", **asked))


def test_no_unit_is_in_two_pairs_of_brackets(published):
    page = Page((published.path / "report.html").read_text())
    texts = [page.text, (published.path / "report.md").read_text(), *page.html.splitlines()]
    assert not [found for text in texts if (found := re.search(r"\([^()<>]*\([^()<>]*\)\)", text)) and "minutes" in found[0]]
    assert re.search(r"farthest \d+ minutes \(walk\)", page.text) and "distance, minutes (walk)" in page.text


def test_geometries_are_shown_as_text(published):
    page = Page((published.path / "report.html").read_text())
    columns = pq.read_schema(next((published.path / "vertices").glob("*.parquet"))).names
    row = dict(zip(columns, page.head_of("vertices")[0], strict=True))
    assert row["geometry"] == f"POINT ({float(row['x']):g} {float(row['y']):g})"
    assert any(re.fullmatch("MULTIPOLYGON of [1-9]", row[-1]) for row in page.head_of("isochrone_polygons"))
    assert "\\x" not in page.text
    exact = points([-0.1, 1e-7], [5e-324, 179.99999999])
    assert [*map(as_text, exact.to_pylist())] == ["POINT (-0.1 4.94065645841247e-324)", "POINT (1e-07 179.99999999)"]


def test_artifacts_have_the_first_rows_of_the_report(published, monkeypatch, tmp_path):
    monkeypatch.setitem(os.environ, "PREFECT_HOME", str(tmp_path))
    from flows import artifacts

    sent = {}
    monkeypatch.setattr(
        artifacts, "create_table_artifact", lambda rows, key, description: sent.update({key: (rows, description)})
    )
    monkeypatch.setattr(artifacts, "create_markdown_artifact", lambda *_, **__: None)
    artifacts.show(published)
    names = json.loads((published.path / "tops.json").read_text()).keys()
    assert names == {"bfs", "sssp", "mst", "wcc", "pagerank", "nearest", "closeness", "flows", "isochrones", "arcs"}
    rows, said = sent["g-pagerank"]
    scores = pq.read_table(published.path / "pagerank").to_pandas().sort_values(["pagerank", "vertex"], ascending=[False, True])
    assert [int(row["vertex"]) for row in rows] == scores["vertex"].tolist()[:10] != sorted(scores["vertex"])[:10]
    assert said.startswith("Highest pagerank: of 36 rows of `")
    rows, said = sent["g-sssp"]
    order = {"by": ["source", "distance", "vertex"], "ascending": [True, False, True]}
    far = pq.read_table(published.path / "sssp").to_pandas().sort_values(**order)
    expected = [vertex for _, one in far.groupby("source") for vertex in one["vertex"].tolist()[:5]]
    assert [int(row["vertex"]) for row in rows] == expected and len({row["list"] for row in rows}) == 2
    rows, said = sent["g-vertices"]
    assert len(rows) == 10 and said.startswith("The first 10 of 36 rows") and rows[0]["geometry"].startswith("POINT (")


def test_a_list_for_other_pages_has_no_mark_and_no_tag(tmp_path):
    """Publication replaces marks in the files of the report; an id with their form stays as it is."""
    (tmp_path / "g.csv").write_text('src,dst\n<!--folder-->,a\na,"<!--published-->"\n')
    published = run(run_config("test", graph={"source": str(tmp_path / "g.csv")}, output=tmp_path / "out", stages=["pagerank"]))
    text = (published.path / "tops.json").read_text()
    assert "<" not in text
    assert {row[1] for row in json.loads(text)["pagerank"][0]["rows"]} == {"a", "<!--folder-->", "<!--published-->"}
