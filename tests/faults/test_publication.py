"""Publication under kills, full disks and missing permissions: a reader always sees one complete run, the old or the new."""

import errno
import itertools
import os
import random
import re
import resource
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import pandas
import pyarrow.parquet as pq
import pytest

from pipeline.errors import BadConfig
from pipeline.steps.publication.publish import open_run
from pipeline.store.workspace import workspace
from tests.counts import NIGHTLY, first_of_the_day
from tests.faults.children import die_at, outcome, stop_when, wait_for, working
from tests.steps import STAGES, identity, path_steps

STRIDE = 1 if NIGHTLY else 4  # of the moments at which a writer is killed
LARGE = 120_000  # vertices: with gaps of up to 2^30 a run of 5 MB
MEMORY = Path("/dev/shm")


@pytest.fixture
def output(tmp_path):
    return tmp_path / "output"


@pytest.fixture
def elsewhere(tmp_path):
    """A folder on another file system, if there is one: flushes are free there, and publication from there copies."""
    if not MEMORY.is_dir() or MEMORY.stat().st_dev == tmp_path.stat().st_dev:
        yield tmp_path / "elsewhere"
        return
    with tempfile.TemporaryDirectory(dir=MEMORY) as folder:
        yield Path(folder)


def versions(folder, number=3, vertices=LARGE, spread=2**30):
    """Steps that differ in their number of vertices, which identifies the run of every table."""
    return [path_steps(folder / str(extra), vertices + extra, spread=spread) for extra in range(number)]


def check_run(path):
    """Open a run, check all hashes and that all tables and the report describe one graph; return its name."""
    run = open_run(path)
    vertices = run.facts["graph"]["vertices"]
    for table in (*STAGES, "coordinates"):
        rows = pq.read_metadata(run.path / table / "part-00000.parquet").num_rows
        assert rows == vertices - (table == "mst")
    assert f"{vertices} vertices" in (run.path / "report.html").read_text()
    return run.path.name


def check_runs(output):
    """Check `latest` and every visible run; return the id of `latest`."""
    for path in (output / "runs").iterdir():
        if not path.name.startswith("."):
            assert check_run(path) == path.name
    return check_run(output / "latest")


def hidden(output):
    return [path for path in (output / "runs").iterdir() if path.name.startswith(".")]


def publish_forever(output, runs):
    while True:
        for run in runs:
            with workspace(output):
                run.publish(output, keep=3)


@pytest.mark.parametrize("kills", [10, pytest.param(100, marks=pytest.mark.nightly)])
@pytest.mark.parametrize("way", ["linked", "copied"])
def test_a_writer_killed_during_publication_leaves_complete_runs(output, elsewhere, way, kills):
    runs = versions(output.parent if way == "linked" else elsewhere)
    with workspace(output):
        runs[0].publish(output)
    assert sum(entry.bytes for entry in open_run(output / "latest").manifest.files.values()) > 4e6
    chance = random.Random(7)
    torn, seen = 0, [check_runs(output)]
    for _ in range(kills):
        began = (output / "latest").readlink()
        with working(lambda: publish_forever(output, runs)) as writer:
            if chance.random() < 0.3:  # the others are killed in a publication
                wait_for(lambda began=began: (output / "latest").readlink() != began)
                time.sleep(chance.uniform(0, 0.03))
            else:
                stop_when(lambda: hidden(output), writer, chance.uniform(0, 0.03))
        torn += bool(hidden(output))
        seen.append(check_runs(output))
    assert seen == sorted(seen)
    assert len(set(seen)) > kills // 10
    assert torn > 0.3 * kills, "too few kills hit a publication"
    with workspace(output):
        assert not hidden(output)
        runs[1].publish(output)
    assert check_runs(output) > seen[-1]


@pytest.mark.sampled
def test_a_writer_killed_before_any_file_operation_leaves_complete_runs(elsewhere):
    output = elsewhere / "output"
    small = versions(elsewhere, number=2, vertices=50, spread=1)
    for _ in range(3):
        small[0].publish(output)
    first = check_runs(output)

    for event in itertools.count(1 + first_of_the_day(STRIDE), STRIDE):
        child = os.fork()
        if child == 0:
            try:
                die_at(event)
                small[1].publish(output, keep=3)
            finally:
                os._exit(0)
        _, status = os.waitpid(child, 0)
        last = check_runs(output)
        if status == 0:
            break
        assert os.WTERMSIG(status) == signal.SIGKILL
        with workspace(output):
            assert not hidden(output)
            assert (output / "latest").readlink().name == last
    assert event > 60
    assert last > first


def test_a_reader_always_sees_one_complete_run(elsewhere):
    output = elsewhere / "output"
    runs = versions(elsewhere)
    runs[0].publish(output)

    noted, note = os.pipe()

    def publish_50():
        for number in range(50):
            if number % 5 == 4:
                os.read(noted, 1)  # wait until the reader has seen another run
            with workspace(output):
                runs[number % 3].publish(output)

    seen = [""]
    with working(publish_50) as writer:
        while os.waitid(os.P_PID, writer, os.WEXITED | os.WNOHANG | os.WNOWAIT) is None:
            seen.append(check_run(output / "latest"))
            if seen[-1] != seen[-2]:
                os.write(note, b".")
            pandas.read_parquet(output / "latest" / "wcc", columns=["labels"])
    assert seen == sorted(seen)
    assert len(set(seen)) > 10
    assert len(list((output / "runs").iterdir())) == 51


def limited(size, publish):
    def work():
        resource.setrlimit(resource.RLIMIT_FSIZE, (size, size))
        return publish()

    return work


@pytest.mark.parametrize("way", ["linked", "copied"])
def test_a_file_size_limit_leaves_the_old_run(output, elsewhere, way):
    if way == "copied" and not elsewhere.is_relative_to(MEMORY):
        pytest.skip("no second file system here")
    old, new = versions(output.parent if way == "linked" else elsewhere, number=2, vertices=2000)
    written = old.publish(output).path.rglob("manifest.json" if way == "linked" else "*.parquet")
    largest = max(path.stat().st_size for path in written)
    before = (output / "latest").readlink()
    limits = [size * largest // 25 for size in range(25)]
    for size in limits:
        error = outcome(limited(size, lambda: new.publish(output)))
        assert isinstance(error, OSError), f"limit {size}: {error}"
        assert error.errno == errno.EFBIG
        assert error.filename
        assert (output / "latest").readlink() == before
        assert [path.name for path in (output / "runs").iterdir()] == [before.name]
    check_runs(output)
    assert outcome(limited(2**30, lambda: new.publish(output).path.name)) == check_runs(output) != before.name


def test_a_full_disk_leaves_the_old_run(tmp_path):
    """In a mount namespace of its own, on a small file system in memory."""
    inside = f"mount -t tmpfs -o size=8m tmpfs {tmp_path}"
    apart = ["unshare", "--mount", *([] if os.getuid() == 0 else ["--map-root-user"]), "sh", "-c"]
    if not shutil.which("unshare") or subprocess.run([*apart, inside], capture_output=True, check=False).returncode:
        pytest.skip("mounting a file system is not permitted here")
    work = f"{inside} && exec {sys.executable} -m tests.faults.full_disk {tmp_path}"
    done = subprocess.run([*apart, work], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert int(done.stdout) >= 50


def as_nobody(work):
    """Run the work as another user, because root may write everywhere."""

    def change_and_work():
        if os.getuid() == 0:
            os.setgid(65534)
            os.setuid(65534)
        return work()

    return change_and_work


@pytest.fixture
def shared():
    """An output folder that any user can reach."""
    with tempfile.TemporaryDirectory() as folder:
        Path(folder).chmod(0o755)
        yield Path(folder) / "output"


def test_a_read_only_output_folder_is_one_clear_error(shared):
    old, new = versions(shared.parent, number=2, vertices=50, spread=1)
    before = old.publish(shared).path.name
    places = [shared, shared / "runs", shared / "steps"]
    (shared / "steps").mkdir()
    for place in places:
        place.chmod(0o555)
    try:

        def hold():
            with workspace(shared):
                raise AssertionError("held")

        error = outcome(as_nobody(hold))
        assert isinstance(error, BadConfig)
        assert str(error).startswith(f"{shared}: cannot be the output folder: Permission denied")

        error = outcome(as_nobody(lambda: new.publish(shared)))
        assert isinstance(error, PermissionError)
        assert str(error.filename).startswith(str(shared / "runs"))
    finally:
        for place in places:
            place.chmod(0o755)
    assert check_runs(shared) == before
    assert not hidden(shared)


def test_latest_that_cannot_be_replaced_leaves_the_old_run(shared):
    """The folder of runs is writable, its parent is not."""
    old, new = versions(shared.parent, number=2, vertices=50, spread=1)
    before = old.publish(shared).path.name
    shared.chmod(0o555)
    (shared / "runs").chmod(0o777)
    try:
        error = outcome(as_nobody(lambda: new.publish(shared)))
        assert isinstance(error, PermissionError)
        assert "latest" in str(error)
    finally:
        shared.chmod(0o755)
    assert check_runs(shared) == before
    assert not hidden(shared)


@pytest.mark.parametrize("thing", ["file", "folder", "dangling link", "link to a folder"])
def test_a_latest_that_is_not_ours_is_one_clear_error(output, thing):
    (steps,) = versions(output.parent, number=1, vertices=50, spread=1)
    latest = output / "latest"
    output.mkdir()
    if thing == "file":
        latest.write_text("mine")
    elif thing == "folder":
        latest.mkdir()
    else:
        latest.symlink_to("nowhere" if thing == "dangling link" else output.parent)
    before = identity(latest)
    with pytest.raises(BadConfig, match=re.escape(str(latest))):
        steps.publish(output)
    with pytest.raises(BadConfig, match=re.escape(str(latest))), workspace(output):
        pass
    assert identity(latest) == before
    assert not (output / "runs").exists()
