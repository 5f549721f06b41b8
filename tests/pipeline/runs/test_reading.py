"""What a run states about how it read its source."""

import logging

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from kernels.graph import Csr
from kernels.layout.laid_out import parallel_arcs
from pipeline.cli.output import summarise
from pipeline.cluster.threads import LocalThreads
from pipeline.config.graph import GraphConfig
from pipeline.config.layout import LayoutConfig
from pipeline.config.loading import run_config
from pipeline.errors import BadSource
from pipeline.ingest import ingest
from pipeline.run import run
from pipeline.steps.layout import lay_out
from pipeline.steps.parallel import Parallels
from pipeline.steps.runtime import Runtime
from pipeline.store.edges import HeldEdges, id_blocks
from pipeline.store.facts import GraphFacts
from pipeline.store.facts.run import RunFacts

CSV = "from,to,km,name\n1,2,5,a\n1,2,3,b\n2,3,1,c\n3,1,4,d\n9,9,1,e\n1,9,2,f\n"
COLUMNS = {"src": "from", "dst": "to", "weight": "km"}


def test_a_run_states_how_it_read_its_source(tmp_path, caplog, capsys):
    (tmp_path / "roads.csv").write_text(CSV)
    graph = {"source": str(tmp_path / "roads.csv"), "columns": COLUMNS}
    config = run_config("here", graph=graph, output=tmp_path / "out", stages=["bfs"], backend="cpu")
    with caplog.at_level(logging.INFO, "pipeline.reading"):
        published = run(config)
    found = RunFacts.of(published).input
    assert found.source.path == graph["source"]
    assert (found.format, found.columns, found.ignored_columns) == ("csv", COLUMNS, ["name"])
    assert (found.directed, found.directed_by, found.weight) == (True, "format", "int64")
    assert (found.self_loops, found.self_loops_kept, found.parallel_arcs, found.parallel_arcs_kept) == (1, False, 1, False)
    assert found.sources == [1]
    assert found.default_source == "highest out-degree, 2; among equals, the smallest id"
    summarise(published, config.output)
    shown, page = capsys.readouterr().out, (published.path / "report.html").read_text()
    for sentence in (
        "csv; columns src 'from', dst 'to', weight 'km'; not read: 'name'",
        "directed, an edge is an arc (by default for this format)",
        "int64, column 'km'",
        "1, dropped; the lightest of each pair stays",
        "1 (by default: highest out-degree, 2;",
    ):
        assert sentence in shown
        assert sentence.replace("'", "&#39;") in page
    assert "roads was read as: format: csv; columns src 'from'" in caplog.text
    asked = {"output": tmp_path / "out", "stages": ["bfs"], "backend": "cpu", "sources": [9], "layout": {"self_loops": "keep"}}
    found = RunFacts.of(run(run_config("here", graph=graph | {"directed": False, "parallel": "keep"}, **asked))).input
    assert (found.directed, found.directed_by) == (False, "configuration")
    assert (found.self_loops, found.self_loops_kept, found.parallel_arcs, found.parallel_arcs_kept) == (1, True, 2, True)
    assert (found.sources, found.default_source) == ([9], None)


@pytest.mark.parametrize("shards", [0, 3])
def test_kept_parallel_arcs_are_counted_for_any_number_of_ranks(shards, tmp_path):
    edges = pa.table({"src": [1, 1, 1, 2, 4, 4, 5], "dst": [2, 2, 3, 3, 1, 1, 5]})
    pq.write_table(edges, tmp_path / "edges.parquet")
    read = ingest(GraphConfig(source=str(tmp_path / "edges.parquet")), tmp_path)
    graph = lay_out(read, LayoutConfig(), Runtime(tmp_path, "cpu", LocalThreads(shards)), (), Parallels("keep"))
    assert GraphFacts.of(graph).parallel_arcs == 2
    assert GraphFacts.of(graph).parallel_arcs_dropped == 0


def test_parallel_arcs_are_those_of_one_row():
    csr = Csr(np.array([0, 0, 3, 3, 4, 6, 6]), np.array([1, 1, 1, 1, 1, 2]), None)
    assert parallel_arcs(csr) == 2
    assert parallel_arcs(Csr(np.array([0, 0]), np.array([], np.int32), None)) == 0


@pytest.mark.parametrize("held", [False, True])
@pytest.mark.parametrize("name", ["graph.parquet", "graph.csv", "graph.gr"])
def test_a_source_that_is_not_a_vertex_is_refused_before_the_layout(name, held, tmp_path, monkeypatch):
    pq.write_table(
        pa.table({"src": pa.array([1, 5], pa.uint32()), "dst": pa.array([5, 300], pa.uint16())}), tmp_path / "graph.parquet"
    )
    (tmp_path / "graph.csv").write_text("src,dst\n1,5\n5,300\n")
    (tmp_path / "graph.gr").write_text("p sp 300 2\na 1 5 1\na 5 300 1\n")
    edges_held = HeldEdges() if held else None
    edges = ingest(GraphConfig(source=str(tmp_path / name)), tmp_path, edges_held)
    runtime = Runtime(tmp_path, "cpu", LocalThreads(), edges_held or HeldEdges())
    lay_out(edges, LayoutConfig(order="source"), runtime, (300, 1, 5))
    monkeypatch.setattr("pipeline.steps.layout.store_part", None)
    for sources in ((301,), (1, 2**62), *(((2, 1),) if name != "graph.gr" else ())):
        absent = next(source for source in sources if source not in (1, 5, 300))
        with pytest.raises(BadSource, match=rf"source {absent} is not in the graph: no edge of .*{name} has it"):
            lay_out(edges, LayoutConfig(), runtime, sources)


def test_ids_of_a_file_to_which_an_edge_list_refers(tmp_path):
    pq.write_table(pa.table({"to": pa.array([5, 6], pa.uint8()), "from": [1, 2]}), tmp_path / "edges.parquet")
    edges = ingest(GraphConfig(source=str(tmp_path / "edges.parquet"), columns={"src": "from", "dst": "to"}), tmp_path / "work")
    ((src, dst),) = id_blocks(edges)
    assert (src.tolist(), dst.tolist(), dst.dtype) == ([1, 2], [5, 6], np.int64)
