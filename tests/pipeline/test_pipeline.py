"""Named and random graphs from a file through every stage to its proved table, compared with the definitions."""

from pathlib import Path

import pyarrow as pa
import pyarrow.csv
import pyarrow.parquet as pq
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from kernels.pagerank.certificate import FARTHEST
from pipeline.cluster.threads import LocalThreads
from pipeline.config.graph import GraphConfig
from pipeline.config.layout import LayoutConfig
from pipeline.config.run import STAGES
from pipeline.errors import BadInput, BadSource, ProofFailed
from pipeline.ingest import ingest
from pipeline.runtime.beyond_gpu import ON_GPU
from pipeline.steps.layout import lay_out
from pipeline.steps.runtime import Runtime
from pipeline.steps.stages import run_stage
from pipeline.steps.verify import prove
from pipeline.store.manifest import Folder, make, unsealed
from pipeline.tables import answer_table
from pipeline.tables import files as tables
from tests import oracles
from tests.counts import examples, in_turn
from tests.graphs import NAMED_GRAPHS, EdgeList
from tests.reachability import condensed, labels_of
from tests.steps import path_facts

ORDERS = ("degree", "windowed", "source")


def stored(edges: EdgeList, work: Path, **layout: object) -> Folder:
    """Ingest and lay out the edges from a CSV file; a self-loop, which the layout drops, makes a vertex isolated."""
    rows = [*edges.edges, *((vertex, vertex, 1) if edges.weighted else (vertex, vertex) for vertex in edges.vertices)]
    columns = {"src": pa.array([row[0] for row in rows], pa.int64()), "dst": pa.array([row[1] for row in rows], pa.int64())}
    if edges.weighted:
        columns["weight"] = pa.array([row[2] for row in rows])
    source = work / "graph.csv"
    pyarrow.csv.write_csv(pa.table(columns), source)
    return lay_out(ingest(GraphConfig(source=str(source), directed=edges.directed), work), LayoutConfig(**layout), Runtime(work))


def answer(graph: Folder, stage: str, sources: tuple[int, ...], work: Path) -> list[dict]:
    table = run_stage(graph, stage, sources, Runtime(work))
    prove(graph, table, True, Runtime(work))
    return tables.read(table.path).to_pylist()


def expected(edges: EdgeList, stage: str, sources: tuple[int, ...]) -> list[dict]:
    if stage in ("bfs", "sssp"):
        rows = []
        for source in sorted(sources):
            distance, predecessor = oracles.paths(edges, source, weighted=stage == "sssp")
            rows += [
                {"source": source, "vertex": v, "distance": distance.get(v), "predecessor": predecessor.get(v)} for v in edges.ids
            ]
        return rows
    if stage == "mst":
        chosen, tree = oracles.forest(edges)
        return [{"src": src, "dst": dst, "weight": weight, "labels": tree[src]} for src, dst, weight in chosen]
    if stage == "pagerank":
        ranks = oracles.pagerank(edges)
        return [{"vertex": vertex, "pagerank": pytest.approx(ranks[vertex], abs=FARTHEST)} for vertex in edges.ids]
    if stage == "reachability":
        return reachability_labels(edges)
    labels = oracles.weak_components(edges) if stage == "wcc" else oracles.strong_components(edges)
    return [{"vertex": vertex, "labels": labels[vertex]} for vertex in edges.ids]


def reachability_labels(edges: EdgeList) -> list[dict]:
    dag, labels = condensed(edges), labels_of(edges, 3, 0, "tree")
    rows = []
    for vertex in edges.ids:
        node = dag.node[vertex]
        of_dimensions = {f"{name}_{i}": int(labels[name][i][node]) for i in range(3) for name in ("low", "post")}
        rows.append({"vertex": vertex, "labels": dag.names[node], "level": int(labels["level"][node]), **of_dimensions})
    return rows


@pytest.mark.sampled
@pytest.mark.parametrize(("edges",), in_turn(2, [graph for graph in NAMED_GRAPHS if graph.ids]), ids=lambda graph: graph.name)
def test_named_graphs_have_the_expected_tables(edges, tmp_path):
    sources = (edges.ids[0], *edges.ids[-1:][: len(edges.ids) - 1])
    order = ORDERS[len(edges.name) % 3]
    graph = stored(edges, tmp_path, order=order, shards=1 + len(edges.name) % 4)
    stages = STAGES if len(edges.ids) < 1000 else ("bfs", "sssp", "mst", "wcc")  # the oracle of scc is cubic
    for stage in stages:
        assert answer(graph, stage, sources, tmp_path) == expected(edges, stage, sources)


edge_lists = st.builds(
    EdgeList,
    name=st.just("random"),
    edges=st.lists(
        st.tuples(st.integers(0, 7), st.integers(0, 7), st.integers(0, 3)).map(
            lambda edge: (edge[0] * 11, edge[1] * 11, edge[2])
        ),
        min_size=1,
        max_size=24,
    ).map(tuple),
    directed=st.booleans(),
)


@settings(max_examples=examples(25))
@given(edges=edge_lists, order=st.sampled_from(ORDERS), shards=st.integers(1, 3))
def test_random_graphs_have_the_expected_tables(edges, order, shards, tmp_path_factory):
    work = tmp_path_factory.mktemp("random")
    graph = stored(edges, work, order=order, shards=shards)
    sources = (edges.ids[0],)
    for stage in STAGES:
        assert answer(graph, stage, sources, work) == expected(edges, stage, sources)


def test_the_default_source_has_the_highest_out_degree(tmp_path):
    graph = stored(EdgeList("two", ((5, 1), (5, 2), (3, 1), (3, 2), (9, 5))), tmp_path)
    assert run_stage(graph, "bfs", (), Runtime(tmp_path)).facts["sources"] == [3]


def test_weights_keep_their_type(tmp_path):
    graph = stored(EdgeList("floats", ((1, 2, 0.1), (2, 3, 0.2))), tmp_path)
    sssp = tables.read(run_stage(graph, "sssp", (1,), Runtime(tmp_path)).path)
    assert sssp["distance"].to_pylist() == [0.0, 0.1, 0.3]  # counted in tenths
    assert tables.read(run_stage(graph, "mst", (), Runtime(tmp_path)).path)["weight"].to_pylist() == [0.1, 0.2]


def test_a_source_outside_the_graph_is_refused(tmp_path):
    graph = stored(EdgeList("arc", ((1, 2),)), tmp_path)
    with pytest.raises(BadSource, match="source 3 is not in the graph"):
        run_stage(graph, "bfs", (1, 3), Runtime(tmp_path))
    assert not (tmp_path / "bfs").exists()


def test_a_distance_that_overflows_int64_is_an_error(tmp_path):
    graph = stored(EdgeList("vast", ((1, 2, 2**62), (2, 3, 2**62))), tmp_path)
    with pytest.raises(BadInput, match=r"sssp: .*int64"):
        run_stage(graph, "sssp", (1,), Runtime(tmp_path))
    assert not (tmp_path / "sssp").exists()


def test_many_sources_give_one_sorted_table(tmp_path):
    edges = EdgeList("path", tuple((i, i + 1) for i in range(30)), directed=False)
    graph = stored(edges, tmp_path)
    sources = tuple(range(30, -1, -1))
    assert answer(graph, "bfs", sources, tmp_path) == expected(edges, "bfs", sources)


@pytest.mark.parametrize("stage", STAGES)
def test_a_table_of_many_rows_has_several_files(stage, tmp_path, monkeypatch):
    monkeypatch.setattr(tables, "ROWS_PER_GROUP", 4)
    monkeypatch.setattr(tables, "ROWS_PER_FILE", 12)
    edges = EdgeList("path", tuple((i, i + 1) for i in range(30)), directed=False)
    graph, sources = stored(edges, tmp_path), (0, 7) if stage in ("bfs", "sssp") else ()
    assert answer(graph, stage, sources, tmp_path) == expected(edges, stage, sources)
    rows = [pq.read_metadata(path).num_rows for path in tables.files(tmp_path / stage)]
    assert rows == {"mst": [12, 12, 6]}.get(stage, [12, 12, 7] * max(1, len(sources)))


@pytest.mark.parametrize("stage", ["bfs", "reachability"])
def test_a_table_is_read_row_group_by_row_group(stage, tmp_path, monkeypatch):
    monkeypatch.setattr(tables, "ROWS_PER_GROUP", 2_000)
    monkeypatch.setattr(tables, "ROWS_PER_FILE", 8_000)
    graph = stored(EdgeList("path", tuple((i, i + 1) for i in range(40_000)), directed=False), tmp_path)
    table = run_stage(graph, stage, (), Runtime(tmp_path))
    monkeypatch.setattr(answer_table, "cores", lambda: 2)
    before, pool = pa.default_memory_pool(), pa.proxy_memory_pool(pa.default_memory_pool())
    pa.set_memory_pool(pool)
    try:
        prove(graph, table, False, Runtime(tmp_path))
    finally:
        pa.set_memory_pool(before)
    assert 0 < pool.max_memory() < tables.read(table.path).nbytes / 2


@pytest.mark.parametrize("stage", STAGES)
def test_a_changed_table_is_not_proved(stage, tmp_path):
    edges = EdgeList("square", ((1, 2, 4), (2, 3, 4), (3, 4, 4), (4, 1, 4)), directed=False)
    graph = stored(edges, tmp_path)
    true = run_stage(graph, stage, (), Runtime(tmp_path))
    table = tables.read(true.path)
    for column in table.column_names:
        for change in (
            lambda values: [*values[:-1], 99],
            lambda values: values[1:] + values[:1],
            lambda values: [None, *values[1:]],
        ):
            values = change(table[column].to_pylist())
            if values == table[column].to_pylist() or (None in values and not table.schema.field(column).nullable):
                continue
            wrong = table.set_column(
                table.column_names.index(column), table.schema.field(column), pa.array(values, table.schema.field(column).type)
            )

            def write(folder, wrong=wrong):
                table = tables.table_of(stage)
                tables.write(folder, table, true.facts["weight"], wrong.to_batches(), true.facts.get("dimensions", 0))
                return true.facts

            inputs = {**true.manifest.inputs, "forged": column, "values": str(values)}
            forged = make(tmp_path / stage, stage, inputs, {}, write)
            with pytest.raises(ProofFailed):
                prove(graph, forged, False, Runtime(tmp_path))
    assert not (tmp_path / f"proof-{stage}").exists()


@pytest.mark.parametrize(("free", "stages"), [(2**40, 16), (2**29, 3), (2**20, 1)])
def test_stages_run_at_once_as_far_as_memory_allows(free, stages, tmp_path, monkeypatch):
    monkeypatch.setattr("pipeline.runtime.memory.cores", lambda: 16)
    monkeypatch.setattr("pipeline.runtime.memory.free_memory", lambda backend="cpu": free)
    graph = Folder(tmp_path, unsealed("graph", path_facts(1_000_000).stored()))
    assert Runtime(tmp_path).stages_at_once(graph) == stages


@pytest.mark.parametrize(
    ("vertices", "free", "stages"), [(10, 2**40, 16), (16_000_001, 2**40, 16), (16_000_001, 2**33, 2), (10, 0, 1)]
)
def test_stages_of_a_gpu_run_at_once_as_far_as_its_memory_allows(vertices, free, stages, tmp_path, monkeypatch):
    monkeypatch.setattr("pipeline.runtime.memory.cores", lambda: 16)
    monkeypatch.setattr("pipeline.runtime.memory.free_memory", lambda backend="cpu": free if backend == "gpu" else 2**50)
    monkeypatch.setattr("pipeline.steps.runtime.Runtime.arcs_of", lambda *_: ON_GPU)
    graph = Folder(tmp_path, unsealed("graph", path_facts(vertices).stored()))
    assert Runtime(tmp_path, "gpu").stages_at_once(graph) == stages
    monkeypatch.setattr("pipeline.steps.runtime.device_count", lambda: 2)
    monkeypatch.setattr("pipeline.steps.runtime.Runtime._fits_a_gpu", lambda *_: False)
    over_ranks = Runtime(tmp_path, "gpu", LocalThreads(2)).stages_at_once(graph)
    assert over_ranks == (min(16, 2 * stages) if free else 1)
    assert Runtime(tmp_path, "cpu", LocalThreads(2)).stages_at_once(graph) == 1
