"""Tables `forest` and `vertices` of a run, compared with the definitions; and coordinates as other programs read them."""

import dataclasses
import json

import duckdb
import networkx
import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from scipy.sparse import coo_array
from scipy.sparse.csgraph import connected_components

from kernels.cpu import parallel
from kernels.forest import rooted
from kernels.forest.rooted import RootedForest, root_forest, wrong_vertex
from pipeline.cluster.threads import LocalThreads
from pipeline.config.loading import run_config
from pipeline.errors import ProofFailed
from pipeline.run import run
from pipeline.steps.derived import forest as forest_step
from pipeline.steps.derived import forest_over_ranks
from pipeline.steps.publication.publish import publish
from pipeline.steps.runtime import Runtime
from pipeline.store import manifest
from pipeline.store.facts.run import RunFacts
from pipeline.tables import files as tables
from tests import oracles
from tests.graphs import NAMED_GRAPHS, EdgeList
from tests.pipeline.test_pipeline import stored
from tests.steps import path_steps

MEASURED = {"sssp": "distance", "mst": "weight", "forest": "weight", "arcs": "weight"}
GRAPHS = {graph.name: graph for graph in NAMED_GRAPHS}
POINTS = "p aux sp co 3\nv 3 -74000000 40000000\nv 1 -73000000 41000000\nv 2 -73500000 40500000\n"


def read(published, table):
    return tables.read(published.path / table).to_pylist()


def derived(graph, folder, stages=("mst",)):
    rows = [*graph.edges, *((vertex, vertex, 1)[: 3 if graph.weighted else 2] for vertex in graph.vertices)]
    header = "src,dst,weight" if graph.weighted else "src,dst"
    (folder / "graph.csv").write_text("\n".join([header, *(",".join(map(str, row)) for row in rows)]) + "\n")
    source = {"source": str(folder / "graph.csv"), "directed": graph.directed}
    return run(run_config("test", graph=source, output=folder / "out", stages=stages))


@pytest.mark.parametrize("name", ["empty", "one_vertex", "self_loop_beside_an_arc", "asymmetric_pair", "path", "figure_1"])
def test_the_tables_of_vertices_are_those_of_the_definitions(tmp_path, name):
    graph = GRAPHS[name]
    published = derived(graph, tmp_path)
    arcs = graph.arcs()
    whole = networkx.Graph([*arcs])
    whole.add_nodes_from(graph.ids)
    component = {vertex: min(part) for part in networkx.connected_components(whole) for vertex in part}
    assert read(published, "vertices") == [
        {
            "vertex": vertex,
            "out_degree": sum(src == vertex for src, _ in arcs),
            "in_degree": sum(dst == vertex for _, dst in arcs),
            "component": component[vertex],
        }
        for vertex in graph.ids
    ]
    edges, tree = oracles.forest(graph)
    spanning = networkx.Graph()
    spanning.add_weighted_edges_from(edges)
    spanning.add_nodes_from(graph.ids)
    above, depth = {}, {}
    for root in set(tree.values()):
        above |= dict(networkx.bfs_predecessors(spanning, root))
        depth |= networkx.single_source_shortest_path_length(spanning, root)
    assert read(published, "forest") == [
        {
            "vertex": vertex,
            "parent": above.get(vertex),
            "weight": spanning[vertex][above[vertex]]["weight"] if vertex in above else None,
            "depth": depth[vertex],
            "labels": tree[vertex],
        }
        for vertex in graph.ids
    ]
    assert set(RunFacts.of(published).tables) == {"mst", "forest", "vertices", "arcs"}  # not wcc, which was not asked for


def test_the_tables_of_vertices_are_the_same_over_ranks(tmp_path):
    published = []
    for shards in (0, 3):
        (folder := tmp_path / str(shards)).mkdir()
        (folder / "graph.csv").write_text("src,dst,weight\n" + "".join(f"{i},{i * 7 % 50},{i}\n" for i in range(50)))
        graph, cluster = {"source": str(folder / "graph.csv")}, {"shards": shards}
        published.append(run(run_config("test", graph=graph, output=folder / "out", stages=["mst", "wcc"], cluster=cluster)))
    for table in ("vertices", "forest"):
        (first,), (second,) = (tables.files(of.path / table) for of in published)
        assert first.read_bytes() == second.read_bytes()


@pytest.mark.parametrize("weight", ["{}", "0.{:02d}", "{}e9"], ids=["integers", "hundredths", "large"])
def test_the_forest_of_several_files_is_the_same_over_ranks(weight, tmp_path, monkeypatch):
    monkeypatch.setattr(tables, "ROWS_PER_GROUP", 7)
    monkeypatch.setattr(tables, "ROWS_PER_FILE", 14)
    lines = "".join(f"{i * i % 61},{i * 17 % 59},{weight.format(i)}\n" for i in range(70)) + "100,101,1\n200,200,1\n"
    (tmp_path / "graph.csv").write_text("src,dst,weight\n" + lines)
    files, facts = [], []
    for shards in (0, 1, 3):
        if shards:
            monkeypatch.setattr(forest_step, "free_memory", lambda: 0)
        graph, cluster = {"source": str(tmp_path / "graph.csv")}, {"shards": shards}
        published = run(run_config("test", graph=graph, output=tmp_path / str(shards), stages=["mst"], cluster=cluster))
        files.append([path.read_bytes() for path in tables.files(published.path / "forest")])
        facts.append(manifest.read(tmp_path / str(shards) / "steps" / "forest").facts)
    assert len(files[0]) == 5 and files[0] == files[1] == files[2]
    assert [of.get("shards") for of in facts] == [None, 1, 3]
    assert len({(of["rows"], of["trees"], of["deepest"], *of["proof"]["rules"]) for of in facts}) == 1


@pytest.mark.parametrize(("column", "row", "value"), [("depth", 3, 4), ("parent", 2, 5), ("parent", 0, 2), ("labels", 1, 2)])
def test_a_forest_table_over_ranks_that_is_not_that_of_the_edges_is_not_kept(column, row, value, tmp_path, monkeypatch):
    graph = stored(EdgeList("path", tuple((i, i + 1, 3) for i in range(1, 6)), directed=False), tmp_path)
    (mst,) = (answer for answer in path_steps(tmp_path / "ids", vertices=6).answers if answer.manifest.step == "mst")

    def wrong(inputs, folder, *rest):
        columns = tables.read(folder).to_pydict()
        columns[column][row] = value
        tables.write(folder, "forest", "int64", [pa.record_batch(columns, tables.schema("forest", "int64"))])
        return checked(inputs, folder, *rest)

    checked = forest_over_ranks._wrong_vertex
    monkeypatch.setattr(forest_over_ranks, "_wrong_vertex", wrong)
    monkeypatch.setattr(forest_step, "free_memory", lambda: 0)  # of one process
    with pytest.raises(ProofFailed, match="the row of vertex"):
        forest_step.root(graph, graph, mst, Runtime(tmp_path, cluster=LocalThreads(1)))
    assert not (tmp_path / "forest").exists()


def test_a_table_of_several_files_and_row_groups(tmp_path, monkeypatch):
    expected = derived(GRAPHS["path"], tmp_path, ("mst", "wcc")).path
    whole = {table: tables.read(expected / table) for table in ("vertices", "forest")}
    monkeypatch.setattr(tables, "ROWS_PER_GROUP", 3)
    monkeypatch.setattr(tables, "ROWS_PER_FILE", 6)
    (again := tmp_path / "again").mkdir()
    parts = derived(GRAPHS["path"], again, ("mst", "wcc")).path
    for table, rows in whole.items():
        assert len(tables.files(parts / table)) == 7
        assert tables.read(parts / table).equals(rows)


def test_several_threads_root_a_forest_as_one_does(monkeypatch):
    random = np.random.default_rng(6)
    edges = np.array([(random.integers(max(0, i - 3), i), i) for i in range(1, 3000)])
    src, dst = np.sort(random.permutation(3000)[edges], axis=1).T.astype(np.int32)
    labels = np.zeros(len(src), np.int32)
    monkeypatch.setattr(rooted, "_WORTH_ATOMICS", 10**9)
    alone = root_forest(src, dst, labels, 3000)
    assert wrong_vertex(alone, src, dst, labels) == -1
    monkeypatch.setattr(parallel, "WORTH_A_THREAD", 1)
    monkeypatch.setattr(parallel, "cores", lambda: 3)
    monkeypatch.setattr(rooted, "_WORTH_ATOMICS", 0)
    together = root_forest(src, dst, labels, 3000)
    for field in dataclasses.fields(RootedForest):
        assert np.array_equal(getattr(together, field.name), getattr(alone, field.name)), field.name
    labels[:] = 3000  # outside the tree
    for cores in (0, 10**9):
        monkeypatch.setattr(rooted, "_WORTH_ATOMICS", cores)
        assert wrong_vertex(root_forest(src, dst, labels, 3001), src, dst, labels) >= 0


def test_a_wrong_row_of_a_rooted_forest_is_found():
    random = np.random.default_rng(5)
    order = random.permutation(60).astype(np.int32)
    ends = np.sort([(order[i], order[random.integers(0, i)]) for i in range(1, 60) if i % 20], axis=1)
    src, dst = np.ascontiguousarray(ends.T)
    _, tree = connected_components(coo_array((src, (src, dst)), (60, 60)), directed=False)
    smallest = np.array([np.flatnonzero(tree == one)[0] for one in tree], np.int32)
    labels = smallest[src]
    right = root_forest(src, dst, labels, 60)
    assert wrong_vertex(right, src, dst, labels) == -1
    for field in dataclasses.fields(RootedForest):
        for vertex in range(60):
            column = getattr(right, field.name).copy()
            column[vertex] = (column[vertex] + random.integers(1, 50)) % 57
            if column[vertex] != getattr(right, field.name)[vertex]:
                assert wrong_vertex(dataclasses.replace(right, **{field.name: column}), src, dst, labels) >= 0


@pytest.mark.parametrize(("column", "row", "value"), [("depth", 3, 4), ("parent", 0, 99), ("parent", 2, 99), ("labels", 1, 99)])
def test_a_forest_table_that_is_not_that_of_the_edges_is_not_kept(tmp_path, monkeypatch, column, row, value):
    """Also where an id is none of the graph's."""
    graph = stored(EdgeList("path", tuple((i, i + 1, 3) for i in range(1, 6)), directed=False), tmp_path)
    (mst,) = (answer for answer in path_steps(tmp_path / "ids", vertices=6).answers if answer.manifest.step == "mst")
    write = forest_step._write_files

    def wrong(folder, *rest):
        write(folder, *rest)
        columns = tables.read(folder).to_pydict()
        columns[column][row] = value
        tables.write(folder, "forest", "int64", [pa.record_batch(columns, tables.schema("forest", "int64"))])

    monkeypatch.setattr(forest_step, "_write_files", wrong)
    with pytest.raises(ProofFailed, match="the row of vertex"):
        forest_step.root(graph, graph, mst, Runtime(tmp_path))
    assert not (tmp_path / "forest").exists()


def test_a_forest_that_does_not_fit_is_left_out(tmp_path, monkeypatch, caplog):
    monkeypatch.setattr(forest_step, "free_memory", lambda: 10)
    published = derived(GRAPHS["path"], tmp_path, ("mst", "wcc"))
    assert set(RunFacts.of(published).tables) == {"mst", "wcc", "vertices", "arcs"}
    assert "forest: left out" in caplog.text


def test_a_table_of_vertices_of_another_answer_is_not_published(tmp_path):
    steps = path_steps(tmp_path / "steps")
    table = dataclasses.replace(steps.answers[-1], manifest=dataclasses.replace(
        steps.answers[-1].manifest, step="vertices", inputs={"graph": steps.graph.digest, "answer": "another"}))  # fmt: skip
    with pytest.raises(ProofFailed, match="from an answer without a proof"):
        publish(tmp_path / "out", dataclasses.replace(steps.results(), derived=[table]))


@pytest.fixture(scope="module")
def placed(tmp_path_factory):
    folder = tmp_path_factory.mktemp("placed")
    (folder / "g.gr").write_text("p sp 3 2\na 1 2 5\na 2 3 7\n")
    (folder / "g.co").write_text(POINTS)
    graph = {"source": str(folder / "g.gr"), "coordinates": str(folder / "g.co")}
    return run(run_config("test", graph=graph, output=folder / "out", stages=["wcc"])).path


def test_vertices_have_their_coordinates(placed):
    rows = tables.read(placed / "vertices").to_pylist()
    assert [(row["vertex"], row["x"], row["y"]) for row in rows] == [(1, -73.0, 41.0), (2, -73.5, 40.5), (3, -74.0, 40.0)]


@pytest.mark.parametrize("table", ["coordinates", "vertices"])
def test_coordinates_are_geoparquet(placed, table):
    (path,) = tables.files(placed / table)
    geo = json.loads(pq.read_schema(path).metadata[b"geo"])
    assert geo["version"] == "1.1.0" and geo["primary_column"] in geo["columns"] == {
        "geometry": {"encoding": "WKB", "geometry_types": ["Point"]}
    }
    found = duckdb.sql(f"SELECT typeof(geometry), geometry::VARCHAR FROM '{path}' ORDER BY vertex").fetchall()
    assert found[0] == ("GEOMETRY('OGC:CRS84')", "POINT (-73 41)")


def units_of(published):
    """The metadata `units` of the files of each table that have it, as another program reads them."""
    files = {file.parent.name: file for file in published.path.glob("*/part-*.parquet")}
    query = "SELECT decode(value) FROM parquet_kv_metadata('{}') WHERE decode(key) = 'units'"
    found = {table: duckdb.sql(query.format(file)).fetchall() for table, file in files.items()}
    return {table: rows[0][0] for table, rows in found.items() if rows}


def test_the_unit_of_weights_is_in_the_descriptions_the_files_and_the_report(tmp_path):
    (tmp_path / "g.csv").write_text("src,dst,weight\na,b,5\nb,c,7\n")
    graph = {"source": str(tmp_path / "g.csv"), "weight": {"name": "travel time", "unit": "seconds"}}
    config = run_config("test", graph=graph, output=tmp_path / "out", stages=["bfs", "sssp", "mst"])
    published = run(config)
    stated = {table: json.dumps({column: "seconds (travel time)"}) for table, column in MEASURED.items()}
    assert units_of(published) == stated
    assert units_of(run(config.model_copy(update={"named": True}))) == stated
    graph["weight"] = {}
    for columns in ({}, {"weight": False}):
        graph["columns"] = columns
        unstated = run(run_config("test", graph=graph, output=tmp_path / "out", stages=["sssp", "mst"]))
        assert units_of(unstated) == {}
    (distance,) = (column for column in RunFacts.of(unstated).tables["sssp"].columns if column["name"] == "distance")
    assert distance["unit"] == "arcs"
    units = {
        (table, column["name"]): column["unit"]
        for table, facts in RunFacts.of(published).tables.items()
        for column in facts.columns
    }
    assert units["sssp", "distance"] == units["mst", "weight"] == units["forest", "weight"] == "seconds (travel time)"
    assert units["bfs", "distance"] == "hops"
    report = (published.path / "report.html").read_text(encoding="utf-8")
    assert "int64, column &#39;weight&#39;, in seconds (travel time)" in report
    assert "total weight 12 seconds (travel time)" in report
