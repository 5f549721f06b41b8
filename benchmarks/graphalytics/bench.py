"""The six algorithms of LDBC Graphalytics beside other libraries, on Graph500 graphs: `python -m benchmarks.graphalytics.bench`.

Each library runs in a process of its own, on the same graph and machine. An answer is validated by the benchmark's rules before
its time is printed: against graphmill's, which is proved, and PageRank's against NumPy's. The graph has weights, which only SSSP
reads. Times are medians of the runs, in milliseconds.
"""

import argparse
import json
import os
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from dataclasses import dataclass, field
from importlib.metadata import version
from importlib.util import find_spec
from pathlib import Path

import numpy as np

from benchmarks.graphalytics import compiled
from benchmarks.graphalytics.inputs import BenchmarkGraph
from benchmarks.graphalytics.published import PUBLISHED
from benchmarks.machine import machine
from benchmarks.runs.measure import run as measured
from benchmarks.runs.sources import arrays as arrays_of_backend
from kernels.gpu.devices import obstacle
from kernels.graph import Array
from pipeline.graphalytics.outputs import read_reference
from pipeline.graphalytics.validation import why_invalid

ALGORITHMS = ("bfs", "pr", "wcc", "cdlp", "lcc", "sssp")
OURS = "graphmill"
_GIB = 2**30


@dataclass
class LibraryResult:
    """What a library was measured with on a graph."""

    library: str
    seconds: dict[str, float] = field(default_factory=dict)  # medians, by algorithm
    more: dict[str, dict[str, float]] = field(default_factory=dict)  # of ours: makespan and proof
    load: float | None = None
    wall: float | None = None  # of the whole process
    peak: int | None = None  # bytes of the process
    gpu_memory: int | None = None  # bytes, at the end; libraries keep what they have freed
    notes: list[str] = field(default_factory=list)


def main() -> None:
    """Measure all graphs, and write the table."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.graphalytics.bench", description=__doc__)
    parser.add_argument("--scales", default="16,18", help="of the Graph500 graphs (default: 16,18)")
    parser.add_argument("--runs", type=int, default=3, help="of each algorithm (default: 3)")
    parser.add_argument(
        "--graphs", type=Path, default=Path("out/graphs"), help="folder of the graphs, which are made if they are not there"
    )
    parser.add_argument("--only", default="", help="libraries, such as networkit,neug (default: all that are installed)")
    parser.add_argument("--neug", type=Path, metavar="CLONE", help="a clone of NeuG, whose algorithms are compiled")
    parser.add_argument("--gap", type=Path, metavar="CLONE", help="a clone of the GAP benchmark, whose programs are compiled")
    parser.add_argument("--cpu", action="store_true", help="use the CPU even if there is a GPU")
    parser.add_argument("--out", type=Path, default=Path("out/benchmarks/graphalytics.md"), help="file of the table")
    options = parser.parse_args()
    parts = [__doc__.partition("\n\n")[2].strip(), f"Measured on: {machine(OURS)}."]
    for scale in options.scales.split(","):
        name = f"graph500-{scale}"
        results = [*_results(_made(name, options), name, options)]
        parts.append(table(name, results))
        print(parts[-1], flush=True)
    options.out.parent.mkdir(parents=True, exist_ok=True)
    options.out.write_text("# LDBC Graphalytics\n\n" + "\n\n".join(parts) + "\n", encoding="utf-8")


def _made(name: str, options: argparse.Namespace) -> Path:
    """The folder of a graph, which is generated unless it is there."""
    folder: Path = options.graphs / name
    if not folder.exists():
        command = ["generate", "graph500", "--weights", "--scale", name.partition("-")[2], "--out", str(folder)]
        subprocess.run([sys.executable, "-m", "pipeline.cli", *command], check=True)
    return folder


def _results(folder: Path, name: str, options: argparse.Namespace) -> Iterator[LibraryResult]:
    """Those of graphmill, whose answers the others are compared with, and of all others that are there."""
    chosen = [library for library in options.only.split(",") if library]
    with tempfile.TemporaryDirectory() as temporary:
        place = Path(temporary)
        ours, expected = _ours(folder, name, place, options)
        yield ours
        graph = BenchmarkGraph.read(folder)
        ranks = graph.ranks(np if options.cpu else arrays_of_backend())
        if why := why_invalid("pr", (graph.ids, ranks), (graph.ids, expected["pr"])):
            raise AssertionError(f"{OURS}: PageRank: {why}")
        expected["pr"] = ranks
        reference = Reference(graph.ids, expected)
        for library in ("networkit", "igraph", "cugraph"):
            found = find_spec({"cugraph": "pylibcugraph"}.get(library, library)) is not None
            if found and (library != "cugraph" or not (options.cpu or obstacle())) and (not chosen or library in chosen):
                yield _peer(library, folder, place, options.runs, reference)
        if options.neug and (not chosen or "neug" in chosen):
            times, values = compiled.neug(options.neug.absolute(), graph, place, options.runs)
            yield reference.checked(LibraryResult(f"NeuG's algorithms, {compiled.version(options.neug)}"), times, values)
        if options.gap and (not chosen or "gap" in chosen):
            times = compiled.gap(options.gap.absolute(), graph, place, options.runs)
            yield LibraryResult(
                f"GAP, {compiled.version(options.gap)}", {key: statistics.median(of) for key, of in times.items()}
            )


@dataclass(frozen=True)
class Reference:
    """The values that answers are compared with, by ascending ids."""

    ids: Array
    values: dict[str, Array]

    def checked(self, result: LibraryResult, times: dict[str, list[float]], values: dict[str, Array]) -> LibraryResult:
        """Add the times of the answers that are valid, and notes of those that are not."""
        for name, runs in times.items():
            if why := why_invalid(name, (self.ids, self.values[name]), (self.ids, values[name])):
                result.notes.append(f"{name} is not valid: {why}")
            else:
                result.seconds[name] = statistics.median(runs)
        return result


def _ours(folder: Path, name: str, place: Path, options: argparse.Namespace) -> tuple[LibraryResult, dict[str, Array]]:
    """Times of `graphmill graphalytics`, and its answers; a proof that fails ends the process."""
    out = place / "ours"
    home = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache")
    os.environ.setdefault("NUMBA_CACHE_DIR", str(home / "graphmill" / "compiled"))
    os.environ["XDG_CACHE_HOME"] = str(place / "cache")  # the graph is read anew
    backend = ["--backend", "cpu"] if options.cpu else []
    command = ["-m", "pipeline.cli", "graphalytics", str(folder), "--out", str(out), "--runs", str(options.runs), *backend]
    usage = measured(command, place / "log")
    results = json.loads((out / "results.json").read_text(encoding="utf-8"))
    of = results["algorithms"]
    result = LibraryResult(
        f"{OURS} {version(OURS)}", {key: statistics.median(of[key]["processing"]) for key in of},
        {what: {key: statistics.median(of[key][what]) for key in of if what in of[key]} for what in ("makespan", "proof")},
        results["load"], usage.wall, usage.peak, results["memory"].get("gpu"),
    )  # fmt: skip
    return result, {key: read_reference(out / f"{name}-{key.upper()}", key)[1] for key in of}


def _peer(library: str, folder: Path, place: Path, runs: int, reference: Reference) -> LibraryResult:
    out = place / library
    out.mkdir()
    started = time.perf_counter()
    try:
        usage = measured(["-m", "benchmarks.graphalytics.peers", library, str(folder), str(out), str(runs)], place / "log")
    except subprocess.CalledProcessError:
        last = (place / "log").read_text(encoding="utf-8", errors="replace").splitlines()[-1:]
        note = f"failed after {time.perf_counter() - started:.0f} s: {' '.join(last)[:200]}"
        return LibraryResult(library, notes=[note])
    said = json.loads(usage.output.splitlines()[-1])
    values = {name: np.load(out / f"{name}.npy") for name in said["processing"]}
    result = LibraryResult(f"{library} {said['version']}", load=said["load"], wall=usage.wall, peak=usage.peak)
    result.gpu_memory = said["gpu"]
    return reference.checked(result, said["processing"], values)


def table(name: str, results: list[LibraryResult]) -> str:
    """A line for each library; the published times in the last one."""
    lines = [f"## {name}", "", f"| library | {' | '.join(ALGORITHMS)} | load, s | process, s | memory, GiB | of the GPU |"]
    lines.append(f"|---|{'---:|' * (len(ALGORITHMS) + 4)}")
    for result in results:
        cells = [_milliseconds(result.seconds.get(algorithm)) for algorithm in ALGORITHMS]
        cells += [f"{seconds:,.1f}" if seconds else "" for seconds in (result.load, result.wall)]
        cells += [f"{memory / _GIB:.2f}" if memory else "" for memory in (result.peak, result.gpu_memory)]
        lines.append(f"| {result.library}: processing | {' | '.join(cells)} |")
        for what, times in result.more.items():
            cells = [_milliseconds(times.get(algorithm)) for algorithm in ALGORITHMS]
            lines.append(f"| {result.library}: {what} | {' | '.join(cells)} | | | | |")
    if published := PUBLISHED.get(name):
        cells = [_milliseconds(published.get(algorithm)) for algorithm in ALGORITHMS]
        lines.append(f"| best published, 2023, other machines | {' | '.join(cells)} | | | | |")
    notes = [f"* {result.library}: {note}" for result in results for note in result.notes]
    return "\n".join([*lines, *([""] if notes else []), *notes])


def _milliseconds(seconds: float | None) -> str:
    return "" if seconds is None else f"{1000 * seconds:,.{1 if seconds < 1 else 0}f}"


if __name__ == "__main__":
    main()
