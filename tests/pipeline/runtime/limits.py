"""Runs of ten graphs with random limits of memory: how they end, and what they publish.

`python -m tests.pipeline.runtime.limits 100 [FIRST] [--processes 2]` makes as many runs and prints the counts. A run either
publishes the tables of a run without a limit, or ends with a message that has the limit; the kernel ends none. Ten runs in a row
have the same kind of limit (`WAYS`): a control group, addresses, `[limits] memory`, or `[cluster] memory` of two workers.
"""

import hashlib
import os
import random
import resource
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

import numpy as np
import pyarrow as pa
import pyarrow.csv
import pyarrow.ipc
import pyarrow.parquet as pq

from benchmarks.generators import grid_edges
from kernels.generators import ends, graph500, weights
from tests.faults.children import options, spread
from tests.project.test_layout import ROOT

MIB = 2**20
GROUPS = Path("/sys/fs/cgroup/memory")  # of version 1; only root may make some, and few containers let it
EDGES = 1_500_000
LIMITS = (120 * MIB, 520 * MIB)  # of an interpreter to what the largest of the graphs takes
OF_ADDRESSES = (800 * MIB, 2600 * MIB)  # the same: stacks of threads and what allocators reserve count, too
SHARDS, WORKERS = "shards = 2", 'scheduler = "local"\nworkers = 2'
# A kind of limit, and keys of [cluster].
WAYS = (
    ("group", ""), ("addresses", ""), ("own", ""), ("group", SHARDS), ("own", SHARDS), ("addresses", SHARDS),
    ("workers", WORKERS), ("workers", f"{WORKERS}\n{SHARDS}"), ("group", f"{WORKERS}\n{SHARDS}"),
)  # fmt: skip
STAGES = ("bfs", "sssp", "mst", "wcc", "pagerank", "cores")
# What a run with too little memory says, each time with a limit.
SAYS = ("of memory, and", "would take more memory than", "of memory where", "that `ulimit -v` allows", "ended for their memory")


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
class Limited:
    """Counts of what happened to runs in `folder`."""

    folder: Path
    counts: Counter[str] = field(default_factory=Counter)
    faults: list[str] = field(default_factory=list)
    expected: dict[str, str] = field(default_factory=dict)  # digests of the tables of each graph

    def try_limit(self, number: int) -> None:
        """One run; its number decides the graph and the limit."""
        chance = random.Random(number)
        name = list(GRAPHS)[number % len(GRAPHS)]
        way, cluster = WAYS[number // len(GRAPHS) % len(WAYS)]
        limit = chance.randrange(*(OF_ADDRESSES if way == "addresses" else LIMITS))
        if name not in self.expected:
            GRAPHS[name](self.folder / name)
            code, text = self.run(name)
            assert code == 0, text
            self.expected[name] = tables(self.folder / "out")
        killed = 0
        if way == "group":
            with control_group(limit) as group:
                code, text = self.run(name, cluster, lambda: (group / "cgroup.procs").write_text(str(os.getpid())))
                killed = ended_by_kernel(group)
        elif way == "addresses":
            code, text = self.run(name, cluster, lambda: resource.setrlimit(resource.RLIMIT_AS, (limit, limit)))
        else:
            stated = f'memory = "{limit}B"\n'
            code, text = self.run(name, f"{cluster}\n{stated}" if way == "workers" else f"{cluster}\n[limits]\n{stated}")
        fault = ""
        if killed or code not in (0, 1):
            fault = f"ended by the kernel ({killed}), status {code}"
        elif code and not any(words in text.splitlines()[-1] for words in SAYS):
            fault = "no message about memory"
        elif not code and tables(self.folder / "out") != self.expected[name]:
            fault = "other tables"
        ended = f"FAULT {fault}" if fault else "complete" if code == 0 else "ended with a message"
        self.counts[ended] += 1
        if fault:
            kind = f"{way} {cluster.splitlines()}"
            self.faults.append(f"run {number}, {name}, {kind}, within {limit / MIB:.0f} MiB: {fault}\n{text}")

    def run(self, name: str, cluster: str = "", before: Callable[[], object] = lambda: None) -> tuple[int, str]:
        """The exit code of a run that makes all steps, and what it printed."""
        out = self.folder / "out"
        subprocess.run(["rm", "-rf", out], check=True)
        keys = f'output = "out"\nbackend = "cpu"\narcs = false\nstages = {list(STAGES)}\n[graph]\nsource = "{name}"\n'
        (self.folder / "run.toml").write_text(f"{keys}[cluster]\n{cluster}\n")
        command = [sys.executable, "-m", "pipeline.cli", "run", self.folder / "run.toml"]
        done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, preexec_fn=before, check=False)
        return done.returncode, done.stderr or done.stdout


def tables(out: Path) -> str:
    """A digest of the rows of all tables of the newest run but `pagerank`, whose sums have another order over ranks."""
    digest = hashlib.sha256()
    for folder in sorted({path.parent for path in (out / "latest").glob("*/*.parquet")} - {out / "latest" / "pagerank"}):
        rows = pa.concat_tables(map(pq.read_table, sorted(folder.glob("*.parquet")))).combine_chunks().replace_schema_metadata()
        content = pa.BufferOutputStream()
        with pa.ipc.new_stream(content, rows.schema) as stream:
            stream.write_table(rows)
        digest.update(folder.name.encode() + content.getvalue())
    return digest.hexdigest()


def _write(path: Path, src: np.ndarray, dst: np.ndarray, weight: np.ndarray | None, group: int = 2**17) -> None:
    table = {"src": src, "dst": dst} | ({} if weight is None else {"weight": weight})
    pq.write_table(pa.table(table), path, row_group_size=group)


def _kronecker(path: Path, scale: int, step: int = 1, kind: str = "int64") -> None:
    src, dst = ends(graph500(scale), 0, EDGES)
    _write(path, src * step, dst * step, weights(src, dst).astype(kind) / (1 if kind == "int64" else 8))


def _random(path: Path, vertices: int, weighted: bool = True) -> None:
    src, dst = np.random.default_rng(vertices).integers(0, vertices, (2, EDGES))
    _write(path, src, dst, (src + dst) % 100 if weighted else None)


def _grid(path: Path) -> None:
    src, dst = (np.concatenate(both) for both in zip(grid_edges(600), grid_edges(600)[::-1], strict=True))
    _write(path, src, dst, 1 + (src + dst) % 50)


def _star(path: Path) -> None:
    _write(path, np.zeros(EDGES, np.int64), np.arange(1, EDGES + 1), np.arange(EDGES) % 9)


def _text(path: Path) -> None:
    src, dst = ends(graph500(15), 0, EDGES)
    with pa.output_stream(path, compression=None) as file:
        pa.csv.write_csv(pa.table({"src": src, "dst": dst, "weight": (src + dst) % 7}), file)


GRAPHS: dict[str, Callable[[Path], None]] = {
    "kronecker.parquet": partial(_kronecker, scale=17),
    "sparse-ids.parquet": partial(_kronecker, scale=15, step=2**40),
    "decimals.parquet": partial(_kronecker, scale=16, kind="float64"),
    "few-vertices.parquet": partial(_random, vertices=500),  # nearly all edges are parallel
    "wide.parquet": partial(_random, vertices=EDGES),
    "unweighted.parquet": partial(_random, vertices=2**16, weighted=False),
    "one-row-group.parquet": lambda path: _write(path, *ends(graph500(16), 0, EDGES), None, EDGES),
    "grid.parquet": _grid,
    "star.parquet": _star,
    "text.csv": _text,
}


def limited_runs(numbers: range) -> Limited:
    """Runs of these numbers in a folder of their own. Raises NoGroups."""
    with tempfile.TemporaryDirectory() as folder:
        found = Limited(Path(folder))
        for number in numbers:
            found.try_limit(number)
        return found


def main() -> int:
    """Make runs and print the counts."""
    parser = options("tests.pipeline.runtime.limits", "runs")
    parser.add_argument("first", type=int, nargs="?", default=0)
    asked = parser.parse_args()
    size = -(-asked.count // asked.processes)
    parts = [range(asked.first + begin, asked.first + min(begin + size, asked.count)) for begin in range(0, asked.count, size)]
    counts, faults = Counter[str](), list[str]()
    for part in spread(limited_runs, parts, asked.processes):
        counts, faults = counts + part.counts, faults + part.faults
    print(*faults, *(f"{count:>6} {what}" for what, count in sorted(counts.items())), sep="\n")
    return bool(faults)


if __name__ == "__main__":
    sys.exit(main())
