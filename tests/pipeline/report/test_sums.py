"""What the report shows of sums, access, flows with weights and zones: the rows of its own queries, and maps."""

import re

import duckdb
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from pipeline.config.loading import run_config
from pipeline.run import run
from tests.pipeline.products.conftest import write_network
from tests.pipeline.report.test_isochrones import MAP
from tests.reports import Page


@pytest.fixture(scope="module", params=["areas", "numbers"])
def published(request, tmp_path_factory):
    folder = tmp_path_factory.mktemp(request.param)
    graph = write_network(folder)
    nodes = (folder / "nodes.csv").read_text().replace("people", 'all "people"', 1).splitlines()
    rows = [f"{line},{'north' if number < 20 else ''}" for number, line in enumerate(nodes[1:])]
    (folder / "nodes.csv").write_text("\n".join(['vertex,"all ""people""",order,zone', *rows]) + "\n")
    pq.write_table(pa.table({"src": [0, 6], "dst": [48, 60], "trips": [5, 3]}), folder / "trips.parquet")
    facilities = str(folder / "facilities.csv")
    isochrones = {"thresholds": [4, 7], "sums": ['all "people"', "order"], "supply": "order", "demand": 'all "people"'}
    isochrones |= {"sources": facilities, "direction": "to", "decay": "exponential", "beta": 0.1}
    isochrones |= {"polygons": True, "buffer": 20_000} if request.param == "areas" else {}
    nearest = {"facilities": facilities, "zone": "zone", "zone_weight": "order"}
    flows = {"pairs": str(folder / "trips.parquet"), "weight": "trips", "lines": True}
    tables = {"isochrones": isochrones, "nearest": nearest, "flows": flows}
    made = run(run_config("t", graph=graph.model_dump(), output=folder / "out", stages=["wcc"], backend="cpu", **tables))
    return request.param, made, Page((made.path / "report.html").read_text())


def test_the_queries_give_the_rows_that_are_shown(published):
    _, made, page = published
    queries = [text for text in page.words if text.startswith("SELECT ") and re.search("/(isochrone|nearest_z|flows)", text)]
    assert len(queries) == 4 + 1 + 1 + 1  # vertices, two sums and the ratio; access; zones; flows
    latest = str(made.path.parents[1] / "latest")
    for query in queries:
        rows = duckdb.sql(query.replace(latest, str(made.path))).fetchall()
        assert rows
        (shown,) = [table for table in page.tables if len(table) == len(rows) + 1 and matches(table[1:], rows)][:1]
        assert len(shown[0]) == len(rows[0])


def matches(shown, rows):
    """Whether rows of a page are those of a query: names in full, numbers to six digits."""
    return all(len(one) == len(row) and all(map(same, one, row)) for one, row in zip(shown, rows, strict=True))


def same(text, value):
    if value is None or isinstance(value, str):
        return text == (value or "without a zone")
    try:
        return float(text.replace(",", "")) == pytest.approx(float(value), rel=1e-5)
    except ValueError:
        return False


def test_maps_and_words(published):
    kind, _, page = published
    maps = dict(MAP.findall(page.html))
    titles, within = [title.replace("&#34;", '"') for title in maps], "within 7 (sum of weights)"
    expected = {"Isochrones" if kind == "areas" else f"Vertices {within}", f'All "people" {within}', f"Access {within}"}
    assert expected <= {*titles}
    assert "trips that lead into a vertex" in titles
    sums = maps[next(title for title in maps if title.startswith("All"))]
    assert len(re.findall(r'class="marker', sums)) == 5
    for words in (
        "paths lead to them",
        "3 of 8 trips have no path",
        "means are weighted by order",
        'order for each of all "people"',
    ):
        assert words in page.text, words
