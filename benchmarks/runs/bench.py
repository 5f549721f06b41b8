"""Measure whole runs: `python -m benchmarks.runs.bench --help`.

Each case runs graphmill in a process of its own: with an empty folder, which also compiles kernels that are not cached yet; again
with an empty folder, which is the time that counts; then with nothing changed. The script runs afterwards, twice as well, because
its first run compiles the modules that it imports, and its tables are compared with those of the run.
"""

import argparse
import json
import shutil
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import asdict, dataclass, field
from fnmatch import fnmatch
from pathlib import Path

import pyarrow.parquet as pq

from benchmarks.runs import sources
from benchmarks.runs.answers import compare
from benchmarks.runs.cases import CASES, RunCase
from benchmarks.runs.deployment import deployed
from benchmarks.runs.measure import Usage, run
from kernels.gpu.devices import device_count
from pipeline.store.facts import StageFacts
from pipeline.store.facts.run import RunFacts
from pipeline.store.manifest import read

SCRIPTS = Path(__file__).parent / "scripts"


@dataclass(frozen=True)
class CaseTimes:
    """One case; seconds."""

    name: str
    # cold, wall, again: the first run, a second one into an empty folder, and a third one with nothing changed.
    cold: float
    wall: float
    again: float
    cores: float  # CPU time of the second run over its wall time
    peak: int  # bytes of memory of the second run's largest process
    kernels: float  # seconds in which the stages' kernels ran, their first calls included
    steps: dict[str, float]  # seconds of each step
    machine: dict[str, object]
    wanted: float | None
    unchanged: float | None  # that the third run may take
    script: float | None = None  # the script's seconds, and in `script_steps` those of its parts
    script_steps: dict[str, float | str] = field(default_factory=dict)
    compared: dict[str, str] = field(default_factory=dict)  # for each table of the script "equal", or how it differs


def measure(case: RunCase, folder: Path) -> CaseTimes:
    """Run a case in `folder`, which gets its source file unless it has it."""
    source = source_of(case, folder)
    out = folder / "out"
    with _command(case, source, out) as command:
        uses = [_empty_run(command, out, folder), _empty_run(command, out, folder), run(command, folder / "log")]
    published = read((out / "latest").resolve())
    facts = RunFacts.of(published)
    kernels = sum(
        StageFacts.model_validate(read(out / "steps" / stage).facts).seconds for stage in case.stages if stage != "reachability"
    )
    steps = {name: step.seconds for name, step in facts.steps.items()}
    script: float | None = None
    parts: dict[str, float | str] = {}
    compared: dict[str, str] = {}
    if case.script:
        command = [str(SCRIPTS / f"{case.script}.py"), str(source), _source_vertex(out), str(folder / "script")]
        shutil.rmtree(folder / "script", ignore_errors=True)  # another case's tables
        try:
            run(command, folder / "log")
            used = run(command, folder / "log")
            script, parts = used.wall, json.loads(used.output.splitlines()[-1])
            compared = compare((out / "latest").resolve(), folder / "script")
        except subprocess.CalledProcessError:  # its libraries are missing, or memory is
            parts = {"failed": (folder / "log").read_text().splitlines()[-1]}
    return CaseTimes(
        case.name, *(use.wall for use in uses), uses[1].cores, uses[1].peak, kernels, steps, facts.machine, case.wanted,
        case.unchanged, script, parts, compared,
    )  # fmt: skip


@contextmanager
def _command(case: RunCase, source: Path, out: Path) -> Iterator[list[str]]:
    """The Python command that runs a case."""
    backend = "gpu" if case.gpus else "cpu"
    if case.deployment:
        graph = {"source": str(source.absolute()), "directed": False}
        run = {"output": str(out.absolute()), "stages": case.stages, "backend": backend}
        with deployed(out.parent.absolute(), graph, **run) as command:
            yield command
        return
    command = ["-m", "pipeline.cli", "run", str(source), "--undirected", "--stages", ",".join(case.stages)]
    yield [*command, "--out", str(out), "--backend", backend, *case.options]


def source_of(case: RunCase, folder: Path) -> Path:
    """The source file of a case, written if it is missing."""
    graph, _, text = case.graph.partition(":")
    kind, size = graph.split("-")
    path = folder / f"{graph}.parquet"
    if not path.exists():
        sources.write_parquet({"kronecker": sources.kronecker, "grid": sources.grid}[kind](int(size)), path)
    if not text:
        return path
    dimacs = path.with_suffix(".gr.zst")
    if not dimacs.exists():
        sources.write_dimacs(path, dimacs)
    return dimacs


def markdown(rows: list[CaseTimes]) -> str:
    """The table, and below it the seconds of each step."""
    lines = [
        "| run | s | wanted | cold | unchanged | cores used | peak GB | kernels | script, s (without imports) | compared |",
        "|---|---:|---:|---:|---:|---:|---:|---:|---:|---|",
    ]
    for row in rows:
        differing = "; ".join(f"{name}: {verdict}" for name, verdict in row.compared.items() if verdict != "equal")
        compared = differing or ("all equal" if row.compared else "")
        script = "" if row.script is None else f"{row.script:.1f} ({row.script - _imports(row.script_steps):.1f})"
        lines.append(
            f"| {row.name} | {row.wall:.1f} | {row.wanted or ''} | {row.cold:.1f} | {row.again:.1f}{_limit(row.unchanged)} "
            f"| {row.cores:.1f} | {row.peak / 1e9:.1f} | {row.kernels / row.wall:.1%} | {script} | {compared} |"
        )
    for row in rows:
        lines += ["", f"{row.name}: " + _parts(row.steps)]
        if row.script_steps:
            lines.append(f"script: {_parts(row.script_steps)}")
    return "\n".join(lines) + "\n"


def _imports(parts: dict[str, float | str]) -> float:
    """Seconds of a script's imports; 0 if it does not state them."""
    seconds = parts.get("import", 0.0)
    return seconds if isinstance(seconds, float) else 0.0


def _limit(wanted: float | None) -> str:
    return "" if wanted is None else f" (wanted {wanted:g})"


def main() -> None:
    """Measure the cases that match and that the machine's GPUs allow; write `runs.json` and `runs.md`."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.runs.bench", description=__doc__)
    parser.add_argument("--out", type=Path, default=Path("out/benchmarks/runs"), help="folder of the tables and sources")
    parser.add_argument("--only", action="append", metavar="PATTERN", help="cases whose name matches, such as 'grid-4900 CPU*'")
    options = parser.parse_args()
    options.out.mkdir(parents=True, exist_ok=True)
    rows = []
    for case in _chosen(options.only or ["*"]):
        rows.append(measure(case, options.out))
        (options.out / "runs.json").write_text(json.dumps([asdict(row) for row in rows], indent=1))
        (options.out / "runs.md").write_text(markdown(rows))
        print(markdown(rows[-1:]), flush=True)


def _chosen(patterns: list[str]) -> Iterator[RunCase]:
    for case in CASES:
        if any(fnmatch(case.name, pattern) for pattern in patterns) and case.gpus <= device_count():
            yield case


def _empty_run(command: list[str], out: Path, folder: Path) -> Usage:
    shutil.rmtree(out, ignore_errors=True)
    try:
        return run(command, folder / "log")
    except subprocess.CalledProcessError as error:
        raise SystemExit(f"{error}\n{(folder / 'log').read_text()}") from None


def _source_vertex(out: Path) -> str:
    """The source that the run has chosen."""
    with pq.ParquetFile(next((out / "latest" / "bfs").glob("*.parquet"))) as file:
        return str(next(file.iter_batches(1, columns=["source"]))["source"][0].as_py())


def _parts(seconds: dict[str, float] | dict[str, float | str]) -> str:
    return ", ".join(f"{name} {value:.2f}" if isinstance(value, float) else f"{name}: {value}" for name, value in seconds.items())


if __name__ == "__main__":
    main()
