"""Runs and commands on twelve graphs with random limits of memory: how they end, and what they publish.

`python -m tests.pipeline.runtime.limits 100 [FIRST] [--processes 2] [--edges N] [--only WORK]` makes as many runs and prints the
counts. Each either publishes the tables of a run without a limit, or ends with a message that has the limit, what was taken or
needed, and the key; the kernel ends none. Its number decides the graph, what is done (`WORKS`), the kind of limit (`WAYS`: a
control group, addresses, `[limits] memory`, or `[cluster] memory` of two workers), and the limit.
"""

import hashlib
import os
import random
import re
import resource
import shutil
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path

import pyarrow as pa
import pyarrow.ipc
import pyarrow.parquet as pq

from tests.faults.children import options, spread
from tests.pipeline.runtime.limited_graphs import CHANGES, GRAPHS, PAIRS, SOURCES, write_graph
from tests.project.test_layout import ROOT

MIB = 2**20
GROUPS = Path("/sys/fs/cgroup/memory")  # of version 1; only root may make some, and few containers let it
EDGES = 1_500_000
_PATIENCE = 600  # seconds for a run
SHARDS, WORKERS = "shards = 2", 'scheduler = "local"\nworkers = 2'
# A kind of limit, keys of [cluster], and MiB: what an interpreter takes, and the largest of the graphs for a million edges.
WAYS = (
    ("group", "", 100, 280), ("addresses", "", 800, 1200), ("own", "", 100, 280),
    ("group", SHARDS, 100, 320), ("own", SHARDS, 100, 320), ("addresses", SHARDS, 800, 1200), ("group", "shards = 4", 100, 320),
    ("workers", WORKERS, 100, 120), ("workers", f"{WORKERS}\n{SHARDS}", 100, 250),
    ("workers", f"{WORKERS}\nshards = 4", 100, 250),
    ("group", WORKERS, 250, 350), ("group", f"{WORKERS}\n{SHARDS}", 250, 500),
    ("own", f"{WORKERS}\n{SHARDS}", 100, 150), ("addresses", f"{WORKERS}\n{SHARDS}", 800, 1200),
)  # fmt: skip
STAGES = ("bfs", "sssp", "mst", "wcc", "pagerank", "cores")
MORE = ("scc", "reachability", "betweenness", "communities", "max_flow", "triangles")
# What a run with too little memory says, each time with two amounts of which one is the limit; and the keys that it names.
SAYS = {
    "refused": r"of (?:\w+ )*memory, and .* free",
    "ended by its watcher": r"would take more memory than the .* of which .* are taken",
    "no addresses": r"this process has .* of the .* that `ulimit -v` allows",
    "worker ended": r"ended for their memory: they took up to .* limit is",
}
NAMED = {"own": ("limits] memory",), "workers": ("[cluster] memory",), "addresses": ("ulimit -v",), "group": ()}


class NoGroups(Exception):
    """This machine has no control groups of version 1, or this user may not make one."""


@contextmanager
def control_group(limit: int) -> Iterator[Path]:
    """A control group of which the next process may be. Raises NoGroups."""
    try:
        lines = Path("/proc/self/cgroup").read_text(encoding="utf-8").splitlines()
        mine = next(line.split(":")[2] for line in lines if ":memory:" in line)
        group = GROUPS / mine.lstrip("/") / f"graphmill-{os.getpid()}-{time.monotonic_ns()}"
        group.mkdir()
        (group / "memory.limit_in_bytes").write_text(str(limit))
    except (OSError, StopIteration):
        raise NoGroups from None
    try:
        yield group
    finally:
        for _ in range(100):
            try:
                group.rmdir()
                break
            except OSError:  # its last process is still ending
                time.sleep(0.1)


def ended_by_kernel(group: Path) -> int:
    """How many processes of a group the kernel has ended."""
    lines = dict(line.split() for line in (group / "memory.oom_control").read_text(encoding="ascii").splitlines())
    return int(lines["oom_kill"])


@dataclass
class Work:
    """What is done under a limit: arguments of the command; what they need is made in `out` without a limit before."""

    stages: tuple[str, ...] = STAGES
    tables: str = ""  # of the run's configuration; PATH is the folder of the graph's files
    command: tuple[str, ...] = ()  # after a run; without one the run itself has the limit
    made: str = "out/latest"  # the folder of the tables


WORKS = {
    "stages": Work(),
    "more": Work(
        MORE,
        f'[max_flow]\npairs = "PATH/{PAIRS}"\n[nearest]\nfacilities = "PATH/{SOURCES}"\n[closeness]\nsources = "PATH/{SOURCES}"\n'
        f'[isochrones]\nthresholds = [2, 9]\nsources = "PATH/{SOURCES}"\n[flows]\npairs = "PATH/{PAIRS}"\n'
        f'[queries]\npairs = "PATH/{PAIRS}"\n[betweenness]\nepsilon = 0.9\nexact_below = 10\n[reachability]\ndimensions = 2\n',
    ),
    "matrix": Work(("wcc",), command=("matrix", "out/latest", "--sources", f"PATH/{SOURCES}", "--out", "matrix"), made="matrix"),
    "trees": Work(("wcc",), command=("trees", "out/latest", "--sources", f"PATH/{SOURCES}", "--out", "trees"), made="trees"),
    "reach": Work(
        ("reachability",), "[reachability]\ndimensions = 2\n",
        ("reach", "out/latest", f"PATH/{PAIRS}", "--out", "reached", "--witness", "witness"), made="reached",
    ),
    "change": Work(command=("change", "out", f"PATH/{CHANGES}")),
}  # fmt: skip


@dataclass
class Limited:
    """Counts of what happened to runs in `folder`."""

    folder: Path
    edges: int = EDGES
    only: str = ""
    counts: Counter[str] = field(default_factory=Counter)
    faults: list[str] = field(default_factory=list)
    expected: dict[tuple[str, str], str] = field(default_factory=dict)  # digests of the tables of each graph and work

    def try_limit(self, number: int) -> None:
        """One run; its number decides the graph, the work and the limit."""
        chance = random.Random(number)
        name = list(GRAPHS)[number % len(GRAPHS)]
        kind = self.only or chance.choice([*WORKS])
        way, cluster, least, most = chance.choice(WAYS)
        limit = int(MIB * (least + chance.random() * (150 + most * self.edges / 1e6)))
        work = WORKS[kind]
        if (kind, name) not in self.expected:
            self._make(kind, name, work)
        if work.command:
            shutil.rmtree(self.folder / "out", ignore_errors=True)
            shutil.copytree(self.folder / f"made-{kind}-{name}", self.folder / "out", symlinks=True)
        killed, stated = 0, f'memory = "{limit}B"\n'
        keys = f"{cluster}\n{stated}" if way == "workers" else f"{cluster}\n[limits]\n{stated}" if way == "own" else cluster
        began = time.monotonic()
        if way == "group":
            with control_group(limit) as group:
                code, text = self.run(kind, name, keys, lambda: (group / "cgroup.procs").write_text(str(os.getpid())))
                killed = ended_by_kernel(group)
        elif way == "addresses":
            code, text = self.run(kind, name, keys, lambda: resource.setrlimit(resource.RLIMIT_AS, (limit, limit)))
        else:
            code, text = self.run(kind, name, keys)
        ended, fault = _ending(code, text, killed, way)
        if not fault and not code and tables(self.folder / work.made) != self.expected[kind, name]:
            fault = "other tables"
        modes = f"{'workers' if 'local' in cluster else 'one process'}{', shards' if 'shards' in cluster else ''}"
        self.counts[f"{kind}; {modes}; {way}; {f'FAULT {fault}' if fault else ended}"] += 1
        what = f"run {number}, {name}, {kind}, {way} {cluster.splitlines()}, within {limit / MIB:.0f} MiB"
        print(f"{what}: {f'FAULT {fault}' if fault else ended}, {time.monotonic() - began:.0f} s", flush=True)
        if fault:
            print(text, flush=True)
            self.faults.append(what)

    def _make(self, kind: str, name: str, work: Work) -> None:
        """What the work needs, and the digest of the tables that it writes, without a limit."""
        if not (self.folder / name).exists():
            write_graph(self.folder, name, self.edges)
        code, text = self.run(kind, name, command=False)
        assert code == 0, text
        if work.command:
            shutil.copytree(self.folder / "out", self.folder / f"made-{kind}-{name}", symlinks=True)
            code, text = self.run(kind, name)
            assert code == 0, text
        self.expected[kind, name] = tables(self.folder / work.made)

    def run(
        self, kind: str, name: str, cluster: str = "", before: Callable[[], object] = lambda: None, command: bool = True
    ) -> tuple[int, str]:
        """The exit code of a run or command that makes all steps, and what it printed."""
        work, files = WORKS[kind], f"{self.folder / name}.files"
        keys = f'output = "out"\nbackend = "cpu"\narcs = false\nstages = {list(work.stages)}\n[graph]\nsource = "{name}"\n'
        (self.folder / "run.toml").write_text(f"{keys}{work.tables.replace('PATH', files)}[cluster]\n{cluster}\n")
        if command and work.command:
            for made in ("matrix", "trees", "reached", "witness"):
                shutil.rmtree(self.folder / made, ignore_errors=True)
            cluster_of = ["--cluster", "local" if kind == "change" else "run.toml"] if cluster and "local" in cluster else []
            backend = [] if kind == "reach" else ["--backend", "cpu"]
            arguments = [*(part.replace("PATH", files) for part in work.command), *backend, *cluster_of]
        else:
            shutil.rmtree(self.folder / "out", ignore_errors=True)
            arguments = ["run", "run.toml"]
        done = subprocess.run(
            [sys.executable, "-m", "pipeline.cli", *arguments], cwd=self.folder, env=os.environ | {"PYTHONPATH": str(ROOT)},
            capture_output=True, text=True, preexec_fn=before, check=False, timeout=_PATIENCE,
        )  # fmt: skip
        return done.returncode, done.stderr or done.stdout


def _ending(code: int, text: str, killed: int, way: str) -> tuple[str, str]:
    """How a run ended, and what was wrong with that."""
    line = (text.splitlines() or [""])[-1]
    if killed or code not in (0, 1):
        return "", f"ended by the kernel ({killed}), status {code}"
    if "Traceback" in text:
        return "", "traceback"
    if not code:
        return "complete", ""
    for ending, words in SAYS.items():
        if re.search(words, line):
            missing = [key for key in NAMED[way] if key not in line]
            return ending, f"does not name {missing[0]}" if missing else "said twice" if text.count(line) > 1 else ""
    return "", "no message about memory"


def tables(out: Path) -> str:
    """A digest of the rows of all tables of a folder but `pagerank`, whose sums have another order over ranks."""
    digest = hashlib.sha256()
    files = sorted({path.parent for path in out.glob("**/*.parquet")} - {out / "pagerank"})
    for folder in files:
        rows = pa.concat_tables(map(pq.read_table, sorted(folder.glob("*.parquet")))).combine_chunks().replace_schema_metadata()
        content = pa.BufferOutputStream()
        with pa.ipc.new_stream(content, rows.schema) as stream:
            stream.write_table(rows)
        digest.update(folder.name.encode() + content.getvalue())
    return digest.hexdigest()


def limited_runs(numbers: range, edges: int = EDGES, only: str = "") -> Limited:
    """Runs of these numbers in a folder of their own. Raises NoGroups."""
    with tempfile.TemporaryDirectory() as folder:
        found = Limited(Path(folder), edges, only)
        for number in numbers:
            found.try_limit(number)
        return found


def main() -> int:
    """Make runs and print the counts."""
    parser = options("tests.pipeline.runtime.limits", "runs")
    parser.add_argument("first", type=int, nargs="?", default=0)
    parser.add_argument("--edges", type=int, default=EDGES)
    parser.add_argument("--only", choices=[*WORKS], default="")
    asked = parser.parse_args()
    size = -(-asked.count // asked.processes)
    end = asked.first + asked.count
    parts = [range(begin, min(begin + size, end)) for begin in range(asked.first, end, size)]
    counts, faults = Counter[str](), list[str]()
    for part in spread(partial(limited_runs, edges=asked.edges, only=asked.only), parts, asked.processes):
        counts, faults = counts + part.counts, faults + part.faults
    print(*faults, *(f"{count:>6} {what}" for what, count in sorted(counts.items())), sep="\n")
    return bool(faults)


if __name__ == "__main__":
    sys.exit(main())
