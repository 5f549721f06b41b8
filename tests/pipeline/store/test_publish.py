"""Publication: the contents of a run, what is refused, and how `latest` is replaced."""

import dataclasses
import datetime as dt
import json
import os
import re
import shutil
import tempfile
from pathlib import Path

import pandas
import pyarrow.parquet as pq
import pytest

from pipeline.errors import BadConfig, Damaged, ProofFailed
from pipeline.steps.publication import publish, retention
from pipeline.steps.publication.results import Results
from pipeline.store import manifest
from pipeline.store.scratch import scratch
from pipeline.store.workspace import STAMP
from pipeline.tables import files as tables
from tests.steps import STAGES, identity, path_facts, path_ids, path_steps, path_table


@pytest.fixture
def output(tmp_path):
    return tmp_path / "output"


def runs_of(output):
    return sorted(path.name for path in (output / "runs").iterdir())


def test_every_table_reads_back_through_latest(output):
    run = path_steps(output / "steps", vertices=9, weight=4).publish(output)
    for stage in STAGES:
        frame = pandas.read_parquet(output / "latest" / stage, dtype_backend="pyarrow")
        assert frame.equals(path_table(stage, path_ids(9), 4).to_pandas(types_mapper=pandas.ArrowDtype))
    assert "9 vertices" in (output / "latest" / "report.html").read_text()
    assert (output / "latest").readlink().as_posix() == f"runs/{run.path.name}"


def test_coordinates_are_a_sorted_table(output):
    path_steps(output / "steps", vertices=3).publish(output)
    assert tables.read(output / "latest" / "coordinates", ["vertex", "x", "y"]).to_pylist() == [
        {"vertex": 1, "x": 1.5, "y": 0.0}, {"vertex": 2, "x": 1.0, "y": 0.0}, {"vertex": 3, "x": 0.5, "y": 0.0},
    ]  # fmt: skip


def test_a_run_id_consists_of_time_and_hash(output):
    steps = path_steps(output / "steps")
    before = dt.datetime.now(dt.UTC).replace(microsecond=0)
    run = steps.publish(output)
    assert re.fullmatch(r"[a-zA-Z0-9-]+", run.path.name)
    stamp = dt.datetime.strptime(run.path.name[:16], STAMP).replace(tzinfo=dt.UTC)
    assert before <= stamp <= dt.datetime.now(dt.UTC)
    assert run.manifest.key.startswith(run.path.name[-8:])


def test_the_manifest_describes_the_run(output):
    run = publish.open_run(path_steps(output / "steps", vertices=9).publish(output).path)
    facts = run.facts
    assert facts["graph"] == {"name": "path", **path_facts(9).stored()}
    assert "shards" not in facts["steps"]["graph"]  # for a step, `shards` is the number of ranks
    assert set(facts["tables"]) == {*STAGES, "coordinates"}
    for stage in STAGES:
        (file,) = facts["tables"][stage]["files"]
        stored = pq.ParquetFile(run.path / file)
        assert facts["tables"][stage]["rows"] == stored.metadata.num_rows
        described = {column["name"]: column["type"] for column in facts["tables"][stage]["columns"]}
        assert described == {field.name: str(field.type) for field in stored.schema_arrow}
        assert facts["proofs"][stage]["rules"] == ["it is a path"]
        assert facts["steps"][stage]["reused"] is False
    assert set(facts["versions"]) == {"python", "graphmill", "numpy", "scipy", "numba", "pyarrow"}
    assert facts["backend"] == "cpu"
    assert facts["machine"]["cpus"] == os.cpu_count()
    assert os.uname().nodename not in json.dumps(facts)


def test_a_reused_step_is_recorded(output):
    path_steps(output / "steps").publish(output)
    again = path_steps(output / "steps").publish(output)
    assert all(step["reused"] for step in again.facts["steps"].values())


def test_an_answer_without_its_proof_is_not_published(output):
    steps = path_steps(output / "steps")
    with pytest.raises(ProofFailed, match="no proof of this answer"):
        dataclasses.replace(steps, proofs=steps.proofs[1:]).publish(output)
    other = path_steps(output / "other", weight=5)
    with pytest.raises(ProofFailed, match="no proof of this answer"):
        dataclasses.replace(steps, proofs=other.proofs).publish(output)
    assert not (output / "runs").exists()


def test_answers_of_a_graph_whose_layout_is_not_proved_are_not_published(output):
    steps = path_steps(output / "steps")
    facts = {name: fact for name, fact in steps.graph.facts.items() if name != "proof"}
    graph = dataclasses.replace(steps.graph, manifest=dataclasses.replace(steps.graph.manifest, facts=facts))
    with pytest.raises(ProofFailed, match="no proof of its layout"):
        dataclasses.replace(steps, graph=graph).publish(output)


def test_an_answer_with_a_failed_proof_is_not_published(output):
    steps = path_steps(output / "steps")
    broken = dataclasses.replace(steps.proofs[0].manifest, facts={**steps.proofs[0].facts, "holds": False})
    proofs = [dataclasses.replace(steps.proofs[0], manifest=broken), *steps.proofs[1:]]
    with pytest.raises(ProofFailed):
        dataclasses.replace(steps, proofs=proofs).publish(output)


@pytest.mark.parametrize("harm", ["change", "remove"])
@pytest.mark.parametrize("step", ["bfs/part-00000.parquet", "edges/coordinates.parquet", "report/report.html"])
def test_a_file_that_changed_since_its_step_is_not_published(output, step, harm):
    path_steps(output / "steps", weight=2).publish(output)
    before = (output / "latest").readlink()
    steps = path_steps(output / "steps", weight=3)
    table = output / "steps" / step
    if harm == "change":
        content = bytearray(table.read_bytes())
        content[len(content) // 2] ^= 1
        table.write_bytes(content)
    else:
        table.unlink()
    with pytest.raises(Damaged, match=re.escape(str(table))):
        steps.publish(output)
    assert (output / "latest").readlink() == before
    assert runs_of(output) == [before.name]


def test_run_ids_ascend_within_a_second_and_when_the_clock_steps_back(output):
    steps = path_steps(output / "steps")
    future = output / "runs" / "20990101T000000Z-00000000"
    ids = [steps.publish(output).path.name for _ in range(3)]
    shutil.copytree(output / "runs" / ids[-1], future)
    ids += [future.name, steps.publish(output).path.name]
    assert ids == sorted(set(ids))
    assert (output / "latest").readlink().name == ids[-1]


def test_keep_removes_the_oldest(output, monkeypatch):
    monkeypatch.setattr(retention, "READABLE", dt.timedelta(-1))  # names of runs within a second are ahead of time
    steps = path_steps(output / "steps")
    ids = [steps.publish(output).path.name for _ in range(4)]
    ids.append(steps.publish(output, keep=2).path.name)
    assert runs_of(output) == ids[-2:]
    assert publish.open_run(output / "latest").path.name == ids[-1]


def test_keep_leaves_a_run_for_an_hour_after_the_next_one(output):
    """A reader that resolved `latest` reads on, also if a run is published every second."""
    steps = path_steps(output / "steps")
    old = steps.publish(output).path

    def renamed(run, minutes):
        stamp = (dt.datetime.now(dt.UTC) - dt.timedelta(minutes=minutes)).strftime(STAMP)
        return run.rename(run.with_name(f"{stamp}-{run.name[-8:]}"))

    first, second, third = (renamed(steps.publish(output).path, minutes) for minutes in (70, 61, 30))
    old = renamed(old, 200)
    last = steps.publish(output, keep=1).path
    assert runs_of(output) == sorted(path.name for path in (second, third, last))
    assert not old.exists() and not first.exists()
    publish.open_run(third)


FUTURE = ("20990101T000000Z", "21000228T235959Z")


@pytest.mark.parametrize("wrong_clocks", [FUTURE[:1], FUTURE])
@pytest.mark.parametrize("created", ["now", "then"])
def test_a_run_with_a_time_in_the_future_does_not_end_retention(output, wrong_clocks, created, caplog):
    """All later runs are named after it; when they were published their manifests state."""
    steps, runs = path_steps(output / "steps"), output / "runs"
    steps.publish(output)
    for stamp in wrong_clocks:
        run = steps.publish(output).path
        content = json.loads((run / "manifest.json").read_text())
        del content["seal"]
        if created == "then":
            content["created"] = dt.datetime.strptime(stamp, STAMP).replace(tzinfo=dt.UTC).isoformat()
        manifest.seal(run, content)
        run.rename(runs / f"{stamp}-{run.name[-8:]}")
    before, later = runs_of(output), [steps.publish(output).path.name for _ in range(3)]
    assert later == sorted(later) and later[0] > max(wrong_clocks) and "in the future" in caplog.text
    with scratch(runs) as removed:
        gone, kept = retention.retire(runs, 1, removed, at_least=dt.timedelta())
    assert gone == [*before, *later[:-1]] and not kept and runs_of(output) == [later[-1]]


def test_runs_that_are_all_in_the_future_stay(output):
    """Nothing tells when they were replaced, so a reader may still use them."""
    ids = [f"20990101T00000{second}Z-00000000" for second in range(3)]
    kept = retention.reasons_to_keep(ids, 1, {}, lambda _: None, dt.timedelta())
    assert "not known" in kept[ids[0]] and "not known" in kept[ids[1]] and kept[ids[2]] == "it is the newest"


@pytest.mark.parametrize("name", ["20260231T000000Z-00000000", "20261399T996199Z-00000000", "00000000T000000Z-00000000"])
@pytest.mark.parametrize("kind", ["run", "folder", "link", "dangling", "fifo"])
def test_planted_folders_are_neither_runs_nor_removed(output, name, kind, monkeypatch):
    monkeypatch.setattr(retention, "READABLE", dt.timedelta(-1))  # names of runs within a second are ahead of time
    steps = path_steps(output / "steps")
    run, planted = steps.publish(output).path, output / "runs" / name
    if kind == "run":
        shutil.copytree(run, planted)
    elif kind == "folder":
        planted.mkdir()
        planted = planted.rename(planted.with_name("20200101T000000Z-00000000"))  # like a run's, but without a manifest
    elif kind == "fifo":
        os.mkfifo(planted)
    else:
        planted.symlink_to(run if kind == "link" else "nowhere")
    before = identity(planted)
    last = steps.publish(output, keep=1).path
    assert set(runs_of(output)) == {planted.name, last.name}
    assert identity(planted) == before


def test_a_run_of_the_last_year_is_one_clear_error(output):
    steps = path_steps(output / "steps")
    shutil.copytree(steps.publish(output).path, output / "runs" / "99991231T235959Z-00000000")
    with pytest.raises(BadConfig, match="runs: has a run of the year 9999"):
        steps.publish(output)


@pytest.mark.parametrize("kind", ["fifo", "link", "dangling", "folder"])
@pytest.mark.parametrize("file", ["bfs/part-00000.parquet", "edges/coordinates.parquet", "report/report.html"])
def test_a_step_file_replaced_by_something_else_is_not_published(output, file, kind):
    steps, path = path_steps(output / "steps"), output / "steps" / file
    moved = path.rename(output / "moved")
    if kind == "fifo":
        os.mkfifo(path)
    elif kind == "folder":
        path.mkdir()
    else:
        path.symlink_to(moved if kind == "link" else "nowhere")
    with pytest.raises(Damaged, match=re.escape(str(path))):
        steps.publish(output)
    assert not (output / "latest").exists() and not runs_of(output)


def test_keep_leaves_folders_that_are_not_runs(output, monkeypatch):
    monkeypatch.setattr(retention, "READABLE", dt.timedelta(-1))
    steps = path_steps(output / "steps")
    steps.publish(output)
    (output / "runs" / "notes").mkdir()
    last = steps.publish(output, keep=1).path.name
    assert runs_of(output) == [last, "notes"]


@pytest.mark.parametrize("kind", ["folder", "file", "link", "dangling"])
def test_a_latest_that_is_not_ours_is_refused_and_kept(output, kind):
    steps = path_steps(output / "steps")
    latest = output / "latest"
    if kind == "folder":
        latest.mkdir()
    elif kind == "file":
        latest.write_text("mine")
    else:
        latest.symlink_to(output if kind == "link" else "nowhere")
    before = identity(latest)
    with pytest.raises(BadConfig, match=re.escape(str(latest))):
        steps.publish(output)
    assert identity(latest) == before
    assert not (output / "runs").exists()


def test_a_link_to_a_removed_run_is_replaced(output):
    steps = path_steps(output / "steps")
    shutil.rmtree(steps.publish(output).path)
    run = steps.publish(output)
    assert publish.open_run(output / "latest").path == run.path.resolve()


def test_files_are_linked_not_copied(output):
    steps = path_steps(output / "steps")
    run = steps.publish(output)
    for answer in steps.answers:
        (source,) = tables.files(answer.path)
        (published,) = tables.files(run.path / answer.manifest.step)
        assert source.samefile(published)


def test_several_files_of_a_table_have_names_of_their_own_in_each_run(output):
    runs = [path_steps(output / "steps", weight=weight, stages=("sssp",), files=3).publish(output) for weight in (3, 4, 4)]
    names = [[path.name for path in tables.files(run.path / "sssp")] for run in runs]
    assert names[1] == names[2] and not set(names[0]) & set(names[1])
    assert all(re.fullmatch(rf"part-0000{number}-[0-9a-f]{{16}}\.parquet", name) for number, name in enumerate(names[0]))
    assert tables.read(runs[0].path / "sssp").equals(path_table("sssp", path_ids(10), 3))


def test_files_are_copied_across_file_systems(output):
    memory = Path("/dev/shm")
    if not memory.is_dir() or memory.stat().st_dev == output.parent.stat().st_dev:
        pytest.skip("no second file system here")
    with tempfile.TemporaryDirectory(dir=memory) as elsewhere:
        steps = path_steps(Path(elsewhere))
        run = steps.publish(output)
    assert publish.open_run(run.path).manifest.files == run.manifest.files


def test_a_run_without_report_and_coordinates(output):
    steps = path_steps(output / "steps", coordinates=False, stages=("wcc",))
    run = publish.publish(output, Results("path", steps.edges, steps.graph, steps.answers, steps.proofs))
    assert set(publish.open_run(run.path).manifest.files) == {"wcc/part-00000.parquet"}


def test_a_changed_run_is_damaged(output):
    run = path_steps(output / "steps").publish(output)
    (run.path / "bfs" / "part-00001.parquet").write_bytes(b"PAR1")
    with pytest.raises(Damaged, match=re.escape("part-00001.parquet: not in the manifest")):
        publish.open_run(output / "latest")
