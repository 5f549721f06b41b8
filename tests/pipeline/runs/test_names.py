"""Graphs whose ids are strings: numbered in the order of their bytes, looked up by name, and refused where an id is wrong."""

import duckdb
import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pipeline.cli.runs import path
from pipeline.config.graph import GraphConfig
from pipeline.config.loading import run_config
from pipeline.errors import BadConfig, BadInput, BadSource, ProofFailed
from pipeline.ingest import ingest, numbering
from pipeline.inspection.runs import list_runs
from pipeline.run import run
from pipeline.steps.derived import names
from pipeline.steps.reach import reach_into
from pipeline.store.facts.run import RunFacts
from pipeline.store.manifest import read as read_manifest
from pipeline.store.names import merge, names_of, open_names
from pipeline.tables import files as tables
from tests.counts import examples
from tests.edge_lists import rows_of_edges

PEOPLE = 'who,whom,kg\nana,bob,3\nbob,"Zoë, dr",2.5\nana,ana,1\n12,ana,9\n'
ASKED = {"src": "who", "dst": "whom", "weight": "kg"}
ORDERED = ["12", "Zoë, dr", "ana", "bob"]


def people(folder, text=PEOPLE, **options):
    (folder / "people.csv").write_text(text, encoding="utf-8")
    return {"source": str(folder / "people.csv"), "columns": ASKED, **options}


@pytest.fixture(scope="module")
def named(tmp_path_factory):
    folder = tmp_path_factory.mktemp("named")
    pq.write_table(pa.table({"src": ["12", "bob", "eve"], "dst": ["bob", "12", "bob"]}), folder / "pairs.parquet")
    queries = {"pairs": str(folder / "pairs.parquet"), "unknown": "null", "witness": True}
    stages = ["bfs", "mst", "reachability"]
    asked = {"output": folder / "out", "stages": stages, "named": True, "queries": queries}
    return run(run_config("test", graph=people(folder), **asked)).path


@pytest.mark.parametrize("table", ["bfs", "mst", "forest", "vertices", "reachability_labels", "reached", "paths"])
def test_named_tables_have_the_name_of_each_id(named, table):
    facts = RunFacts.of(read_manifest(named))
    described = {column["name"]: column for column in facts.tables[table].columns}
    ids = [name for name, column in described.items() if column["unit"].startswith("external id")]
    ids = [name for name in ids if (table, name) != ("vertices", "vertex")]
    rows = tables.read(named / table)
    assert ids
    for column in ids:
        assert described[f"{column}_name"]["unit"] == f"the id of `{column}` in the source"
        for number, text in zip(rows[column].to_pylist(), rows[f"{column}_name"].to_pylist(), strict=True):
            if isinstance(number, list):
                assert text == [ORDERED[one] for one in number]
            else:
                assert text == (None if number in (None, -1) else ORDERED[number])
    original = tables.read(named.parents[1] / "steps" / {"reachability_labels": "reachability"}.get(table, table))
    assert rows.select(original.schema.names).equals(original)


def test_pairs_are_names(named):
    rows = tables.read(named / "reached").to_pylist()
    assert [(row["src_name"], row["dst_name"], row["reachable"]) for row in rows] == [
        ("12", "bob", True), ("bob", "12", False), (None, "bob", None),
    ]  # fmt: skip


def test_flows_between_names_add_the_capacities_of_parallel_edges(tmp_path):
    pq.write_table(pa.table({"src": ["ana"], "dst": ["eve"]}), tmp_path / "pairs.parquet")
    graph = people(tmp_path, "who,whom,kg\nana,bob,3\nana,bob,4\nbob,eve,9\n")
    flows = {"pairs": str(tmp_path / "pairs.parquet")}
    published = run(run_config("test", graph=graph, output=tmp_path / "out", stages=["max_flow"], max_flow=flows))
    assert tables.read(published.path / "max_flow")["flow"].to_pylist()[0] == 7


def test_the_commands_reach_and_path_take_names(named, tmp_path, capsys):
    pq.write_table(pa.table({"src": ["ana"], "dst": ["Zoë, dr"]}), tmp_path / "pairs.parquet")
    reach_into(named, str(tmp_path / "pairs.parquet"), tmp_path / "reached", backend="cpu")
    assert tables.read(tmp_path / "reached").to_pylist()[0]["reachable"]
    pq.write_table(pa.table({"src": ["ana", "eve"], "dst": ["ana", "ana"]}), tmp_path / "pairs.parquet")
    with pytest.raises(BadInput, match="row 1: src 'eve' is not in the graph"):
        reach_into(named, str(tmp_path / "pairs.parquet"), tmp_path / "other", backend="cpu")
    (listed,) = list_runs(named.parents[1])
    assert listed.stages == ("bfs", "mst", "reachability")  # wcc was proved for table `vertices` only
    path(named, ORDERED[read_source(named)], "Zoë, dr")
    assert "Zoë, dr" in capsys.readouterr().out
    with pytest.raises(BadSource, match="vertex 'eve' is not in the graph"):
        path(named, "eve", "ana")


def read_source(published):
    return tables.read(published / "bfs")["source"][0].as_py()


def test_strings_are_refused_where_ids_are_integers(tmp_path):
    (tmp_path / "g.csv").write_text("src,dst\n1,2\n")
    pq.write_table(pa.table({"src": ["1"], "dst": ["2"]}), tmp_path / "pairs.parquet")
    graph, asked = {"source": str(tmp_path / "g.csv")}, {"output": tmp_path / "out", "stages": ["reachability"]}
    with pytest.raises(BadInput, match="column 'src' is string, but the ids of this graph are integers"):
        run(run_config("test", graph=graph, queries={"pairs": str(tmp_path / "pairs.parquet")}, **asked))
    with pytest.raises(BadConfig, match="named: needs a graph whose ids are strings"):
        run(run_config("test", graph=graph, named=True, **asked))


def test_a_table_with_wrong_names_is_not_kept(tmp_path, monkeypatch):
    with_names = names.with_names

    def wrong(rows, ids, names):
        found = with_names(rows, ids, names)
        place = found.schema.get_field_index("labels_name")
        return found.set_column(place, found.schema.field(place), pa.array(["bob"] * len(rows), pa.string()))

    monkeypatch.setattr(names, "with_names", wrong)
    with pytest.raises(ProofFailed, match="a name does not belong to its labels"):
        run(run_config("test", graph=people(tmp_path), output=tmp_path / "out", stages=["wcc"], named=True))


@pytest.fixture(scope="module")
def published(tmp_path_factory):
    folder = tmp_path_factory.mktemp("people")
    asked = {"output": folder / "out", "stages": ["sssp", "wcc"], "sources": ["ana", 12]}
    return run(run_config("test", graph=people(folder), **asked)).path


def test_vertices_have_the_ids_of_the_source(published):
    rows = tables.read(published / "vertices").to_pylist()
    assert [(row["vertex"], row["id"]) for row in rows] == [*enumerate(ORDERED)]
    assert [(row["out_degree"], row["in_degree"]) for row in rows] == [(1, 0), (0, 1), (1, 1), (1, 1)]


def test_the_report_and_the_manifest_show_names(published):
    assert RunFacts.of(read_manifest(published)).input.source_names == ["12", "ana"]
    page, short = ((published / f"report.{kind}").read_text() for kind in ("html", "md"))
    assert "12, ana (as given)" in page
    assert "Distances from ana" in page
    assert "| 1 | Zoë, dr | 5.5 |" in short.partition("Farthest from ana")[2].partition("SELECT")[0]
    assert "| 0 | 12 | 4 | 100.00% |" in short
    head = page.partition('aria-label="First rows of sssp"')[2].partition("</table>")[0]
    cells = [[cell.partition(">")[2] for cell in row.split("<td")[1:]] for row in head.split("<tr>")[2:]]
    assert [cell.partition("<")[0] for cell in cells[1]] == ["12", "Zoë, dr", "14.5", "bob"]
    query = short.partition("Farthest from ana")[2].partition("```sql\n")[2].partition("```")[0]
    assert duckdb.sql(query.replace(str(published.parents[1] / "latest"), str(published))).fetchall()[0] == (1, "Zoë, dr", 5.5)


def test_a_name_is_shown_without_what_a_terminal_would_obey():
    shown = names_of(pa.array(["a\x1b[2J\nb", "é" * 1000]))
    assert [shown.text(0), shown.text(1)] == ["a\ufffd[2J\ufffdb", "é" * 80]


def test_sources_are_names(published):
    table = tables.read(published / "sssp").to_pylist()
    assert {(row["source"], row["vertex"]): row["distance"] for row in table} == {
        (0, 0): 0, (0, 1): 14.5, (0, 2): 9, (0, 3): 12, (2, 0): None, (2, 1): 5.5, (2, 2): 0, (2, 3): 3,
    }  # fmt: skip


@pytest.mark.parametrize(
    ("source", "words"),
    [("anna", "source 'anna' is not among the 4 ids.* did you mean 'ana'?"), ("1,2", "source 1,2 is a place, but no vertex")],
)
def test_a_name_that_is_not_in_the_graph_is_refused(tmp_path, source, words):
    with pytest.raises(BadSource, match=words):
        run(run_config("test", graph=people(tmp_path), output=tmp_path / "out", stages=["wcc"], sources=[source]))


def test_parquet_may_have_strings(tmp_path):
    ends = {"src": ["b", "ä", "b"], "dst": ["a", "b", "c"]}
    numbers = [(1, 0), (3, 1), (1, 2)]
    for number, kind in enumerate((pa.string(), pa.large_string(), pa.dictionary(pa.int32(), pa.string()))):
        path = tmp_path / f"{number}.parquet"
        pq.write_table(pa.table({name: pa.array(values).cast(kind) for name, values in ends.items()}), path)
        edges = ingest(GraphConfig(source=str(path)), tmp_path / str(number))
        assert [*zip(*rows_of_edges(edges).to_pydict().values(), strict=True)] == numbers
        assert open_names(edges).array().to_pylist() == ["a", "b", "c", "ä"]
        assert edges.facts["declared_vertices"] == 4


def test_integers_may_be_read_as_strings(tmp_path):
    pq.write_table(pa.table({"src": [10, 9], "dst": ["9", "x"]}), path := tmp_path / "g.parquet")
    with pytest.raises(BadInput, match="'src' is int64 and 'dst' is string; ids = \"string\""):
        ingest(GraphConfig(source=str(path)), tmp_path / "work")
    edges = ingest(GraphConfig(source=str(path), ids="string"), tmp_path / "work")
    assert open_names(edges).array().to_pylist() == ["10", "9", "x"]
    assert rows_of_edges(edges).to_pydict() == {"src": [0, 1], "dst": [1, 2]}


@pytest.mark.parametrize(
    ("text", "options", "words"),
    [
        ("src,dst\n1,2\nx,3\n", {}, "line 3: src 'x' is not an integer; if ids are strings, say so in graph.ids"),
        ("src,dst\nx,2\n", {"ids": "integer"}, "line 2: src 'x' is not an integer"),
        ("src,dst\nx,2\n,3\n", {}, "line 3: src is empty"),
        ("src,dst\n1,2\n", {"ids": "string", "format": "dimacs"}, "graph.ids is given, but does not apply to format dimacs"),
    ],
)
def test_wrong_ids_are_refused(tmp_path, text, options, words):
    (tmp_path / "g.csv").write_text(text)
    with pytest.raises(BadInput, match=words):
        ingest(GraphConfig(source=str(tmp_path / "g.csv"), **options), tmp_path / "work")
    assert not (tmp_path / "work" / "edges").exists()


def test_an_id_that_is_not_utf_8_is_refused(tmp_path):
    (tmp_path / "g.csv").write_bytes(b"src,dst\na,b\n\xff,b\n")
    with pytest.raises(BadInput, match=r"line 3: src '.xff' is not UTF-8: byte 0xff is wrong, and may be 'ÿ' in Latin-1; `iconv"):
        ingest(GraphConfig(source=str(tmp_path / "g.csv")), tmp_path / "work")


@settings(max_examples=examples(40))
@given(st.lists(st.lists(st.text(min_size=1, max_size=5), min_size=1), max_size=6), st.lists(st.text(max_size=3)))
def test_names_are_the_different_strings_in_the_order_of_their_bytes(batches, asked):
    names = merge(names_of(pa.array(batch)) for batch in batches)
    expected = sorted({name for batch in batches for name in batch}, key=str.encode)
    assert names.array().to_pylist() == expected
    number = {name: place for place, name in enumerate(expected)}
    queries = [*expected[::-1], *asked, None]
    assert names.find(pa.array(queries, pa.string())).tolist() == [number.get(name, -1) for name in queries]


def test_a_wrong_number_is_not_written(tmp_path, monkeypatch):
    class Wrong(numbering.VertexNames):
        def find(self, values):
            found = super().find(values)
            found[0] = (found[0] + 1) % len(self)
            return found

    graph = GraphConfig(**people(tmp_path))
    collect = numbering.collect
    monkeypatch.setattr("pipeline.ingest.edges.collect", lambda read: Wrong(**vars(collect(read))))
    with pytest.raises(ProofFailed, match="a vertex has another number than its id"):
        ingest(graph, tmp_path / "work")


def test_names_that_do_not_ascend_are_refused(tmp_path):
    names = merge([names_of(pa.array(["b", "c"]))])
    swapped = numbering.VertexNames(names.offsets, np.ascontiguousarray(names.content[::-1]))
    with pytest.raises(ProofFailed, match="do not ascend"):
        numbering.numbered("g.csv", swapped, iter(()))


@pytest.mark.parametrize(
    ("place", "vertex"), [("-73.9,41", 2), ("-73.51, 40.2", 2), ("180,-90", 3), ("-73.25,40.75", 1), ("+2.0,3.", 1)]
)
def test_the_vertex_nearest_to_a_place_is_a_source(tmp_path, place, vertex):
    (tmp_path / "g.gr").write_text("p sp 3 2\na 1 2 5\na 2 3 7\n")
    (tmp_path / "g.co").write_text("p aux sp co 3\nv 3 -74000000 40000000\nv 1 -73000000 41000000\nv 2 -73500000 40500000\n")
    graph = {"source": str(tmp_path / "g.gr"), "coordinates": str(tmp_path / "g.co")}
    asked = {"sources": [place], "snap_limit": 2e7}
    made = run(run_config("test", graph=graph, output=tmp_path / "out", stages=["bfs"], **asked))
    assert tables.read(made.path / "bfs")["source"][0].as_py() == vertex
