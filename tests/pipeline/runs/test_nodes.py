"""Tables of nodes and coordinates: joined by id to table `vertices`, and refused where they are wrong."""

import gzip
import re

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from pipeline.config.graph import GraphConfig
from pipeline.config.loading import run_config
from pipeline.errors import BadInput
from pipeline.ingest import ingest
from pipeline.run import run
from pipeline.store.facts.run import RunFacts
from pipeline.tables import files as tables

NODES = "person,age,town,lon,lat\neve,9,Bonn,7.1,50.7\nbob,,Oslo,10.7,59.9\nana,31,,12.5,41.9\n"
COLUMNS = {"vertex": "person", "x": "lon", "y": "lat"}


def graph_of(folder, edges="src,dst\nana,bob\nbob,cem\n", **options):
    (folder / "g.csv").write_text(edges)
    return {"source": str(folder / "g.csv"), **options}


def made(folder, form):
    """The same table of nodes in some form."""
    path = folder / f"nodes.{form}"
    if form == "parquet":
        columns = {"person": ["eve", "bob", "ana"], "age": [9, None, 31], "town": ["Bonn", "Oslo", None]}
        pq.write_table(pa.table(columns | {"lon": [7.1, 10.7, 12.5], "lat": [50.7, 59.9, 41.9]}), path)
    elif form == "tsv":
        path.write_text(NODES.replace(",", "\t"))
    else:
        path.write_bytes(gzip.compress(NODES.encode()) if form.endswith("gz") else NODES.encode())
    return str(path)


@pytest.mark.parametrize("form", ["csv", "csv.gz", "tsv", "parquet"])
def test_nodes_and_coordinates_are_joined_by_id(tmp_path, form):
    nodes = made(tmp_path, form)
    graph = graph_of(tmp_path, nodes=nodes, coordinates=nodes, node_columns=COLUMNS)
    asked = {"output": tmp_path / "out", "stages": ["bfs"], "sources": ["12.4,42"], "snap_limit": 20_000}
    published = run(run_config("test", graph=graph, **asked))
    rows = tables.read(published.path / "vertices").to_pylist()
    assert [(row["id"], row["x"], row["y"], row["age"], row["town"]) for row in rows] == [
        ("ana", 12.5, 41.9, 31, None), ("bob", 10.7, 59.9, None, "Oslo"), ("cem", None, None, None, None),
    ]  # fmt: skip
    assert [row["geometry"] is None for row in rows] == [False, False, True]
    assert tables.read(published.path / "coordinates")["vertex"].to_pylist() == [0, 1]
    assert tables.read(published.path / "bfs")["source"].to_pylist() == [0, 0, 0]
    described = {column["name"]: column for column in RunFacts.of(published).tables["vertices"].columns}
    assert described["town"]["unit"] == "as in the table of nodes"


@pytest.mark.parametrize("form", ["csv", "csv.gz", "tsv", "parquet"])
@pytest.mark.parametrize(
    "names",
    [
        ("id", "lon", "lat"),
        ("osmid", "x", "y"),
        ("Node ID", "Longitude", "LATITUDE"),
        ("vertex", "lng", "y"),
        ("person_id", "x", "y"),
    ],
)
def test_usual_names_of_columns_need_not_be_stated(tmp_path, form, names, caplog):
    """Those of QGIS, OSMnx and others."""
    columns = dict(zip(names, (["eve", "bob"], [7.1, 10.7], [50.7, 59.9]), strict=True)) | {"town": ["Bonn", "Oslo"]}
    path, table = tmp_path / f"nodes.{form}", pa.table(columns)
    if form == "parquet":
        pq.write_table(table, path)
    else:
        text = table.to_pandas().to_csv(index=False, sep="\t" if form == "tsv" else ",").encode()
        path.write_bytes(gzip.compress(text) if form.endswith("gz") else text)
    with caplog.at_level("INFO"):
        edges = ingest(GraphConfig(**graph_of(tmp_path, nodes=str(path), coordinates=str(path))), tmp_path / "work")
    assert pq.read_table(edges.path / "coordinates.parquet").to_pydict() == {"vertex": [1], "x": [10.7], "y": [59.9]}
    assert pq.read_table(edges.path / "nodes.parquet").to_pydict() == {"vertex": [1], "town": ["Oslo"]}
    assert ("vertex is column 'id'" in caplog.text) == (names[0] == "id")


def test_ids_may_be_integers_and_a_semicolon_may_separate_fields(tmp_path):
    (tmp_path / "nodes.csv").write_text("vertex;kind\n7;a\n2;b\n1;c\n")
    graph = graph_of(tmp_path, "src,dst\n1,2\n2,3\n", nodes=str(tmp_path / "nodes.csv"), node_columns={"delimiter": ";"})
    published = run(run_config("test", graph=graph, output=tmp_path / "out", stages=["wcc"]))
    assert tables.read(published.path / "vertices")["kind"].to_pylist() == ["c", "b", None]


def test_a_small_file_of_many_rows_is_refused(tmp_path):
    rows = 2_000_000
    table = pa.table({"vertex": pa.array(np.zeros(rows, np.int64)), "kind": pa.array(np.zeros(rows, np.int64))})
    pq.write_table(table, tmp_path / "nodes.parquet", compression="zstd")
    with pytest.raises(BadInput, match=r"its rows take 32000000 bytes, more than 200 times the file's \d+, the limit"):
        ingest(GraphConfig(**graph_of(tmp_path, nodes=str(tmp_path / "nodes.parquet"))), tmp_path / "work")


def test_a_second_column_of_ids_does_not_replace_the_first(tmp_path):
    (tmp_path / "nodes.csv").write_text("osmid,vertex\nana,1\nbob,2\n")
    graph = graph_of(tmp_path, nodes=str(tmp_path / "nodes.csv"), node_columns={"vertex": "osmid"})
    with pytest.raises(BadInput, match="column 'vertex' has the name of a column of table vertices, whose ids come from 'osmid'"):
        ingest(GraphConfig(**graph), tmp_path / "work")


@pytest.mark.parametrize("form", ["csv", "tsv", "parquet"])
@pytest.mark.parametrize(
    ("x", "y", "words"),
    [
        (7.1, 90.001, "lat 90.001 is not in -90..90 degrees"),
        (7.1, -122.4, "lat -122.4 is not in -90..90 degrees"),
        (180.5, 50.7, "lon 180.5 is not in -180..180 degrees"),
        (-7.1e5, 50.7, "lon -710000.0 is not in -180..180 degrees"),
        (7.1, float("nan"), "lat nan is not in -90..90 degrees"),
        (float("-inf"), 50.7, "lon -inf is not in -180..180 degrees"),
    ],
)
def test_coordinates_that_are_not_on_the_globe_are_refused(tmp_path, form, x, y, words):
    path, table = tmp_path / f"places.{form}", pa.table({"person": ["eve", "ana"], "lon": [7.0, x], "lat": [50.0, y]})
    if form == "parquet":
        pq.write_table(table, path)
    else:
        rows = [table.schema.names, *([str(value) for value in row.values()] for row in table.to_pylist())]
        path.write_text("".join("\t,"[form == "csv"].join(row) + "\n" for row in rows))
    graph = graph_of(tmp_path, coordinates=str(path), node_columns=COLUMNS)
    with pytest.raises(BadInput, match=re.escape(f"{path.name}: {words}")):
        ingest(GraphConfig(**graph), tmp_path / "work")
    assert not [*(tmp_path / "work").glob("*")]


@pytest.mark.parametrize(
    ("text", "key", "words"),
    [
        ("who,x,y\nana,1,2\n", "nodes", r"no column 'vertex', .*, among 'who', 'x', 'y'; name it by `vertex` below \[graph.node"),
        ("id,osmid,x,y\nana,7,1,2\n", "nodes", "no column 'vertex', or several, among 'id', 'osmid', 'x', 'y'"),
        ("user,person\nana,7\n", "nodes", "no column 'vertex', or several, among 'user', 'person'"),
        ("id,lon,lng,lat\nana,7,1,2\n", "coordinates", "no column 'x', or several, among 'id', 'lon', 'lng', 'lat'"),
        ("vertex,a\nana,1\nana,2\n", "nodes", "vertex 'ana' occurs twice"),
        ("vertex,a\n,1\n", "nodes", "row 0: the id is null"),
        ("vertex,a\nana,1,2\n", "nodes", "Expected 2 columns, got 3"),
        ("vertex,component\nana,1\n", "nodes", "column 'component' has the name of a column of table vertices"),
        ("vertex,x,y\nana,1,91\n", "coordinates", "y 91.0 is not in -90..90 degrees"),
        ("vertex,x,y\nana,1,north\n", "coordinates", "column 'y' is string, not a number of degrees"),
    ],
)
def test_wrong_tables_of_nodes_are_refused(tmp_path, text, key, words):
    (tmp_path / "nodes.csv").write_text(text)
    with pytest.raises(BadInput, match=words):
        ingest(GraphConfig(**graph_of(tmp_path, **{key: str(tmp_path / "nodes.csv")})), tmp_path / "work")
    assert not (tmp_path / "work" / "edges").exists()
