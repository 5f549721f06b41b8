"""Places at sources and facilities of products that add up, by zones, by columns of nodes, or with weights of pairs."""

import math

import duckdb
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from pyarrow import csv as pa_csv

from pipeline.errors import BadConfig, BadInput
from pipeline.tables import files as tables
from tests.pipeline.places.test_runs import AT, CROSSINGS, PLACES, csv_of, graph, rows, run_of
from tests.pipeline.products.calls import matrix_into
from tests.reports import Page


def with_nodes(folder, named=False):
    shown = (lambda vertex: f"x{vertex}") if named else str
    lines = [f"{shown(vertex)},{'north' if vertex > 2 else 'south'},{vertex},{10 * vertex}\n" for vertex in CROSSINGS]
    (folder / "nodes.csv").write_text("vertex,zone,jobs,people\n" + "".join(lines))
    return graph(folder, named) | {"nodes": str(folder / "nodes.csv")}


def ids_of(folder):
    (folder / "ids.txt").write_text("".join(f"{vertex}\n" for vertex in sorted({*AT.values()})))
    return str(folder / "ids.txt")


def test_what_is_supplied_at_a_vertex_counts_once_also_for_two_places(tmp_path):
    asked = {"thresholds": [1, 2], "sums": ["people"], "supply": "jobs", "demand": "people"}
    published = {
        name: run_of(tmp_path, out=name, graph=with_nodes(tmp_path), isochrones=asked | {"sources": file})
        for name, file in (("places", csv_of(tmp_path)), ("ids", ids_of(tmp_path)))
    }
    access, plain = (tables.read(published[name].path / "isochrone_access") for name in ("places", "ids"))
    assert access.equals(plain)
    columns = ["source", "threshold", "vertices", "supply_ratio", "people"]
    of_vertices = rows(published["ids"].path / "isochrones", *columns)
    of_places = rows(published["places"].path / "isochrones", "source_place", *columns)
    assert of_places == [(one, *row) for one in "ABC" for row in of_vertices if row[0] == AT[one]]
    page = (published["places"].path / "report.md").read_text("utf-8")
    assert 'SELECT source, source_place, source_place_name, "people", vertices' in page


@pytest.mark.parametrize("named", [False, True])
def test_the_queries_of_the_report_return_the_rows_that_are_shown(tmp_path, named):
    file = csv_of(tmp_path)
    asked = {"nearest": {"facilities": file, "count": 2}, "closeness": {"sources": file}}
    asked["isochrones"] = {"thresholds": [1], "sources": file, "sums": ["jobs"]}
    published = run_of(tmp_path, named=named, graph=with_nodes(tmp_path, named), **asked)
    page = Page((published.path / "report.html").read_text("utf-8"))
    queries = [words for words in page.words if words.startswith("SELECT ") and "_place" in words]
    assert len(queries) == 4
    for query in queries:
        found = duckdb.sql(query)
        due = next(table for table in page.tables if [one.partition(" (")[0] for one in table[0]] == found.columns)
        assert [["" if one is None else str(one) for one in row[:3]] for row in found.fetchall()] == [row[:3] for row in due[1:]]
        assert sum(column == "id" or column in ("source_name", "facility_name") for column in found.columns) == named


def test_zones_are_those_of_the_vertices_of_places(tmp_path):
    content, file, ids = with_nodes(tmp_path), csv_of(tmp_path), ids_of(tmp_path)
    published = run_of(tmp_path, graph=content, nearest={"facilities": file, "count": 3, "zone": "zone"})
    assert rows(published.path / "nearest_zones", "zone", "rank", "vertices", "unreached", "min") == [
        ("north", 1, 4, 2, 0), ("north", 2, 4, 2, 2), ("north", 3, 4, 2, 2),
        ("south", 1, 2, 0, 0), ("south", 2, 2, 0, 0), ("south", 3, 2, 0, 2),
    ]  # fmt: skip
    made = [
        matrix_into(str(published.path), tmp_path / name, sources=ends, targets=ends, zone="zone", backend="cpu")
        for name, ends in (("p", file), ("i", ids))
    ]
    assert tables.read(made[0].path).equals(tables.read(made[1].path))


def test_a_command_adds_names_to_places(tmp_path):
    published, file = run_of(tmp_path, named=True), csv_of(tmp_path)
    made = matrix_into(str(published.path), tmp_path / "m", sources=file, targets=file, named=True, backend="cpu")
    footer = pq.ParquetFile(made.path / "part-00000.parquet")
    ends = [[end, f"{end}_name", f"{end}_place", f"{end}_place_name"] for end in ("source", "target")]
    assert footer.schema_arrow.names == [*ends[0], *ends[1], "distance"]
    sorted_by = [footer.schema_arrow.names[column.column_index] for column in footer.metadata.row_group(0).sorting_columns]
    assert sorted_by == ["source", "source_place", "target", "target_place"]
    assert rows(made.path / "part-00000.parquet", "source_name", "source_place", "target_name", "distance")[2] == (
        "x1",
        "A",
        "x4",
        3,
    )
    beside = rows(made.path / "_places", "key", "id", "vertex_name", "component_name")
    assert beside == [(key, one, f"x{AT[one]}", "x1") for key in ("sources", "targets") for one in "ABC"]


def test_pairs_of_coordinates_have_weights(tmp_path):
    def end(name, *vertices):
        return {f"{name}_{axis}": [CROSSINGS[one][at] for one in vertices] for at, axis in enumerate(("lon", "lat"))}

    pq.write_table(pa.table({**end("src", 1, 2), **end("dst", 3, 4), "cars": [5, 2]}), tmp_path / "pairs.parquet")
    published = run_of(tmp_path, flows={"pairs": str(tmp_path / "pairs.parquet"), "weight": "cars"})
    flows = {(src, dst): flow for src, dst, flow in rows(published.path / "flows", "src", "dst", "flow") if flow}
    assert flows == {(1, 2): 5, (2, 3): 7, (3, 4): 2}


def supplied(places, most, factor):
    """Two-step floating catchment areas, as Luo and Wang define them: (vertex, place, beds) to the ratios and the access."""
    streets = {1: [1, 2, 3, 4], 8: [8, 9]}
    apart = {(a, b): abs(a - b) for street in streets.values() for a in street for b in street}

    def share(a, b):
        return factor(apart[a, b]) if apart.get((a, b), most + 1) <= most else 0

    ratios = {one: (beds or 0) / sum(10 * v * share(v, at) for v in CROSSINGS) for one, (at, beds) in places.items()}
    return ratios, {v: sum(ratios[one] * share(v, at) for one, (at, _) in places.items()) for v in CROSSINGS}


@pytest.mark.parametrize("decay", [{}, {"decay": "exponential", "beta": 0.5}], ids=["cumulative", "exponential"])
@pytest.mark.parametrize("form", ["csv", "parquet"])
def test_supply_of_the_places_own_file(tmp_path, decay, form):
    """Two hospitals at crossing 1 have ratios of their own; one of them states no beds."""
    file = csv_of(tmp_path)
    if form == "parquet":
        pq.write_table(pa_csv.read_csv(file), file := str(tmp_path / "h.parquet"))
    asked = {"thresholds": [1, 2], "sources": file, "supply": "beds", "demand": "people", "direction": "to"} | decay
    published = run_of(tmp_path, graph=with_nodes(tmp_path), isochrones=asked)
    hospitals = {one: (AT[one], place[3]) for one, place in PLACES.items()}
    due = {most: supplied(hospitals, most, lambda d: math.exp(-0.5 * d) if decay else 1) for most in (1, 2)}
    made = rows(published.path / "isochrones", "source_place", "threshold", "supply_ratio")
    assert made == [(one, most, pytest.approx(due[most][0][one], rel=1e-12)) for one in "ABC" for most in (1, 2)]
    access = rows(published.path / "isochrone_access", "vertex", "threshold", "access")
    assert access == [(v, most, pytest.approx(due[most][1][v], rel=1e-12)) for v in CROSSINGS for most in (1, 2)]
    assert made[0][2] == 0
    again = {**PLACES, "A": (*PLACES["A"][:3], 5)}
    file = csv_of(tmp_path, again) if form == "csv" else file
    if form == "csv":  # other beds are another table
        made = run_of(tmp_path, graph=with_nodes(tmp_path), isochrones=asked)
        assert rows(made.path / "isochrones", "source_place", "supply_ratio")[0] == ("A", pytest.approx(due[1][0]["B"] / 4))


@pytest.mark.parametrize(
    ("column", "values", "asked", "words"),
    [
        ("jobs", [1, 2, 3], {}, "h.csv and the table of nodes have this column; say which by supply_from"),
        ("doctors", [1, 2, 3], {}, "'jobs': .*h.csv has the columns doctors; the table of nodes has zone, people$"),
        ("jobs", [1, -2, 3], {"supply_from": "sources"}, r"h.csv: row 1: 'B' has jobs -2, not a number that is at least 0"),
        (
            "jobs",
            [1, "many", 3],
            {"supply_from": "sources"},
            "isochrones.supply: column 'jobs' of .*h.csv is .*string, not numbers",
        ),
        ("doctors", [1, 2, 3], {"supply_from": "sources"}, "'jobs': .*h.csv has the columns doctors$"),
    ],
)
def test_a_supply_that_is_not_clear(tmp_path, column, values, asked, words):
    content = with_nodes(tmp_path)
    if "zone, people" in words:
        (tmp_path / "nodes.csv").write_text("vertex,zone,people\n" + "".join(f"{v},north,{v}\n" for v in CROSSINGS))
    lines = [f"{one},{PLACES[one][1]},{PLACES[one][2]},{value}\n" for one, value in zip("ABC", values, strict=True)]
    (tmp_path / "h.csv").write_text(f"id,lon,lat,{column}\n" + "".join(lines))
    table = {"thresholds": [1], "sources": str(tmp_path / "h.csv"), "supply": "jobs", "demand": "people", **asked}
    with pytest.raises((BadConfig, BadInput), match=words):
        run_of(tmp_path, graph=content, isochrones=table)


@pytest.mark.parametrize("form", ["csv", "parquet"])
def test_a_column_without_a_value_supplies_nothing(tmp_path, form):
    file = tmp_path / f"h.{form}"
    file.write_text("id,lon,lat,beds\n7,7.44,46.94,\n8,7.45,46.94,\n")
    if form == "parquet":
        places = {"id": [7, 8], "lon": [7.44, 7.45], "lat": [46.94, 46.94], "beds": pa.array([None, None], pa.string())}
        pq.write_table(pa.table(places), file)
    asked = {"thresholds": [0], "sources": str(file), "supply": "beds", "demand": "people"}
    made = run_of(tmp_path, graph=with_nodes(tmp_path), isochrones=asked)
    assert rows(made.path / "isochrones", "supply_ratio") == [(0,), (0,)]


def test_a_column_of_nodes_without_a_value_counts_as_0(tmp_path):
    content = with_nodes(tmp_path)
    (tmp_path / "nodes.csv").write_text("vertex,zone,jobs\n" + "".join(f"{v},north,\n" for v in CROSSINGS))
    asked = {"thresholds": [1], "sums": ["jobs"], "sources": ids_of(tmp_path), "zone": "zone", "zone_weight": "jobs"}
    made = run_of(tmp_path, graph=content, isochrones=asked)
    assert {total for (total,) in rows(made.path / "isochrones", "jobs")} == {0}
    assert rows(made.path / "isochrone_zones", "vertices", "jobs") == [(None, None)]
    with pytest.raises(BadConfig, match=r"'zone' is .*string, not numbers"):
        run_of(tmp_path, graph=content, isochrones=asked | {"sums": ["zone"], "zone": None, "zone_weight": None})


def test_where_a_supply_is_read_can_be_stated(tmp_path):
    content, found = with_nodes(tmp_path), {}
    (tmp_path / "h.csv").write_text("id,lon,lat,jobs\n7,7.44,46.94,900\n")
    asked = {"thresholds": [0], "sources": str(tmp_path / "h.csv"), "supply": "jobs", "demand": "people"}
    for place in ("sources", "nodes"):
        made = run_of(tmp_path, graph=content, isochrones=asked | {"supply_from": place})
        ((found[place],),) = rows(made.path / "isochrones", "supply_ratio")
    assert found == {"sources": 90, "nodes": 0.1}


@pytest.mark.parametrize("what", ["supply", "weights", "coordinates"])
def test_a_column_that_other_places_have_makes_other_tables(tmp_path, what):
    """The rows are in another order; a column is the same from above to below."""
    content, file, found = with_nodes(tmp_path), tmp_path / "p.csv", {}
    more = {
        "supply": {"supply": "beds", "demand": "people"},
        "weights": {"zone": "zone", "zone_weight": "beds"},
        "coordinates": {"zone": "h3:10"},
    }
    isochrones = {"thresholds": [1], "sources": str(file), **more[what]}
    for turn in (1, -1):
        beside = ["", ""] if what != "coordinates" else [f",{CROSSINGS[v][0]},{CROSSINGS[v][1]}" for v in (3, 4)]
        beds = (5, 5) if what == "coordinates" else (10, 90)
        lines = [f"{one},{n}{xy}\n" for one, n, xy in zip(["A,3", "B,4"][::turn], beds, beside, strict=True)]
        file.write_text(f"id,vertex,beds{',lon,lat' if beside[0] else ''}\n" + "".join(lines))
        for out in ("out", f"out{turn}"):
            path = run_of(tmp_path, out=out, graph=content, isochrones=isochrones).path
            found[out] = rows(path / ("isochrones" if what == "supply" else "isochrone_zones"))
        assert found["out"] == found[f"out{turn}"]
    assert found["out1"] != found["out-1"]


def test_a_column_of_another_name_makes_another_table_of_places(tmp_path):
    for name in ("beds", "cots"):
        (tmp_path / "p.csv").write_text(f"id,vertex,{name}\n1,3,5\n")
        published = run_of(tmp_path, nearest={"facilities": str(tmp_path / "p.csv")})
        assert pq.read_schema(published.path / "places" / "part-00000.parquet").names[-1] == name
