"""Table `arcs`: every arc of the stored graph once, with names and lines; a wrong row is refused."""

import dataclasses
import json
import random

import duckdb
import geopandas
import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
import shapely

from pipeline.changes import change
from pipeline.comparison.difference import difference
from pipeline.config.graph import GraphConfig
from pipeline.config.layout import LayoutConfig
from pipeline.config.loading import run_config
from pipeline.errors import ProofFailed
from pipeline.ingest import ingest
from pipeline.registry.graph import GRAPH_TABLES
from pipeline.run import run
from pipeline.steps.derived import arcs as arcs_step
from pipeline.steps.layout import lay_out
from pipeline.steps.publication.publish import publish
from pipeline.steps.runtime import Runtime
from pipeline.store.facts.run import RunFacts
from pipeline.store.manifest import read
from pipeline.tables import files as tables
from pipeline.tables.lines import ends_of, lines
from tests.counts import in_turn
from tests.graphs import NAMED_GRAPHS, EdgeList
from tests.steps import path_steps


def published(folder, edges: EdgeList, **options):
    folder.mkdir(exist_ok=True)
    rows = [*edges.edges, *((vertex, vertex, 1)[: 3 if edges.weighted else 2] for vertex in edges.vertices)]
    header = "src,dst,weight" if edges.weighted or not rows else "src,dst"
    (folder / "g.csv").write_text("\n".join([header, *(",".join(map(str, row)) for row in rows)]) + "\n")
    graph = {"source": str(folder / "g.csv"), "directed": edges.directed, **options.pop("graph", {})}
    return run(run_config("test", graph=graph, output=folder / "out", stages=["wcc"], **options)).path


def facts_of(path):
    return RunFacts.of(read(path))


@pytest.mark.parametrize(("graph",), in_turn(3, NAMED_GRAPHS), ids=lambda graph: graph.name)
def test_its_rows_are_the_clean_arcs(tmp_path, graph):
    found = tables.read(published(tmp_path, graph) / "arcs")
    assert found.to_pylist() == [
        {"src": src, "dst": dst, "weight": weight} for (src, dst), weight in sorted(graph.arcs().items())
    ]
    assert found.schema.field("weight").type == pa.int64()


def drawn(seed, count=400, ids=60):
    draw = random.Random(seed)
    return tuple((draw.randrange(ids), draw.randrange(ids), draw.randint(1, 4)) for _ in range(count))


@pytest.mark.parametrize(("order", "directed"), [("degree", True), ("windowed", False), ("source", True)])
def test_it_is_the_same_in_any_order_of_rows_in_small_files_and_over_ranks(tmp_path, monkeypatch, order, directed):
    edges = EdgeList("drawn", drawn(1), directed=directed)
    (whole,) = tables.files(published(tmp_path / "whole", edges) / "arcs")
    for cluster in ({}, {"shards": 3}):
        ordered = published(tmp_path / f"{len(cluster)}", edges, layout={"order": order}, cluster=cluster)
        (same,) = tables.files(ordered / "arcs")
        assert same.read_bytes() == whole.read_bytes()
    monkeypatch.setattr(tables, "ROWS_PER_GROUP", 7)
    monkeypatch.setattr(tables, "ROWS_PER_FILE", 21)
    small = published(tmp_path / "small", edges, cluster={"shards": 3}) / "arcs"
    assert len(tables.files(small)) > 15
    assert tables.read(small).equals(tables.read(whole.parent))


@pytest.mark.parametrize("rows", [1_000_000, 1, 3])
def test_parallel_arcs_and_self_loops_that_are_kept_have_rows_and_numbers(tmp_path, monkeypatch, rows):
    """Also where the arcs of a pair are in several files."""
    monkeypatch.setattr(tables, "ROWS_PER_GROUP", rows)
    monkeypatch.setattr(tables, "ROWS_PER_FILE", rows)
    edges = (*((2, 7, weight) for weight in (5, 1, 5, 9, 1)), (7, 2, 3), (4, 4, 8), (2, 9, 1), *drawn(2, 40, 5))
    kept = {"layout": {"self_loops": "keep"}, "graph": {"parallel": "keep"}}
    first = published(tmp_path, EdgeList("multi", edges), **kept)
    expected, seen = [], {}
    for src, dst, weight in sorted(edges):
        seen[src, dst] = seen.get((src, dst), -1) + 1
        expected.append({"src": src, "dst": dst, "parallel": seen[src, dst], "weight": weight})
    assert tables.read(first / "arcs").to_pylist() == expected


def test_runs_with_and_without_parallel_arcs_are_compared(tmp_path):
    edges, differ = ((2, 7, 5), (2, 7, 1), (7, 2, 3)), []
    for arcs, kept in ((edges, "keep"), ((*edges, (2, 7, 1)), "keep"), (edges, "lightest")):
        asked = {"graph": {"parallel": kept}, "changes": {"tables": True}, "publish_as": "latest"}
        differ.append(published(tmp_path, EdgeList("multi", arcs), **asked))
    rows = tables.read(differ[1] / "arcs_changes").to_pylist()
    assert [(row["src"], row["dst"], row["parallel"], row["kind"]) for row in rows] == [(2, 7, 1, "changed"), (2, 7, 2, "added")]
    assert facts_of(differ[2]).changes.not_compared["arcs"] == "column parallel is gone"
    assert difference(read(differ[1]), read(differ[2])).tables["arcs"].rows == (4, 2)


POINTS = {1: (-73.5, 40.5), 2: (179.0, 10.0), 3: (-179.0, 14.0), 4: (0.0, -0.0), 5: (-180.0, 3.0)}


@pytest.fixture(scope="module")
def placed(tmp_path_factory):
    """Roads between places; vertex 9 has none, and two roads cross the 180th meridian."""
    folder = tmp_path_factory.mktemp("placed")
    (folder / "nodes.csv").write_text("vertex,x,y\n" + "".join(f"{id},{x},{y}\n" for id, (x, y) in POINTS.items()))
    edges = ((1, 4, 2), (2, 3, 7), (4, 9, 1), (5, 2, 4))
    graph = {"coordinates": str(folder / "nodes.csv"), "weight": {"name": "time", "unit": "s"}}
    return published(folder, EdgeList("placed", edges, directed=False), graph=graph)


def test_lines_lead_from_place_to_place_and_are_cut_at_the_180th_meridian(placed):
    frame = geopandas.read_parquet(placed / "arcs")
    assert frame.crs == "OGC:CRS84" and frame.geometry.dropna().is_valid.all()
    texts = {(row.src, row.dst): row.geometry and row.geometry.wkt for row in frame.itertuples()}
    assert texts == {
        (1, 4): "LINESTRING (-73.5 40.5, 0 0)", (4, 1): "LINESTRING (0 0, -73.5 40.5)",
        (2, 3): "MULTILINESTRING ((179 10, 180 12), (-180 12, -179 14))",
        (3, 2): "MULTILINESTRING ((-179 14, -180 12), (180 12, 179 10))",
        (4, 9): None, (9, 4): None,
        (5, 2): "LINESTRING (180 3, 179 10)",
        (2, 5): "LINESTRING (179 10, 180 3)",
    }  # fmt: skip
    kinds = duckdb.sql(f"SELECT typeof(geometry), count(geometry) FROM '{placed}/arcs/*.parquet' GROUP BY ALL").fetchall()
    assert kinds == [("GEOMETRY('OGC:CRS84')", 6)]


def test_its_files_state_types_of_geometries_units_and_order(placed):
    (path,) = tables.files(placed / "arcs")
    notes = pq.read_schema(path).metadata
    assert json.loads(notes[b"geo"]) == {
        "version": "1.1.0", "primary_column": "geometry",
        "columns": {"geometry": {"encoding": "WKB", "geometry_types": ["LineString", "MultiLineString"]}},
    }  # fmt: skip
    assert json.loads(notes[b"units"]) == {"weight": "s (time)"}
    assert [key.column_index for key in pq.read_metadata(path).row_group(0).sorting_columns] == [0, 1]


def test_the_report_shows_the_arcs_of_the_vertex_with_most(placed):
    page, tops = ((placed / name).read_text() for name in ("report.html", "tops.json"))
    assert "8 arcs; vertex 2 has most, 2" in page and "MULTILINESTRING of 2" in page and "LINESTRING (-73.5 40.5, 0 0)" in page
    (top,) = json.loads(tops)["arcs"]
    assert top == {"title": "Heaviest arcs of 2", "columns": ["dst", "weight, s (time)"], "rows": [["3", "7"], ["5", "4"]]}


@pytest.mark.parametrize("seed", range(3))
def test_random_lines_read_back(seed):
    random = np.random.default_rng(seed)
    ends = random.uniform(-1, 1, (200, 4)) * [180, 90, 180, 90]
    ends[:40, ::2] = random.choice([-180.0, 180.0, 0.0, -0.0, 1e-300], (40, 2))
    known = random.random(200) < 0.9
    encoded = lines(ends, known)
    read, there = ends_of(encoded)
    assert np.array_equal(there, known) and np.array_equal(*(np.where(of == -180, 180, of)[known] for of in (read, ends)))
    drawn = shapely.from_wkb(encoded.to_numpy(zero_copy_only=False))
    parts = [part for line in drawn[known] for part in getattr(line, "geoms", [line])]
    assert max(abs(part.coords[0][0] - part.coords[1][0]) for part in parts) <= 180
    assert len(parts) > np.count_nonzero(known) and all(part.length for part in parts)
    for row in np.flatnonzero(known)[::7]:  # a bit is another line, or none of ours
        wrong = bytearray(encoded[row].as_py())
        wrong[int(random.integers(len(wrong)))] ^= 1 << int(random.integers(8))
        changed, _ = ends_of(pa.array([bytes(wrong)], pa.binary()))
        assert not np.array_equal(changed[0], read[row])


def test_strings_have_names_without_being_asked_for(tmp_path):
    (tmp_path / "g.csv").write_text("src,dst,weight\nbob,ana,3\nana,\u00e9ve,1\n", "utf-8")
    graph, weight = {"source": str(tmp_path / "g.csv")}, {"name": "calls", "unit": "per week"}
    for named in (False, True):
        path = run(
            run_config("test", graph=graph | {"weight": weight}, output=tmp_path / "out", stages=["wcc"], named=named)
        ).path
        found = tables.read(path / "arcs")
        assert found.schema.names == ["src", "src_name", "dst", "dst_name", "weight"]
        assert found.select(["src_name", "dst_name", "weight"]).to_pylist() == [
            {"src_name": "ana", "dst_name": "\u00e9ve", "weight": 1}, {"src_name": "bob", "dst_name": "ana", "weight": 3},
        ]  # fmt: skip
        described = {column["name"]: column["unit"] for column in facts_of(path).tables["arcs"].columns}
        assert described["dst_name"] == "the id of `dst` in the source" and described["weight"] == "per week (calls)"
    (top,) = json.loads((path / "tops.json").read_text("utf-8"))["arcs"]
    assert top["rows"] == [["2", "\u00e9ve", "1"]]


@pytest.mark.parametrize(("arcs", "most", "there"), [(None, 2, True), (None, 1, False), (True, 1, True), (False, 9, False)])
def test_it_is_there_for_small_graphs_or_as_asked(tmp_path, monkeypatch, arcs, most, there):
    monkeypatch.setitem(GRAPH_TABLES, "arcs", dataclasses.replace(GRAPH_TABLES["arcs"], by_default=most))
    path = published(tmp_path, EdgeList("two", ((1, 2), (2, 3))), arcs=arcs)
    assert (path / "arcs").exists() == there
    assert ("Heaviest arcs" in (path / "report.html").read_text()) == there


def test_changes_are_in_it_and_in_its_change_table(tmp_path):
    published(tmp_path, EdgeList("before", ((1, 2, 5), (2, 3, 6)), directed=False))
    (tmp_path / "changes.csv").write_text("op,src,dst,weight\ninsert,9,1,4\ndelete,2,3,\nupdate,1,2,8\n")
    path = change(tmp_path / "out", str(tmp_path / "changes.csv")).path
    assert [tuple(row.values()) for row in tables.read(path / "arcs").to_pylist()] == [(1, 2, 8), (1, 9, 4), (2, 1, 8), (9, 1, 4)]
    changed = {(row["src"], row["dst"]): row["kind"] for row in tables.read(path / "arcs_changes").to_pylist()}
    assert changed == {
        (1, 2): "changed", (2, 1): "changed", (2, 3): "removed", (3, 2): "removed", (1, 9): "added", (9, 1): "added",
    }  # fmt: skip


WRONG = {
    "another weight": ("weight", lambda rows: [*rows["weight"][:-1], 99]),
    "another head": ("dst", lambda rows: [*rows["dst"][:-1], 8]),
    "another tail": ("src", lambda rows: [*rows["src"][:-1], 10]),
    "another order": ("dst", lambda rows: [rows["dst"][1], rows["dst"][0], *rows["dst"][2:]]),
    "another line": ("geometry", lambda rows: [rows["geometry"][1], *rows["geometry"][1:]]),
    "a line too much": ("geometry", lambda rows: [rows["geometry"][0] if one is None else one for one in rows["geometry"]]),
    "a line too few": ("geometry", lambda rows: [None, *rows["geometry"][1:]]),
    "another name": ("src_name", lambda rows: ["n4", *rows["src_name"][1:]]),
}


@pytest.mark.parametrize("how", [*WRONG, "a row less", "a row twice", "a float for an integer", "nothing"])
def test_a_wrong_row_is_refused(tmp_path, monkeypatch, how):
    (tmp_path / "g.csv").write_text("src,dst,weight\n" + "".join(f"n{i},n{i * 3 % 7},{i}\n" for i in range(1, 7)))
    (tmp_path / "at.csv").write_text("vertex,x,y\n" + "".join(f"n{i},{i},{2 * i}\n" for i in range(1, 6)))
    graph = GraphConfig(source=str(tmp_path / "g.csv"), coordinates=str(tmp_path / "at.csv"), ids="string")
    edges, runtime = ingest(graph, tmp_path), Runtime(tmp_path)
    stored = lay_out(edges, LayoutConfig(), runtime)
    write = tables.write_rows

    def wrong(path, schema, keys, batches):
        rows = pa.Table.from_batches(batches)
        if how in WRONG:
            column, values = WRONG[how]
            at = rows.schema.get_field_index(column)
            rows = rows.set_column(at, rows.schema.field(at), pa.array(values(rows.to_pydict()), rows.schema.field(at).type))
        if "a row" in how:
            rows = rows.slice(1) if "less" in how else pa.concat_tables([rows.slice(0, 1), rows])
        if "float" in how:
            rows = rows.set_column(4, "weight", rows["weight"].cast(pa.float64()))
        return write(path, rows.schema, keys, rows.to_batches())

    monkeypatch.setattr(tables, "write_rows", wrong)
    if how == "nothing":
        assert len(arcs_step.tabulate_arcs(edges, stored, runtime).facts["proof"]["rules"]) == 4
        return
    with pytest.raises(ProofFailed, match="arcs"):
        arcs_step.tabulate_arcs(edges, stored, runtime)
    assert not (tmp_path / "arcs").exists()


def test_a_table_of_another_graph_is_not_published(tmp_path):
    steps = path_steps(tmp_path / "steps")
    manifest = dataclasses.replace(steps.answers[-1].manifest, step="arcs", inputs={"graph": "another"})
    table = dataclasses.replace(steps.answers[-1], manifest=manifest)
    with pytest.raises(ProofFailed, match="from another graph"):
        publish(tmp_path / "out", dataclasses.replace(steps.results(), of_graph=[table]))
