"""`graphmill change`: tables equal those of a rebuild, rows that cannot be applied are refused, and no file is applied twice."""

import gzip
import re
import shutil
import signal
import subprocess
import sys
import time

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from pipeline.changes import change, compaction
from pipeline.changes.state import newest
from pipeline.cli.command import app
from pipeline.config.run import RunConfig
from pipeline.errors import AlreadyApplied, BadConfig, BadInput, Damaged, ProofFailed, TooLarge
from pipeline.inspection import estimate
from pipeline.run import run
from pipeline.runtime import memory
from pipeline.steps.publication.target import LATEST
from pipeline.store import deltas, digests, manifest, vertices
from pipeline.store.deltas.history import history_of
from pipeline.store.digests import digest_of_file
from pipeline.store.facts import GraphFacts
from pipeline.store.facts.run import RunFacts
from pipeline.store.vertices import open_vertices
from pipeline.tables import files as tables
from tests.counts import NIGHTLY
from tests.ingest.thrift import field, footer_of, with_footer
from tests.pipeline.changes.histories import differing, history, stopping
from tests.pipeline.products.calls import matrix_into

EDGES = "src,dst,weight\n1,2,5\n2,3,1\n3,1,2\n4,5,7\n5,5,1\n"
CHANGES = "op,src,dst,weight\ninsert,1,3,4\ndelete,4,5,\nupdate,2,3,9\ninsert,9,1,2\n"
CHANGED = "src,dst,weight\n1,2,5\n2,3,9\n3,1,2\n1,3,4\n9,1,2\n4,4,0\n5,5,0\n"


@pytest.mark.sampled
@pytest.mark.parametrize("seed", range(1000 if NIGHTLY else 4))
def test_tables_of_a_history_are_those_of_a_rebuild(seed, tmp_path):
    assert history(seed, tmp_path, 50 if NIGHTLY else 3, 5 if NIGHTLY else 2) == []


@pytest.mark.sampled
@pytest.mark.parametrize("seed", range(100 if NIGHTLY else 1))
def test_ranks_open_a_changed_graph(seed, tmp_path):
    assert history(seed, tmp_path, 20 if NIGHTLY else 2, 5 if NIGHTLY else 2, cluster={"shards": 3}, stages=["wcc"]) == []


def config(folder, source, out="out", **options):
    (folder / "edges.csv").write_text(source, "utf-8")
    values = {"graph": {"source": str(folder / "edges.csv")}, "output": folder / out, "stages": ["wcc", "sssp"], "backend": "cpu"}
    return RunConfig.model_validate(values | {"sources": [1]} | options)


@pytest.fixture(scope="module")
def base(tmp_path_factory):
    folder = tmp_path_factory.mktemp("base")
    run(config(folder, EDGES))
    return folder


@pytest.fixture
def out(base, tmp_path):
    """The output folder of a run that a test may change."""
    shutil.copytree(base, tmp_path, symlinks=True, dirs_exist_ok=True)
    return tmp_path / "out"


def file_of(out, content, name="changes.csv"):
    path = out.with_name(name)
    path.write_text(content, "utf-8")
    return path


def test_the_next_run_has_the_changes_and_names_its_parent(out, monkeypatch):
    monkeypatch.setattr(compaction, "SHARE", 100)
    parent = manifest.read(out / "steps" / "graph")
    published = change(out, file_of(out, CHANGES))
    rebuilt = run(config(out.parent, CHANGED, "rebuilt"))
    assert differing(published.path, rebuilt.path) == []
    assert (out / "latest").resolve() == published.path
    state = RunFacts.of(published).graph.state
    assert (state.number, state.parent, state.file) == (1, parent.digest, "changes.csv")
    assert history_of(published) == [("changes.csv", digest_of_file(out.with_name("changes.csv")))]
    assert (state.inserted, state.deleted, state.updated, state.vertices, state.violations) == (2, 1, 1, 1, {})
    asked = {"sources": str(file_of(out, "9\n", "from.csv")), "targets": str(file_of(out, "3\n", "to.csv")), "backend": "cpu"}
    distances = matrix_into(str(out), out.with_name("matrix"), **asked)
    assert tables.read(distances.path).to_pylist() == [{"source": 9, "target": 3, "distance": 6}]
    again = change(out, file_of(out, "op,src,dst,weight\ndelete,9,1,\n", "second.csv"))
    assert RunFacts.of(again).graph.state.parent == manifest.read(out / "steps" / "graph-1").digest
    assert GraphFacts.of(manifest.read(out / "steps" / "graph-2")).delta.batches == [4, 1]


def test_no_manifest_grows_from_night_to_night(out):
    found = []
    for night in range(24):
        row = f"insert,1,30,{night + 1}" if night % 2 == 0 else f"update,1,2,{night}\ndelete,1,30,"
        published = change(out, file_of(out, f"op,src,dst,weight\n{row}\n", f"a-long-name-of-night-{night:02}.csv"))
        graph = newest(out, LATEST).steps()[1]
        found.append([manifest.file_of(folder).stat().st_size for folder in (published.path, graph.path)])
    early, late = (np.max(found[first : first + 8], axis=0) for first in (8, 16))
    assert (late - early < 16).all(), found
    assert [applied.file for applied in history_of(published)] == [f"a-long-name-of-night-{night:02}.csv" for night in range(24)]


@pytest.mark.parametrize(
    ("rows", "message"),
    [
        ("delete,1,3,\n", "line 2: delete 1 -> 3: the graph has no such edge"),
        ("insert,2,9,1\nupdate,3,2,1\n", "line 3: update 3 -> 2: the graph has no such edge"),
        ("insert,1,2,1\n", "line 2: insert 1 -> 2: the graph has this edge already"),
        ("delete,7,1,\n", "line 2: delete 7 -> 1: a vertex is not in the graph"),
        ("update,1,2,1\ndelete,1,2,\n", "line 3: delete 1 -> 2: an earlier row of the file changes the same edge"),
        ("delete,5,5,\n", "line 2: delete 5 -> 5: the graph has no such edge"),
        ("remove,1,2,\n", "line 2: op 'remove' is not one of delete, insert, update"),
        ("insert,1,-3,1\n", "line 2: dst '-3' is not in 0..9223372036854775807"),
        ("insert,1,x,1\n", "line 2: dst 'x' is not an integer"),
        ("insert,1,,1\n", "line 2: dst '' is not an integer"),
        ("insert,3,2,\n", "line 2: weight is missing"),
        ("delete,1,2,\n\ninsert,0x10,2,1\n", "line 4: src '0x10' is not an integer"),
        ("delete,1,2,\n\ndelete,1,7,\n", "line 4: delete 1 -> 7: a vertex is not in the graph"),
        ('insert,1,3,"4\n"\n', "line 2: unterminated quote: 'insert,1,3,\"4'"),
        ("insert,1,99999999999999999999,1\n", "line 2: dst '99999999999999999999' is not in 0..9223372036854775807"),
        ("insert,3,2,1,5\n", "line 2: 5 fields, expected 4: 'insert,3,2,1,5'"),
        (
            "insert,3,2,1.5\n",
            "line 2: weight '1.5' is not an integer, "
            "but the weights of this graph are integers; for others run the changed source",
        ),
        ("insert,3,2,-1\n", "line 2: weight '-1' is not in 0..9223372036854775807"),
    ],
)
def test_a_row_that_cannot_be_applied_is_refused_and_nothing_changes(rows, message, out):
    before = (out / "latest").resolve()
    with pytest.raises(BadInput) as caught:
        change(out, file_of(out, "op,src,dst,weight\n" + rows))
    assert str(caught.value).endswith(f"changes.csv: {message}")
    assert (out / "latest").resolve() == before
    assert not (out / "steps" / "graph-1").exists()


def test_rows_that_cannot_be_applied_are_counted(out):
    rows = "delete,1,3,\ndelete,7,1,\ninsert,8,9,1\ninsert,8,9,2\ninsert,1,2,1\ndelete,4,5,\n"
    state = RunFacts.of(change(out, file_of(out, "op,src,dst,weight\n" + rows), count_violations=True)).graph.state
    assert state.violations == {"missing_edge": 1, "unknown_vertex": 1, "repeated": 1, "existing_edge": 1}
    assert (state.inserted, state.deleted, state.vertices) == (1, 1, 2)


def test_a_file_is_applied_once(out):
    path = file_of(out, CHANGES)
    first = change(out, path)
    second = change(out, file_of(out, "op,src,dst,weight\ninsert,4,5,1\ndelete,1,3,\ndelete,9,1,\nupdate,2,3,1\n", "second.csv"))
    with pytest.raises(AlreadyApplied, match=f"was already applied, as file 1 of 2 .* latest is {second.path.name}"):
        change(out, path)
    assert RunFacts.of(change(out, path, again=True)).graph.state.number == 3
    assert differing(first.path, (out / "latest").resolve()) == []


def test_a_file_without_rows_may_come_again(out):
    for number in (1, 2):
        state = RunFacts.of(change(out, file_of(out, "op,src,dst,weight\n"))).graph.state
        assert (state.number, state.inserted, state.deleted) == (number, 0, 0)


def test_an_interrupted_run_leaves_the_old_state_and_any_file_can_follow(out):
    before = (out / "latest").resolve()

    path, other = file_of(out, CHANGES), file_of(out, "op,src,dst,weight\ndelete,1,2,\n", "other.csv")
    for _ in range(2):
        with pytest.raises(InterruptedError):
            change(out, path, call=stopping("publish"))
    assert (out / "latest").resolve() == before
    assert RunFacts.of(change(out, other)).graph.state.number == 1
    assert RunFacts.of(change(out, path)).graph.state.number == 2


@pytest.mark.sampled
@pytest.mark.parametrize("moment", [place / 100 for place in range(300)] if NIGHTLY else [0.9])
def test_a_killed_process_leaves_one_complete_state(moment, out):
    path = file_of(out, CHANGES)
    before = (out / "latest").resolve()
    process = subprocess.Popen([sys.executable, "-m", "pipeline.cli", "change", str(out), str(path)], stderr=subprocess.DEVNULL)
    time.sleep(moment)
    process.send_signal(signal.SIGKILL)
    process.wait()
    latest = (out / "latest").resolve()
    manifest.check(manifest.read(latest))
    if latest == before:
        change(out, path)
    else:
        with pytest.raises(AlreadyApplied):
            change(out, path)
    rebuilt = run(config(out.parent, CHANGED, "rebuilt"))
    assert differing((out / "latest").resolve(), rebuilt.path) == []


def test_a_wrong_merge_is_not_published(out, monkeypatch):
    true = deltas.merge_pairs
    monkeypatch.setattr(deltas, "merge_pairs", lambda csr, changes, *rest: true(csr, changes.within(range(1, 10)), *rest))
    with pytest.raises(ProofFailed, match="changes: "):
        change(out, file_of(out, CHANGES))
    assert not (out / "steps" / "graph-1").exists()


@pytest.fixture(scope="module")
def path(tmp_path_factory):
    """A path of 4,000 vertices in four shards."""
    folder = tmp_path_factory.mktemp("path")
    edges = "".join(f"{vertex},{vertex + 1},{vertex % 7}\n" for vertex in range(4000))
    run(config(folder, "src,dst,weight\n" + edges, layout={"shards": 4, "order": "source"}, stages=["wcc"]))
    return folder


def changed(path, tmp_path, vertices):
    """The state after edges from some vertices, and its files that the state before does not have."""
    shutil.copytree(path, tmp_path, symlinks=True, dirs_exist_ok=True)
    rows = "".join(f"{vertex},{vertex + 9},{vertex % 5}\n" for vertex in vertices)
    changes = file_of(tmp_path / "out", "op,src,dst,weight\n" + re.sub("^", "insert,", rows.rstrip(), flags=re.MULTILINE) + "\n")
    published = change(tmp_path / "out", changes)
    rebuilt = config(tmp_path, (path / "edges.csv").read_text() + rows, "rebuilt", stages=["wcc"])
    assert differing(published.path, run(rebuilt).path) == []
    state = manifest.read(tmp_path / "out" / "steps" / "graph-1")
    return state, {name for name in state.manifest.files if (state.path / name).stat().st_nlink == 1}, changes


def test_a_night_writes_about_as_much_as_its_changes(path, tmp_path):
    state, written, changes = changed(path, tmp_path, range(1, 100, 2))
    assert written == {"changes-00001.arrow"}
    assert state.manifest.files["changes-00001.arrow"].bytes <= 3 * changes.stat().st_size


def test_the_stored_graph_is_checked_once_and_the_edges_are_not_read(out, monkeypatch):
    read, true = [], digests._digest_of_small

    def noted(buffers, path):
        read.append(path)
        return true(buffers, path)

    monkeypatch.setattr(digests, "_digest_of_small", noted)
    monkeypatch.setattr(compaction, "SHARE", 100)
    with pytest.raises(InterruptedError):
        change(out, file_of(out, CHANGES), call=stopping("wcc"))
    graph = manifest.read(out / "steps" / "graph")
    stored = {graph.path / name for name in graph.manifest.files}
    assert sorted(path for path in read if path in stored) == sorted(stored)
    others = {path.name for path in read if path not in stored}
    assert others <= {"changes.csv", "changes-00001.arrow", "new-vertices.npy", "applied.jsonl", tables.file_name(0)}
    assert not [path for path in read if path.parent == out / "steps" / "edges"]
    state = manifest.read(out / "steps" / "graph-1")
    manifest.check(state)
    assert open_vertices(state)[1] is open_vertices(state)[1]  # computed once
    rows = graph.path / "rows_by_id.npy"
    rows.write_bytes(rows.read_bytes()[::-1])
    with pytest.raises(Damaged, match=re.escape(rows.name)):
        change(out, file_of(out, CHANGES))


def test_the_vertices_of_a_state_are_computed_once(out, monkeypatch):
    """The step computed them for the merge, for the proof, and a third time when it had its digest: 1 s of a night."""
    computed, true = [], deltas.Delta.degrees
    monkeypatch.setattr(deltas.Delta, "degrees", lambda *of: computed.append(of) or true(*of))
    monkeypatch.setattr(vertices, "_computed", {})  # of another test
    monkeypatch.setattr(compaction, "SHARE", 100)
    change(out, file_of(out, CHANGES))
    assert len(computed) == 1
    change(out, file_of(out, "op,src,dst,weight\ninsert,9,2,2\n", "more.csv"))
    assert len(computed) == 2


def test_a_changed_edge_is_copied_to_the_gpu_once(tmp_path, monkeypatch):
    """The host made two arcs of each edge, of all batches since the source, and copied both."""
    monkeypatch.setattr(compaction, "SHARE", 9)
    source = {"source": str(tmp_path / "edges.csv"), "directed": False}
    run(config(tmp_path, EDGES, graph=source, stages=["wcc"]))
    for name, row in (("1.csv", "insert,1,4,4"), ("2.csv", "delete,1,4,")):
        change(tmp_path / "out", file_of(tmp_path / "out", f"op,src,dst,weight\n{row}\n", name))
    state, brought = newest(tmp_path / "out", LATEST).steps()[1], []
    monkeypatch.setattr(deltas, "bring", lambda array, backend: brought.append(len(array)) or array)
    _, rows_by_id, *_ = open_vertices(state)
    arcs = deltas.delta_of(state).arcs("out", rows_by_id, "cpu")
    assert brought == [2, 2, 2, 2] and len(arcs.rows) == 2


def test_only_shards_with_many_changes_are_written_anew(path, tmp_path):
    state, written, _ = changed(path, tmp_path, [*range(100, 260, 2), 3500])
    assert {name.partition("/")[0] for name in written} == {"changes-00001.arrow", "shard-00000"}
    assert GraphFacts.of(state).delta.applied == [1, 1, 1, 0]


def test_a_parquet_file_that_contradicts_itself_is_refused(out):
    path = out.with_name("changes.parquet")
    rows = {"op": ["insert"] * 9, "src": [1] * 9, "dst": [*range(11, 20)], "weight": [1] * 9}
    pq.write_table(pa.table(rows), path)
    content = path.read_bytes()
    footer = footer_of(content)
    field(footer, 3)[2] = 1  # rows of the file, of 9 in its row group
    path.write_bytes(with_footer(content, footer))
    with pytest.raises(BadInput, match="its footer has 1 rows, but its row groups have 9"):
        change(out, path)
    pq.write_table(pa.table(rows | {"weight": [1.5] * 9}), path)
    with pytest.raises(BadInput, match="column 'weight' is double, but the weights of this graph are integers"):
        change(out, path)
    pq.write_table(pa.table(rows | {"src": ["1"] * 9}), path)
    with pytest.raises(BadInput, match="column 'src' is string, but the ids of this graph are integers"):
        change(out, path)
    path.write_bytes(content[:-9])
    with pytest.raises(BadInput, match="is not a complete Parquet file"):
        change(out, path)


def test_files_in_other_formats(out):
    tables = pa.table({"weight": [4, None], "dst": [3, 5], "op": ["insert", "delete"], "src": [1, 4]})
    packed = file_of(out, "", "changes.csv.gz")
    packed.write_bytes(gzip.compress(b"src\top\tdst\tweight\n1\tinsert\t3\t4\n", 1))
    pq.write_table(tables, out.with_name("changes.parquet"))
    assert RunFacts.of(change(out, out.with_name("changes.parquet"))).graph.state.inserted == 1
    with pytest.raises(BadInput, match="no column 'op', or several, among"):
        change(out, packed)
    packed.rename(packed.with_name("changes.tsv.gz"))
    with pytest.raises(BadInput, match="line 2: insert 1 -> 3: the graph has this edge already"):
        change(out, packed.with_name("changes.tsv.gz"))


def test_a_snapshot_gives_the_changes_that_lead_to_it(out):
    snapshot = file_of(out, CHANGED.replace("4,4,0\n", ""), "snapshot.csv")
    state = RunFacts.of(published := change(out, snapshot, snapshot=True)).graph.state
    assert (state.inserted, state.deleted, state.updated, state.vertices) == (2, 1, 1, 1)
    assert differing(published.path, run(config(out.parent, CHANGED, "rebuilt")).path) == []
    with pytest.raises(AlreadyApplied):
        change(out, snapshot, snapshot=True)
    with pytest.raises(BadInput, match="has another type of weights than the graph: None, not int64"):
        change(out, file_of(out, "src,dst\n1,2\n", "other.csv"), snapshot=True)


def test_large_weights_of_a_snapshot_are_not_rounded(tmp_path):
    run(config(tmp_path, EDGES))
    snapshot = file_of(tmp_path / "out", EDGES.replace("2,3,1", f"2,3,{2**53 + 1}"), "snapshot.csv")
    published = change(tmp_path / "out", snapshot, snapshot=True)
    assert pq.read_table(published.path / "sssp").column("distance").to_pylist() == [0, 5, 2**53 + 6, None, None]


def test_a_snapshot_adds_vertices_without_edges(tmp_path):
    for name, size, loops in (("first", 4, "2 2 3"), ("second", 6, "2 2 3\n3 3 1\n5 5 9")):
        lines = f"%%MatrixMarket matrix coordinate integer general\n{size} {size} {len(loops.splitlines()) + 1}\n1 2 5\n{loops}\n"
        (tmp_path / f"{name}.mtx").write_text(lines, "utf-8")

    def of(name):
        asked = {"graph": {"source": str(tmp_path / f"{name}.mtx")}, "output": tmp_path / name, "layout": {"self_loops": "keep"}}
        return run(RunConfig.model_validate(asked | {"stages": ["wcc", "sssp"], "backend": "cpu"}))

    of("first")
    published = change(tmp_path / "first", tmp_path / "second.mtx", snapshot=True)
    assert (differing(published.path, of("second").path), RunFacts.of(published).graph.state.inserted) == ([], 2)


def test_changes_need_a_run_and_its_steps(out, tmp_path):
    path = file_of(out, CHANGES)
    with pytest.raises(BadConfig, match="is not a link to a run"):
        change(out, path, publish_as="weekly")
    shutil.rmtree(out / "steps" / "graph")
    with pytest.raises(BadConfig, match="changes need the graph that this run was made from"):
        change(out, path)


def test_two_links_do_not_replace_the_graphs_of_each_other(tmp_path):
    run(config(tmp_path, EDGES))
    out, refused = tmp_path / "out", "latest names a run of changes, too, .*; use an output folder for each of both, or remove"
    changes, none = file_of(out, CHANGES), file_of(out, "op,src,dst,weight\n", "none.csv")
    first = change(out, changes)
    run(config(tmp_path, EDGES, publish_as="weekly"))
    with pytest.raises(BadConfig, match=refused):
        change(out, changes, publish_as="weekly")
    second = change(out, none)  # as long as weekly has no changes
    assert RunFacts.of(second).graph.state.parent == first.manifest.inputs["graph"]
    (out / "latest").unlink()
    change(out, changes, publish_as="weekly")


def test_the_source_is_neither_needed_nor_measured(out, monkeypatch):
    for module in (estimate, memory):
        monkeypatch.setattr(module, "free_disk", lambda _: 1)
    source = out.with_name("edges.csv")
    source.write_text(EDGES + "6,7,1\n" * 100)
    change(out, file_of(out, CHANGES))
    source.unlink()
    change(out, file_of(out, "op,src,dst,weight\ndelete,1,2,\n", "more.csv"))
    with pytest.raises(TooLarge, match="of disk"):
        run(config(out.parent, EDGES + "6,7,1\n"))


def test_the_command(out, capsys):
    app(["change", str(out), str(file_of(out, CHANGES))], result_action="return_value")
    assert "every answer proved" in capsys.readouterr().out
