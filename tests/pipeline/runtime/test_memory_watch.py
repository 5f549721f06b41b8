"""A run that takes too much memory ends with a message, and not by the kernel's hand."""

import errno
import mmap
import os
import re
import resource
import subprocess
import sys
import threading

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from pipeline import addresses
from pipeline.config.loading import run_config
from pipeline.errors import BadConfig, TooLarge, message
from pipeline.runtime import memory, memory_watch
from pipeline.signals import apart
from tests.pipeline.runtime.limits import NoGroups, control_group, limited_runs
from tests.project.test_layout import ROOT

MIB = 2**20
EDGES = 2_000_000
# Two threads compute outside of Python, and one in Python that has a name: the first stand still while the last continues.
SUSPENDED = """
import hashlib, os, threading, time
from pipeline.runtime.suspension import suspend_threads
counts, block = [0, 0, 0], bytes(2**16)
def hash_on(of):
    while True:
        hashlib.sha256(block)
        counts[of] += 1
def serve():
    while True:
        time.sleep(0.0001)
        counts[2] += 1
for of in (0, 1):
    threading.Thread(target=hash_on, args=(of,), daemon=True).start()
threading.Thread(target=serve, name="server", daemon=True).start()
while min(counts) < 10:
    time.sleep(0.001)
suspended = suspend_threads()
before = list(counts)
while counts[2] < before[2] + 100:
    time.sleep(0.001)
print(f"{suspended} suspended, the others continue" if counts[:2] == before[:2] else counts, flush=True)
os._exit(0)
"""


@pytest.fixture(scope="module")
def wide(tmp_path_factory):
    """A graph with many vertices for its edges."""
    ends = np.random.default_rng(1).integers(0, EDGES, (2, EDGES))
    path = tmp_path_factory.mktemp("wide") / "wide.parquet"
    pq.write_table(pa.table({"src": ends[0], "dst": ends[1], "weight": ends.sum(axis=0) % 100}), path)
    return path


def ended(wide, tmp_path, *options, before=lambda: None):
    """The exit code and the last line of a run."""
    command = [sys.executable, "-m", "pipeline.cli", "run", wide, "--out", tmp_path / "out", "--backend", "cpu", *options]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, preexec_fn=before, check=False)
    return done.returncode, done.stderr.splitlines()[-1]


@pytest.mark.parametrize("limit", ["250 MB", "290 MB"])
def test_a_run_does_not_exceed_its_own_limit(wide, tmp_path, limit):
    (tmp_path / "run.toml").write_text(
        f'output = "out"\nstages = ["mst", "sssp"]\nbackend = "cpu"\n[graph]\nsource = "{wide}"\n[limits]\nmemory = "{limit}"\n'
    )
    command = [sys.executable, "-m", "pipeline.cli", "run", tmp_path / "run.toml"]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    assert done.returncode == 1
    assert (
        "of memory, and" in done.stderr
        or f"would take more memory than the {limit[:3]}.0 MB that `[limits] memory`" in done.stderr
    )
    assert not (tmp_path / "out" / "latest").exists()


@pytest.mark.nightly
def test_a_layout_reads_edges_from_the_disk_where_they_do_not_fit(tmp_path):
    edges = 16_000_000
    ends = np.random.default_rng(2).integers(0, 2**19, (2, edges))
    pq.write_table(pa.table({"src": ends[0], "dst": ends[1]}), tmp_path / "source.parquet", row_group_size=2**19)
    tables = []
    for name, limit in (("held", "2 GB"), ("disk", "460 MB")):  # 31 bytes an edge, and what the interpreter takes, or 17
        config = (
            f'output = "{name}"\nstages = ["wcc"]\nbackend = "cpu"\n[limits]\nmemory = "{limit}"\n[graph]\ndirected = false\n'
        )
        (tmp_path / "run.toml").write_text(f'{config}source = "{tmp_path}/source.parquet"\n')
        subprocess.run([sys.executable, "-m", "pipeline.cli", "run", tmp_path / "run.toml"], cwd=ROOT, check=True)
        tables.append([path.read_bytes() for path in sorted((tmp_path / name / "latest" / "wcc").glob("*.parquet"))])
    assert tables[0] == tables[1]


@pytest.mark.nightly  # on a machine that does much else, a watcher may wake too late
@pytest.mark.parametrize("limit", [180, 300, 450])
def test_a_control_group_with_too_little_memory_is_named(wide, tmp_path, limit):
    try:
        with control_group(limit * MIB) as group:
            join = lambda: (group / "cgroup.procs").write_text(str(os.getpid()))  # noqa: E731
            code, line = ended(wide, tmp_path, "--stages", "mst,sssp", before=join)
    except NoGroups:
        pytest.skip("needs control groups of version 1, and the right to make one")
    assert code == 1
    assert "of memory, and" in line or f"control group {group.name} allows" in line, line


@pytest.mark.skipif(sys.platform != "linux", reason="only Linux signals one thread")
def test_threads_that_compute_are_suspended_and_those_that_serve_are_not():
    done = subprocess.run([sys.executable, "-c", SUSPENDED], cwd=ROOT, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout) == (0, "2 suspended, the others continue\n"), done.stderr


@pytest.mark.nightly
def test_the_kernel_ends_no_run():
    try:
        found = limited_runs(range(100))
    except NoGroups:
        pytest.skip("needs control groups of version 1, and the right to make one")
    assert not found.faults, "\n".join(found.faults)
    endings = {kind.rpartition("; ")[2] for kind in found.counts}
    assert {"complete", "ended by its watcher"} <= endings


def test_a_limit_is_that_of_the_process(monkeypatch):
    before = memory.free_memory()
    with memory.limited_to(memory.private_memory() + 64 * MIB):
        assert 0 < memory.free_memory() <= 64 * MIB < before
        (own,) = memory_watch.of_runs()
        left = own.left
        with mmap.mmap(-1, 16 * MIB) as taken:  # not from memory that an allocator keeps
            for _ in range(16):
                taken.write(bytes(MIB))
            assert own.left < left - 8 * MIB
    assert memory.limit_of_run() is None


def test_what_does_not_fit_names_the_limit_that_is_met_first(monkeypatch, tmp_path):
    of_run = r"takes up to 2,048 MiB of memory, and [\d,]+ MiB are free of the [\d.]+ .B that `\[limits\] memory` allows$"
    with memory.limited_to(memory.private_memory() + 64 * MIB), pytest.raises(TooLarge, match=of_run):
        memory.require_memory("an index", 2**31, "cpu")
    group = memory.LimitedGroup(tmp_path / "nightly", 2**27, 2**20)
    monkeypatch.setattr(memory, "control_groups", lambda: [group])
    with pytest.raises(TooLarge, match=r"and 1 MiB are free of the 134\.2 MB that control group nightly allows$"):
        memory.require_memory("an index", 2**31, "cpu")


@pytest.mark.parametrize(("name", "content"), [("memory.events", "oom 5\noom_kill 3\n"), ("memory.oom_control", "oom_kill 3\n")])
def test_processes_that_the_kernel_ended_are_counted(name, content, monkeypatch, tmp_path):
    (tmp_path / name).write_text(content)
    monkeypatch.setattr(memory, "control_groups", lambda: [memory.LimitedGroup(tmp_path, 2**27, 2**20)])
    assert memory.kills() == 3


def test_a_limit_of_addresses_counts_and_is_named(monkeypatch):
    before, (_, most) = memory.free_memory(), resource.getrlimit(resource.RLIMIT_AS)
    assert addresses.address_space() is None
    taken = addresses.status("VmSize")
    monkeypatch.setattr(addresses.resource, "getrlimit", lambda _: (taken + 64 * MIB, most))
    assert memory.free_memory() <= 64 * MIB < before
    assert any(limit.where == addresses.ADDRESSES and limit.left <= 64 * MIB for limit in memory_watch.limits())
    for error, said in (
        (MemoryError(), "out of memory: the graph needs more than this machine has"),
        (OSError("Could not load shared object file"), "Could not load shared object file"),
        (OSError(errno.ENOMEM, "Cannot allocate memory", "out/steps"), "out/steps: Cannot allocate memory"),
        (RuntimeError("can't start new thread"), r"no new thread .* of processes \(pids, `ulimit -u`\) or of memory"),
    ):
        assert re.search(f"^{said}; .* has .*B of the .*B that `ulimit -v` allows of addresses$", message(error))
    assert "ulimit" not in message(MemoryError("one tree takes 9 MiB of GPU memory, and 8 MiB are free"))
    assert "out of memory" not in message(OSError(errno.ENOENT, "No such file", "a"))
    monkeypatch.setattr(addresses.resource, "getrlimit", lambda _: (resource.RLIM_INFINITY, most))
    assert "ulimit" not in message(MemoryError())


@pytest.mark.parametrize("mib", [1300, 1900])
def test_a_run_with_few_addresses_completes_or_names_them(wide, tmp_path, mib):
    limit = lambda: resource.setrlimit(resource.RLIMIT_AS, (mib * MIB, mib * MIB))  # noqa: E731
    code, line = ended(wide, tmp_path, "--stages", "mst", before=limit)
    assert code == 0 or (code == 1 and ("of memory, and" in line or "`ulimit -v` allows" in line)), line


def test_the_nearest_limit_ends_the_work_that_the_main_thread_awaits(monkeypatch):
    sizes = iter([0, 10 * MIB, 2**40])
    near = memory_watch.MemoryLimit(2**30, "this test allows", lambda: next(sizes, 2**40))
    far = memory_watch.MemoryLimit(2**50, "nobody has", lambda: 0)
    monkeypatch.setattr(memory_watch, "limits", lambda: [far, near])
    stopped, never = [], threading.Event()
    monkeypatch.setattr(memory_watch, "suspend_threads", lambda: stopped.append(1))  # also threads of pytest

    def work():
        with memory_watch.followed() as shown, shown.step("bfs and mst"):
            never.wait()

    with pytest.raises(
        TooLarge, match=r"bfs and mst would take more memory than the 1\.1 GB that this test allows, of which 1\.1 TB are taken"
    ):
        apart(work)
    assert stopped == [1]
    never.set()
    assert apart(lambda: 1) == 1  # what failed once fails no other work


def test_only_workers_that_the_run_has_started_are_watched(monkeypatch):
    started = []
    monkeypatch.setattr(memory_watch, "_start", lambda *of: started.append(of))
    monkeypatch.setattr(memory_watch, "_shortage", memory_watch._shortage.__wrapped__)
    assert not memory_watch.shortage(own=False).done() and not started
    assert not memory_watch.shortage(own=True).done() and started


def test_work_that_nobody_awaits_is_not_watched(monkeypatch):
    monkeypatch.setattr(memory_watch, "limits", lambda: pytest.fail("is watched"))
    with memory_watch.watched(str):
        pass


@pytest.mark.parametrize(("amount", "count"), [("8 GiB", 8 * 2**30), ("1.5 MB", 1_500_000), ("100B", 100), ("2kB", 2000)])
def test_amounts_of_memory(amount, count, tmp_path):
    graph = {"source": "roads.csv"}
    assert run_config("test", graph=graph, output=tmp_path, limits={"memory": amount}).limits.bytes == count
    with pytest.raises(BadConfig, match=r"limits\.memory"):
        run_config("test", graph=graph, output=tmp_path, limits={"memory": "much"})
