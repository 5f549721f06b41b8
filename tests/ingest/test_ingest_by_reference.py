"""An edge list that refers to the Parquet file of its source: the same graph as from a copy, and never from another file."""

import os

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from kernels.layout import rules, sorting
from pipeline.cluster.threads import LocalThreads
from pipeline.config.cluster import ClusterConfig
from pipeline.config.graph import Columns, GraphConfig
from pipeline.config.layout import LayoutConfig
from pipeline.errors import BadInput, Changed, Damaged
from pipeline.ingest import ingest
from pipeline.steps.layout import lay_out
from pipeline.steps.parallel import Parallels
from pipeline.steps.runtime import Runtime
from pipeline.store import edges as store
from pipeline.store import edges_on_disk
from pipeline.store.digests import Unwritten
from pipeline.store.edges import HeldEdges
from pipeline.store.facts import EdgeFacts
from tests.edge_lists import rows_of_edges
from tests.ingest.thrift import field, footer_of, with_footer

TYPES = ["none", "int8", "int64", "uint16", "uint64", "float", "double"]


def write(path, weight="int64", rows=500, names=("src", "dst", "weight")):
    random = np.random.default_rng(3)
    columns = {names[0]: pa.array(random.integers(0, 90, rows), pa.uint32()), names[1]: random.integers(0, 2**33, rows) // 2**26}
    if weight != "none":
        drawn = random.integers(0, 99, rows)
        columns[names[2]] = -0.0 * drawn.astype(weight) if weight in ("float", "double") else pa.array(drawn).cast(weight)
    pq.write_table(pa.table(columns), path, row_group_size=64, write_page_checksum=True)


def content(folder):
    return {name: entry.blake3 for name, entry in folder.manifest.files.items()}


def graph_of(edges, work, held=None, shards=0):
    runtime = Runtime(work, "cpu", LocalThreads(shards), held or HeldEdges())
    return content(lay_out(edges, LayoutConfig(shards=2), runtime))


@pytest.mark.parametrize("weight", TYPES)
def test_referred_held_and_copied_edges_make_the_same_graph(weight, tmp_path):
    write(tmp_path / "source", weight, names=("from", "to", "km"))
    source = GraphConfig(
        source=str(tmp_path / "source"), columns=Columns(src="from", dst="to", weight=None if weight == "none" else "km")
    )
    held = HeldEdges()
    referred = ingest(source, tmp_path / "referred", held)
    copied = ingest(source, tmp_path / "copied", copy=True)
    assert (list(referred.manifest.files), list(copied.manifest.files)) == ([], ["part-00000.parquet"])
    facts = [{name: fact for name, fact in edges.facts.items() if name != "refers_to"} for edges in (referred, copied)]
    assert facts[0] == facts[1]
    assert rows_of_edges(referred).equals(rows_of_edges(copied))
    graph = graph_of(copied, tmp_path / "a")
    assert graph_of(referred, tmp_path / "b", held) == graph
    assert graph_of(referred, tmp_path / "c") == graph
    assert graph_of(referred, tmp_path / "d", shards=2) == graph_of(copied, tmp_path / "e", shards=2)


@pytest.mark.parametrize("weight", ["none", "int64", "double"])
@pytest.mark.parametrize("directed", [True, False])
@pytest.mark.parametrize("kept", [True, False])
# Positions are looked up in a table, or searched for; `share`: bytes of the arcs that are sorted at a time.
@pytest.mark.parametrize(("step", "share"), [(1, 10**6), (1, 400), (10**7, 400)])
def test_edges_that_do_not_fit_make_the_same_graph(weight, directed, kept, step, share, tmp_path, monkeypatch):
    write(tmp_path / "dense", weight)
    table = pq.read_table(tmp_path / "dense").rename_columns(["src", "dst", "weight"][: 2 + (weight != "none")])
    for name in ("src", "dst"):
        column = pa.array(table[name].to_numpy().astype(np.int64) * step)
        table = table.set_column(table.column_names.index(name), name, column)
    pq.write_table(table, tmp_path / "source", row_group_size=64)
    layout = LayoutConfig(self_loops="keep" if kept else "drop")
    parallel = Parallels("keep") if kept else Parallels()

    def graph(name):
        edges = ingest(GraphConfig(source=str(tmp_path / "source"), directed=directed), tmp_path / name)
        return content(lay_out(edges, layout, Runtime(tmp_path / name), parallel=parallel))

    expected = graph("in-memory")
    monkeypatch.setattr(edges_on_disk, "fit", lambda *_: False)
    monkeypatch.setattr(edges_on_disk, "read_edges", None)
    monkeypatch.setattr(sorting, "_BUCKET_ARCS", 16)
    monkeypatch.setattr(edges_on_disk, "share_of_arcs", lambda: share)
    monkeypatch.setattr(rules, "_BLOCK", 7)
    assert graph("on-disk") == expected


def test_edges_that_change_between_two_passes_are_refused_before_they_are_dealt(tmp_path, monkeypatch):
    write(tmp_path / "source")
    edges = edges_on_disk.EdgesOnDisk(ingest(GraphConfig(source=str(tmp_path / "source")), tmp_path / "work"))
    assert sum(block.count for block in edges.blocks()) == 500
    others = pq.read_table(tmp_path / "source")[::-1]
    pq.write_table(others, tmp_path / "source", row_group_size=64, write_page_checksum=True)
    with pytest.raises(Changed, match="changed while its edges were read"):
        list(edges.blocks())
    write(tmp_path / "source", rows=499)
    with pytest.raises((Changed, Damaged)):
        list(edges.blocks())


def test_held_edges_are_not_read_again(tmp_path, monkeypatch):
    write(tmp_path / "source.parquet")
    (tmp_path / "source.gr").write_text("p sp 3 2\na 1 2 5\na 2 3 7\n")
    monkeypatch.setattr(edges_on_disk, "read_edges", None)
    for name in ("source.parquet", "source.gr"):
        held = HeldEdges()
        edges = ingest(GraphConfig(source=str(tmp_path / name)), tmp_path / name[7:], held)
        graph_of(edges, tmp_path / name[7:], held)
        assert held.take(edges) is None


def test_edges_are_held_only_if_they_fit(tmp_path, monkeypatch):
    write(tmp_path / "source")
    monkeypatch.setattr("pipeline.runtime.memory.free_memory", lambda _: 3 * 500 * 12 - 1)
    held = HeldEdges()
    assert held.take(ingest(GraphConfig(source=str(tmp_path / "source")), tmp_path / "work", held)) is None


def test_weights_beyond_the_maximum_of_a_footer_are_read_again(tmp_path):
    weights = pa.array([2**40, 1])
    pq.write_table(pa.table({"src": [1, 2], "dst": [2, 3], "weight": weights}), tmp_path / "source")
    data = (tmp_path / "source").read_bytes()
    footer = footer_of(data)
    statistics = field(field(footer, 4)[2][1][0], 1)[2][1][2]
    field(field(field(statistics, 3)[2], 12)[2], 5)[2] = (7).to_bytes(8, "little")
    (tmp_path / "source").write_bytes(with_footer(data, footer))
    held = HeldEdges()
    edges = ingest(GraphConfig(source=str(tmp_path / "source")), tmp_path / "work", held)
    assert edges.facts["largest"]["weight"] == 2**40
    assert held.take(edges) is None
    assert rows_of_edges(edges)["weight"].equals(pa.chunked_array([weights]))


def test_large_row_groups_are_copied(tmp_path, monkeypatch):
    write(tmp_path / "source")
    monkeypatch.setattr("pipeline.ingest.formats.parquet.LARGEST_GROUP", 63)
    assert ingest(GraphConfig(source=str(tmp_path / "source")), tmp_path / "work").manifest.files


def replaced(path):
    write(path, rows=501)


def rewritten(path):
    content = bytearray(path.read_bytes())
    content[100] ^= 1
    path.write_bytes(content)


def with_its_times(path):
    status = path.stat()
    rewritten(path)
    os.utime(path, ns=(status.st_atime_ns, status.st_mtime_ns))


CHANGES = {
    "moved": lambda path: path.rename(path.with_name("elsewhere")),
    "replaced": replaced,
    "rewritten": rewritten,
    "rewritten with its times": with_its_times,
    "truncated": lambda path: os.truncate(path, 2000),
}


@pytest.mark.parametrize("shards", [0, 2])
@pytest.mark.parametrize("change", CHANGES)
def test_a_source_that_changes_before_the_layout_is_refused(change, shards, tmp_path):
    write(tmp_path / "source")
    edges = ingest(GraphConfig(source=str(tmp_path / "source")), tmp_path / "work")
    CHANGES[change](tmp_path / "source")
    with pytest.raises(BadInput, match="after its edges were checked"):
        graph_of(edges, tmp_path / "work", shards=shards)
    assert [path.name for path in (tmp_path / "work").iterdir()] == ["edges"]


@pytest.mark.parametrize("age", [0, 10**10])
def test_a_source_that_changes_during_the_layout_is_refused(age, tmp_path, monkeypatch):
    write(tmp_path / "source")
    edges = ingest(GraphConfig(source=str(tmp_path / "source")), tmp_path / "work")
    clock = store.Unwritten.__init__.__globals__["time"].time_ns
    monkeypatch.setattr("pipeline.store.digests.time.time_ns", lambda: clock() + age)  # the file was written long ago
    read = edges_on_disk.read_edges

    def read_late(*arguments):
        found = read(*arguments)
        rewritten(tmp_path / "source")
        return found

    monkeypatch.setattr(edges_on_disk, "read_edges", read_late)
    with pytest.raises(BadInput, match="changed after its edges were checked"):
        graph_of(edges, tmp_path / "work")


@pytest.mark.parametrize("written", [False, True])
def test_a_run_hashes_a_source_again_only_if_it_was_written(written, tmp_path, monkeypatch):
    write(tmp_path / "source")
    clock = store.Unwritten.__init__.__globals__["time"].time_ns
    monkeypatch.setattr("pipeline.store.digests.time.time_ns", lambda: clock() + 10**10)
    held, again = HeldEdges(keeps=False), []
    edges = ingest(GraphConfig(source=str(tmp_path / "source")), tmp_path / "work", held)
    if written:
        os.utime(tmp_path / "source")
    monkeypatch.setattr(store, "digest_of_file", lambda path: again.append(path) or EdgeFacts.of(edges).source.blake3)
    lay_out(edges, LayoutConfig(), Runtime(tmp_path / "work", cluster=LocalThreads(2), held_edges=held))
    assert bool(again) == written


def test_a_file_is_unwritten_if_it_is_old_and_keeps_its_times(tmp_path, monkeypatch):
    path = tmp_path / "file"
    path.write_text("a")
    now = path.stat().st_ctime_ns
    monkeypatch.setattr("pipeline.store.digests.time.time_ns", lambda: now)
    assert not Unwritten(path)  # the next write might come within one step of the clock
    now += 10**10
    old = Unwritten(path)
    assert old
    os.utime(path)
    assert not old
    path.unlink()
    assert not old
    assert not Unwritten(path)


@pytest.mark.parametrize(
    ("scheduler", "shards", "elsewhere"),
    [("none", 2, False), ("local", 2, False), ("tcp://127.0.0.1:8786", 2, True), ("tcp://127.0.0.1:8786", 0, False)],
)
def test_a_source_is_copied_for_ranks_elsewhere(scheduler, shards, elsewhere):
    assert ClusterConfig(scheduler=scheduler, shards=shards).elsewhere == elsewhere
