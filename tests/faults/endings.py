"""Runs that are killed at random moments while a reader follows `latest`; what their endings leave, print and publish.

`python -m tests.faults.endings 500 [forked] [--processes 8]` kills as many runs and prints the counts; `forked`, the default,
`started`, `workers` or `flows` is how they run. Beside each process a reader reads without a pause.
"""

import atexit
import json
import logging
import os
import random
import select
import signal
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq

# Imported before the children are forked, which therefore need not.
import kernels.bfs.cpu
import kernels.paths.certificate.cpu
import kernels.wcc.certificate.cpu  # noqa: F401
import pipeline.report.page
import pipeline.run  # noqa: F401
from pipeline.cli import main
from pipeline.steps.publication.publish import open_run
from tests.faults.children import options, parts_of, spread, wait_for

# The program, or none to fork this one; its arguments before and after the file of the run.
STARTED = (sys.executable, "-m", "pipeline.cli")
WAYS: dict[str, tuple[Sequence[str], Sequence[str], Sequence[str]]] = {
    "forked": ((), ("run",), ()),
    "started": (STARTED, ("run",), ()),
    "workers": (STARTED, ("run",), ("--cluster", "local")),
    "flows": ((sys.executable, "-m", "flows"), ("social-network",), ()),
}
SIGNALS = (signal.SIGKILL, signal.SIGTERM, signal.SIGINT)
NOISE = ("Traceback", "Exception ignored", "Fatal Python error", "terminate called", "Aborted", "core dumped", "Error in ")
STAGES = ("wcc", "bfs")
PART = 18  # kills in one folder
GRAPHS = {"one": "src,dst\n1,2\n2,3\n9,9\n", "two": "src,dst\n1,2\n2,3\n3,4\n7,8\n9,9\n"}


@dataclass
class Killed:
    """Counts of what happened in `folder`, where runs of two graphs take turns."""

    folder: Path
    way: str = "forked"
    seed: int = 7
    counts: Counter[str] = field(default_factory=Counter)
    faults: list[str] = field(default_factory=list)

    def __post_init__(self):
        self.output, self.tmp = self.folder / "out", self.folder / "tmp"
        self.tmp.mkdir()
        for name, edges in GRAPHS.items():
            (self.folder / f"{name}.csv").write_text(edges)
            settings = f'output = "{self.output}"\npublish_as = "latest"\nstages = {list(STAGES)}\nbackend = "cpu"\n'
            (self.folder / f"{name}.toml").write_text(f'{settings}[graph]\nsource = "{name}.csv"\n')
        self.chance = random.Random(self.seed)
        self.expected: dict[str, Any] = {}
        begun = time.monotonic()
        for name in GRAPHS:
            self.complete(name)
            self.expected[name] = content(self.output / "latest")
        self.seconds = (time.monotonic() - begun) / len(GRAPHS)
        self.left: set[Path] = set()

    def kill(self, number: int) -> None:
        """Kill one run; check how it ended."""
        sent = SIGNALS[number % len(SIGNALS)]
        begun = time.monotonic()
        status, text = self.run(list(GRAPHS)[number % len(GRAPHS)], (sent, self.chance.uniform(0, self.seconds)))
        if status == 0:
            self.seconds += 0.2 * (time.monotonic() - begun - self.seconds)  # the machine may be busier or idler than before
        self.counts[f"{sent.name} {'late' if status == 0 else 'hit'}"] += 1
        lines = text.splitlines()
        if any(noise in text for noise in NOISE):
            self.fault("traceback", number, sent, text)
        elif status not in (0, -sent if sent == signal.SIGKILL else 128 + sent):
            self.fault(f"status {status}", number, sent, text)
        elif status == 128 + sent and (not lines or f": ended by {sent.name}" not in lines[-1]):
            self.fault("no last line", number, sent, text)
        found = self.leftovers()
        if status == 0:
            if found & self.left:
                self.fault("leftover after the next run", number, sent, str(found & self.left))
            self.left = set()
        if sent != signal.SIGKILL and found - self.left:
            self.fault("leftover", number, sent, str(found - self.left))
        self.left |= found
        if content(self.output / "latest") not in self.expected.values():
            self.fault("wrong table", number, sent, "")

    def run(self, graph: str, kill: tuple[signal.Signals, float] | None = None) -> tuple[int, str]:
        """Run the command in a process of its own; return its exit status, negative for a signal, and its output."""
        program, first, last = WAYS[self.way]
        arguments = [*first, f"{graph}.toml", *last]
        log = self.folder / "log"
        with log.open("wb") as file:
            child = started(["graphmill", *arguments], self.folder, self.tmp, file.fileno(), program)
            if kill:
                await_handlers(child)
                await_end(child, kill[1])
                with suppress(ProcessLookupError):
                    os.kill(child, kill[0])
            _, status = os.waitpid(child, 0)
        await_group(child)
        return os.waitstatus_to_exitcode(status), log.read_text(errors="replace")

    def complete(self, graph: str) -> None:
        """A run that nothing disturbs."""
        status, text = self.run(graph)
        assert status == 0, text

    def leftovers(self) -> set[Path]:
        """Unfinished folders and links, and temporary files."""
        hidden = [path for name in ("steps", "runs") for path in (self.output / name).glob(".*")]
        return {*hidden, *self.tmp.iterdir()}

    def fault(self, kind: str, number: int, sent: signal.Signals, text: str) -> None:
        self.counts[f"FAULT {kind}"] += 1
        self.faults.append(f"kill {number} by {sent.name}: {kind}\n{text}")

    def finish(self) -> None:
        """One more run, after which nothing may be left."""
        self.complete("one")
        if self.leftovers():
            self.fault("leftover after the last run", -1, signal.SIGKILL, str(self.leftovers()))


def started(argv: list[str], folder: Path, tmp: Path, output: int, prefix: Sequence[str] = (), errors: int | None = None) -> int:
    """Start the command in `folder`; return its process id. With a prefix a new interpreter is started, else this one forks.

    Standard error goes to `errors`, or where the output goes.
    """
    child = os.fork()
    if child:
        return child
    try:
        os.setsid()
        atexit._clear()  # such as the removal of the parent's temporary folders
        signal.signal(signal.SIGINT, signal.default_int_handler)
        os.chdir(folder)
        os.environ["TMPDIR"] = tempfile.tempdir = str(tmp)
        os.environ["PREFECT_HOME"] = str(folder / "prefect")
        os.environ.pop("PREFECT_API_URL", None)
        os.dup2(output, 1)
        os.dup2(output if errors is None else errors, 2)
        if prefix:
            os.execv(prefix[0], [*prefix, *argv[1:]])
        logging.root.handlers.clear()  # pytest's, with which the command would add none
        sys.argv, sys.stdout, sys.stderr = argv, os.fdopen(1, "w"), os.fdopen(2, "w", 1)
        main()
    finally:
        os._exit(99)


def await_end(process: int, seconds: float) -> None:
    """Wait until a child has ended, but not longer."""
    descriptor = os.pidfd_open(process)
    select.select([descriptor], [], [], seconds)
    os.close(descriptor)


def await_handlers(process: int) -> None:
    """Wait until the command handles signals; Python prints a traceback when its own start is interrupted."""
    with suppress(FileNotFoundError, ProcessLookupError):
        while not prepared(process, signal.SIGTERM):
            time.sleep(0.001)


def prepared(process: int, number: int) -> bool:
    """Whether a process handles a signal, or ignores it, as a run does at its end, or has ended."""
    status = dict(line.split(":\t") for line in Path(f"/proc/{process}/status").read_text().splitlines())
    signals = int(status["SigCgt"], 16) | int(status["SigIgn"], 16)
    return status["State"].startswith("Z") or bool(signals >> (number - 1) & 1)


def await_group(leader: int) -> None:
    """Wait until no process of a group is left, such as a worker of the run."""
    deadline = time.monotonic() + 240
    with suppress(ProcessLookupError):
        while time.monotonic() < deadline:
            os.killpg(leader, 0)
            time.sleep(0.01)
        raise AssertionError(f"a process of group {leader} is left")


def content(latest: Path) -> dict[str, list[dict[str, Any]]]:
    """The tables of a run, after a check of every hash; both graphs have their own."""
    run = open_run(latest)
    return {stage: pq.read_table(run.path / stage).to_pylist() for stage in STAGES}


def follow(latest: Path, expected: Sequence[object], report: Path) -> None:
    """Read `latest` for ever; write how often, and every read that gave no complete run of a graph."""
    reads, wrong = 0, []
    while True:
        try:
            if content(latest) not in expected:
                wrong.append("a table of neither graph")
        except Exception as error:
            wrong.append(repr(error))
        reads += 1
        report.with_suffix(".new").write_text(json.dumps([reads, wrong]))
        report.with_suffix(".new").replace(report)
        time.sleep(0.03)


def forked(work: Callable[..., None], *arguments: object) -> int:
    child = os.fork()
    if child == 0:
        try:
            work(*arguments)
        finally:
            os._exit(0)
    return child


def killed_runs(folder: Path, kills: Sequence[int], way: str = "forked") -> Killed:
    """Kill the runs of these numbers beside a reader."""
    runs = Killed(folder, way, kills[0])
    report = folder / "reads.json"
    reader = forked(follow, runs.output / "latest", list(runs.expected.values()), report)
    try:
        wait_for(report.exists)
        for number in kills:
            runs.kill(number)
        runs.finish()
    finally:
        os.kill(reader, signal.SIGKILL)
        os.waitpid(reader, 0)
    reads, wrong = json.loads(report.read_text())
    runs.counts["kills"] = len(kills)
    runs.counts["reads"] = reads
    runs.faults += [f"reader: {each}" for each in wrong]
    return runs


def counted(way: str, kills: Sequence[int]) -> tuple[Counter[str], list[str]]:
    """Counts and faults of `killed_runs` in a folder of its own."""
    with tempfile.TemporaryDirectory() as made:
        runs = killed_runs(Path(made), kills, way)
    return runs.counts, runs.faults


def count(count: int, way: str, processes: int) -> bool:
    """Kill so many runs, print each fault when it is found and the counts at the end; return whether there is a fault."""
    total: Counter[str] = Counter()
    faulty = False
    for counts, faults in spread(partial(counted, way), parts_of(count, PART), processes):
        total += counts
        faulty |= bool(faults)
        print(*faults, dict(sorted(total.items())), sep="\n", flush=True)
    return faulty


if __name__ == "__main__":
    parser = options("tests.faults.endings", "kills")
    parser.add_argument("way", nargs="?", choices=WAYS, default="forked")
    sys.exit(count(**vars(parser.parse_args())))
