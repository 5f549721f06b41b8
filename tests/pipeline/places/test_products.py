"""Places at sources and facilities of products that add up, by zones, by columns of nodes, or with weights of pairs."""

import duckdb
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from pipeline.tables import files as tables
from tests.pipeline.places.test_runs import AT, CROSSINGS, csv_of, graph, rows, run_of
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
