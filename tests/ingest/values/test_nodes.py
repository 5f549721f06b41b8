"""Tables of nodes: in the forms of countries and programs, as declarations of vertices, and rows that match no vertex."""

import gzip

import networkx
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from pipeline.config.graph import GraphConfig
from pipeline.config.loading import checked, run_config
from pipeline.config.run import RunConfig
from pipeline.errors import BadConfig, BadInput
from pipeline.ingest import ingest
from pipeline.run import run


def nodes_of(tmp_path, content, name="n.csv", **columns):
    """The stored table of nodes of a file."""
    (tmp_path / "g.csv").write_text("src,dst\n5,9\n9,5\n")
    (tmp_path / name).write_bytes(content if isinstance(content, bytes) else content.encode())
    asked = GraphConfig(source=str(tmp_path / "g.csv"), nodes=str(tmp_path / name), node_columns=columns)
    return pq.read_table(ingest(asked, tmp_path / "work").path / "nodes.parquet")


def test_numbers_of_other_countries_are_numbers(tmp_path):
    text = "vertex;people;area;name;code\n5;1.234;1.234,5;Käthe;1.2\n9;7;-;-;x\n"
    form = {"delimiter": ";", "decimal": ",", "thousands": ".", "encoding": "cp1252", "null": ["-"]}
    table = nodes_of(tmp_path, text.encode("cp1252"), **form)
    expected = pd.read_csv(tmp_path / "n.csv", sep=";", decimal=",", thousands=".", encoding="cp1252", na_values="-")
    assert table.to_pandas().to_dict("list")["people"] == expected["people"].tolist() == [1234, 7]
    assert table["area"].to_pylist() == [1234.5, None]
    assert table["name"].to_pylist() == ["Käthe", None]
    assert table["code"].to_pylist() == ["1.2", "x"]
    assert table.schema.field("people").type == pa.int64()


def test_a_decimal_comma_may_be_the_delimiter_in_quotes(tmp_path):
    table = nodes_of(tmp_path, 'vertex,"the, name",w\n5,a,"1,5"\n9,b,"-2,25"\n', decimal=",")
    assert table.to_pydict() == {"vertex": [5, 9], "the, name": ["a", "b"], "w": [1.5, -2.25]}


def test_coordinates_with_a_decimal_comma(tmp_path):
    (tmp_path / "g.csv").write_text("src,dst\n5,9\n")
    (tmp_path / "c.csv").write_text("vertex;x;y\n5;13,5;52,25\n9;-0,5;1\n")
    asked = {"source": str(tmp_path / "g.csv"), "coordinates": str(tmp_path / "c.csv")}
    form = {"delimiter": ";", "decimal": ","}
    edges = ingest(GraphConfig(**asked, node_columns=form), tmp_path / "work")
    assert pq.read_table(edges.path / "coordinates.parquet").to_pydict() == {
        "vertex": [5, 9],
        "x": [13.5, -0.5],
        "y": [52.25, 1.0],
    }
    with pytest.raises(BadInput, match=r"column 'x' is string, not a number of degrees.*graph\.node_columns\.decimal"):
        ingest(GraphConfig(**asked, node_columns={"delimiter": ";"}), tmp_path / "work")


def published(tmp_path, edges, nodes, name="n.csv", **keys):
    (tmp_path / "g.csv").write_text(edges)
    (tmp_path / name).write_bytes(gzip.compress(nodes.encode()) if name.endswith("gz") else nodes.encode())
    graph = {"source": str(tmp_path / "g.csv"), "nodes": str(tmp_path / name), **keys.pop("graph", {})}
    config = checked(RunConfig, "test", graph=graph, output=tmp_path / "out", stages=["wcc"], backend="cpu", **keys)
    folder = run(config)
    return folder.facts, pq.read_table(folder.path / "vertices").to_pydict()


EDGES = {"integer": "src,dst,weight\n5,9,2\n9,5,2\n9,9,1\n", "string": "src,dst,weight\neve,fay,2\nfay,eve,2\nfay,fay,1\n"}
IDS = {"integer": ["5", "9", "2", "70000000000"], "string": ["eve", "fay", "ann", "zoe"]}


@pytest.mark.parametrize("declare", [False, True])
@pytest.mark.parametrize("name", ["n.csv", "n.v", "n.v.gz"])
@pytest.mark.parametrize("ids", IDS)
def test_declared_vertices_are_isolated_and_others_are_counted(ids, name, declare, tmp_path):
    nodes = "\n".join(([] if ".v" in name else ["vertex"]) + IDS[ids]) + "\n"
    facts, table = published(tmp_path, EDGES[ids], nodes, name, graph={"node_columns": {"declare": declare}})
    expected = networkx.Graph([IDS[ids][:2], IDS[ids][1:2] * 2])
    if declare:
        expected.add_nodes_from(IDS[ids])
    found = table["id"] if ids == "string" else [str(vertex) for vertex in table["vertex"]]
    assert sorted(found) == sorted(expected)
    assert len(set(table["component"])) == networkx.number_connected_components(expected)
    degrees = dict(zip(found, table["out_degree"], strict=True))
    assert degrees == {vertex: int(vertex in IDS[ids][:2]) for vertex in expected}
    read = facts["input"]
    assert (read["edges"], read["self_loops"], read["parallel_arcs"]) == (3, 1, 0)
    assert (read["node_rows"], read["unmatched_node_rows"]) == (4, 0 if declare else 2)


def test_rows_without_a_vertex_are_counted_in_the_log(tmp_path, caplog):
    with caplog.at_level("INFO"):
        published(tmp_path, EDGES["integer"], "vertex,name\n5,a\n7,b\n")
    assert "2 rows, 1 of which match no vertex" in caplog.text


def test_vertices_are_declared_beside_parquet_that_is_not_copied(tmp_path):
    pq.write_table(pa.table({"src": pa.array([5], pa.int32()), "dst": pa.array([9], pa.int32())}), tmp_path / "g.parquet")
    (tmp_path / "n.csv").write_text("vertex\n70000000000\n")
    graph = {"source": str(tmp_path / "g.parquet"), "nodes": str(tmp_path / "n.csv"), "node_columns": {"declare": True}}
    folder = run(checked(RunConfig, "test", graph=graph, output=tmp_path / "out", stages=["wcc"], backend="cpu"))
    assert pq.read_table(folder.path / "vertices")["vertex"].to_pylist() == [5, 9, 70000000000]


def test_a_vertex_beyond_those_of_the_file_is_refused(tmp_path):
    (tmp_path / "g.gr").write_text("p sp 2 1\na 1 2 7\n")
    (tmp_path / "n.csv").write_text("vertex\n2\n3\n")
    asked = {"source": str(tmp_path / "g.gr"), "nodes": str(tmp_path / "n.csv"), "node_columns": {"declare": True}}
    with pytest.raises(BadInput, match=r"declares the vertices 1\.\.2, but the nodes declare 3"):
        ingest(GraphConfig(**asked), tmp_path / "work")


def test_self_loops_cannot_be_kept_beside_declared_vertices(tmp_path):
    with pytest.raises(BadConfig, match=r"layout\.self_loops"):
        published(
            tmp_path, EDGES["integer"], "vertex\n7\n", graph={"node_columns": {"declare": True}}, layout={"self_loops": "keep"}
        )


@pytest.mark.parametrize("beside", [{}, {"coordinates": "c.csv"}])
def test_declare_without_nodes_has_no_effect(beside, tmp_path):
    from pipeline.config.effects import require_effect

    graph = {"source": "g.csv", "node_columns": {"declare": True}, **beside}
    with pytest.raises(BadConfig, match=r"graph\.node_columns\.declare: has no effect: no file of nodes is named"):
        require_effect("test", run_config("test", graph=graph, output=tmp_path))
