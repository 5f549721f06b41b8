"""Files of changes that name new vertices, where ids are strings: their numbers are those of a run over the changed source."""

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from pipeline.changes import change, renumbering
from pipeline.config.run import RunConfig
from pipeline.errors import ProofFailed
from pipeline.run import run
from pipeline.steps.reach import reach_into
from pipeline.store.facts.run import RunFacts
from pipeline.store.names import VertexNames
from pipeline.tables import files as tables
from tests.pipeline.changes.histories import differing, stopping
from tests.pipeline.products.calls import matrix_into

NODES = "vertex,x,y,kind\nbob,1,2,a\nana,3,4,b\n"
EDGES = "src,dst,weight\nana,bob,5\nbob,dan,4\n"
CHANGES = """op,src,dst,weight
insert,carl,ana,1
insert,"Zoë, dr",carl,2
delete,bob,dan,
delete,eve,fay,
insert,eve,fay,2
insert,ana,bob,7
update,ana,gus,7
"""
CHANGED = 'src,dst,weight\nana,bob,5\ncarl,ana,1\n"Zoë, dr",carl,2\ndan,dan,0\n'


def config(folder, source, out, pairs=None, **options):
    (folder / f"{out}.csv").write_text(source, "utf-8")
    (folder / "nodes.csv").write_text(NODES, "utf-8")
    graph = {"source": str(folder / f"{out}.csv"), "nodes": str(folder / "nodes.csv"), "coordinates": str(folder / "nodes.csv")}
    values = {"graph": graph, "output": folder / out, "stages": ["wcc", "sssp", "reachability"], "backend": "cpu"}
    queries = {"pairs": str(folder / "pairs.parquet"), "unknown": "null"}
    return RunConfig.model_validate(values | {"sources": ["ana"], "named": True, "queries": queries} | options)


@pytest.fixture(scope="module")
def named(tmp_path_factory):
    """A graph after a file of changes, whose run was ended before and behind the step that numbers its names."""
    folder = tmp_path_factory.mktemp("new-names")
    pq.write_table(pa.table({"src": ["carl", "ana", "bob"], "dst": ["bob", "dan", "gus"]}), folder / "pairs.parquet")
    run(config(folder, EDGES, "out"))
    (folder / "changes.csv").write_text(CHANGES, "utf-8")
    for step in ("edges", "wcc", "publish"):
        with pytest.raises(InterruptedError):
            change(folder / "out", folder / "changes.csv", count_violations=True, call=stopping(step))
    return folder, change(folder / "out", folder / "changes.csv", count_violations=True)


def test_tables_are_those_of_a_rebuild(named):
    folder, published = named
    assert differing(published.path, run(config(folder, CHANGED, "rebuilt")).path) == []
    state = RunFacts.of(published).graph.state
    assert (state.inserted, state.deleted, state.vertices) == (2, 1, 2)
    assert state.violations == {"unknown_vertex": 2, "repeated": 1, "existing_edge": 1}
    rows = tables.read(published.path / "vertices").to_pylist()
    assert [(row["id"], row["x"], row["kind"]) for row in rows] == [
        ("Zoë, dr", None, None), ("ana", 3.0, "b"), ("bob", 1.0, "a"), ("carl", None, None), ("dan", None, None),
    ]  # fmt: skip


def test_commands_take_new_names(named, tmp_path):
    folder, published = named
    reached = tables.read(published.path / "reached").to_pylist()
    assert [(row["src_name"], row["dst_name"], row["reachable"]) for row in reached] == [
        ("carl", "bob", True), ("ana", "dan", False), ("bob", None, None),
    ]  # fmt: skip
    reach_into(folder / "out", str(folder / "pairs.parquet"), tmp_path / "reached", unknown="null", backend="cpu")
    assert tables.read(tmp_path / "reached")["reachable"].to_pylist() == [True, False, None]
    for name, row in (("from", "Zoë, dr"), ("to", "bob")):
        (tmp_path / f"{name}.csv").write_text(f"{row}\n", "utf-8")
    asked = {"sources": str(tmp_path / "from.csv"), "targets": str(tmp_path / "to.csv"), "backend": "cpu"}
    assert tables.read(matrix_into(str(folder / "out"), tmp_path / "matrix", **asked).path)["distance"].to_pylist() == [8]


def test_a_graph_may_begin_without_names(tmp_path):
    pq.write_table(pa.table({name: pa.array([], pa.string()) for name in ("src", "dst")}), tmp_path / "edges.parquet")
    (tmp_path / "changes.csv").write_text("op,src,dst\ninsert,bob,ana\n", "utf-8")
    expect, changes = {"empty": True}, {"tables": True}
    values = {"output": tmp_path / "out", "stages": ["mst", "bfs"], "expect": expect, "changes": changes, "named": True}
    empty = RunConfig.model_validate(values | {"graph": {"source": str(tmp_path / "edges.parquet")}})
    first = run(empty)
    published = first, change(empty.output, tmp_path / "changes.csv")
    ids = [tables.read(one.path / "vertices")["id"].to_pylist() for one in published]
    assert ids == [[], ["ana", "bob"]]
    removed = tables.read(run(empty).path / "vertices_changes")
    assert (removed["vertex"].to_pylist(), removed["kind"].to_pylist()) == (["ana", "bob"], ["removed"] * 2)


def test_names_in_a_wrong_order_are_not_published(named, monkeypatch):
    folder, published = named
    (folder / "more.csv").write_text("op,src,dst,weight\ninsert,aaa,ana,1\n", "utf-8")

    def save(names: VertexNames, where):
        monkeypatch.undo()
        VertexNames(names.offsets, names.content[::-1].copy()).save(where)

    monkeypatch.setattr(renumbering.VertexNames, "save", save)
    with pytest.raises(ProofFailed, match="the names are not the previous and the new ones"):
        change(folder / "out", folder / "more.csv")
    assert (folder / "out" / "latest").resolve() == published.path
