"""Compare the memory of whole runs with `graphmill estimate`, for every way to run: `python -m benchmarks.runs.memory --help`.

Each run makes five stages with their proofs in an empty folder. Its processes are looked at every 20 ms: what counts is a
process's proportional share of memory that the kernel cannot give up (`Pss_Anon` and `Pss_Shmem` of `smaps_rollup`), because maps
of stored files may leave memory at any time. A line has the run's own process, and another one the largest of its workers. The
exit status is 1 if an estimate is farther from its run than `FACTOR`, which docs/operations.md states.
"""

import argparse
import json
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator
from contextlib import suppress
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from threading import Event, Thread
from typing import Any

import numpy as np
import psutil
import pyarrow as pa
import pyarrow.parquet as pq

from benchmarks.runs import sources

FACTOR = 1.3
PAUSE = 0.02  # seconds between two looks
STAGES = ("bfs", "sssp", "mst", "wcc", "pagerank")
HEAD = "| graph | mode | limit, MB | process | MB | estimated | times |\n|---|---|---:|---|---:|---:|---:|"
MODES: dict[str, dict[str, Any]] = {
    "one process": {},
    "2 shards": {"shards": 2},
    "4 shards": {"shards": 4},
    "2 workers": {"scheduler": "local", "workers": 2},
    "2 workers, 2 shards": {"scheduler": "local", "workers": 2, "shards": 2},
}


@dataclass
class Peaks:
    """Bytes that each process of a run has had at its peak, by its number."""

    of: dict[int, int] = field(default_factory=dict)

    def look(self, process: psutil.Process) -> None:
        """Look at a process and those that it has started."""
        with suppress(psutil.Error):
            for one in (process, *process.children(recursive=True)):
                with suppress(OSError, ValueError):
                    lines = Path(f"/proc/{one.pid}/smaps_rollup").read_text(encoding="ascii").splitlines()
                    taken = sum(int(line.split()[1]) for line in lines if line.startswith(("Pss_Anon", "Pss_Shmem")))
                    self.of[one.pid] = max(self.of.get(one.pid, 0), taken * 1024)


def measured(config: Path, log: Path) -> tuple[int, int]:
    """Run a configuration: the peak of its process, and of the largest other one. Raises CalledProcessError."""
    peaks, ended = Peaks(), Event()
    command = [sys.executable, "-m", "pipeline.cli", "run", str(config)]
    with log.open("wb") as messages:
        process = subprocess.Popen(command, stdout=messages, stderr=messages)
        seen = psutil.Process(process.pid)

        def watch() -> None:
            while not ended.wait(PAUSE):
                peaks.look(seen)

        watcher = Thread(target=watch)
        watcher.start()
        process.wait()
        ended.set()
        watcher.join()
    if process.returncode:
        raise subprocess.CalledProcessError(process.returncode, command)
    own = peaks.of.pop(process.pid)
    return own, max(peaks.of.values(), default=0)


def estimated(config: Path) -> Any:
    """What the command `graphmill estimate` says; it fails if it expects too little memory."""
    command = [sys.executable, "-m", "pipeline.cli", "estimate", str(config), "--json"]
    return json.loads(subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, check=False).stdout)


def wide(path: Path, vertices: int = 2_000_000, edges: int = 2_500_000) -> None:
    """A random graph with few edges for its vertices."""
    random = np.random.default_rng(sources.SEED)
    ends, weights = random.integers(0, vertices, (2, edges)), random.integers(1, 1000, edges)
    sources.write_parquet(iter([pa.table(dict(zip(sources.COLUMNS, (*ends, weights), strict=True)))]), path)


def star(path: Path, edges: int = 2_000_000) -> None:
    """A vertex with an edge to each other one."""
    columns = np.zeros(edges, np.int64), np.arange(1, edges + 1), 1 + np.arange(edges) % 999
    sources.write_parquet(iter([pa.table(dict(zip(sources.COLUMNS, columns, strict=True)))]), path)


def _written(tables: Callable[[], Iterator[pa.Table]]) -> Callable[[Path], None]:
    return lambda path: sources.write_parquet(tables(), path)


GRAPHS: dict[str, Callable[[Path], None]] = {
    **{f"Kronecker {scale}": _written(partial(sources.kronecker, scale)) for scale in (18, 20, 21)},
    **{f"grid {side}": _written(partial(sources.grid, side)) for side in (1000, 1800)},
    "wide": wide,
    "star": star,
}


def configuration(folder: Path, source: Path, cluster: dict[str, Any], limit: int | None) -> Path:
    """Write the configuration of a run."""
    first = pq.ParquetFile(source).read_row_group(0, ["src"])["src"][0].as_py()
    lines = [f'output = "{folder / "out"}"', 'backend = "cpu"', f"sources = [{first}]", f"stages = {json.dumps(STAGES)}"]
    lines += ["[graph]", f'source = "{source}"', "directed = false", "[cluster]"]
    lines += [f"{key} = {json.dumps(value)}" for key, value in cluster.items()]
    lines += ["[limits]", f'memory = "{limit}B"'] if limit else []
    path = folder / "run.toml"
    path.write_text("\n".join(lines) + "\n", encoding="utf-8")
    return path


def compared(name: str, mode: str, source: Path, limit: int | None, folder: Path) -> Iterator[tuple[str, float]]:
    """A line for each kind of process, and the estimate over what it took."""
    config = configuration(folder, source, MODES[mode], limit)
    found = estimated(config)
    limited = f"{limit / 1e6:,.0f}" if limit else ""
    try:
        own, each = measured(config, folder / "log")
    except subprocess.CalledProcessError:
        said = (folder / "log").read_text(encoding="utf-8").splitlines()[-1]
        yield f"| {name} | {mode} | {limited} | {said.partition(';')[0]} | | | |", 1.0
        return
    said = found["memory"]
    both = [("run", own, said["own"])] + ([("each worker", each, said["each"])] if said["workers"] else [])
    for process, taken, expected in both:
        times = expected / taken
        far = " !" if not 1 / FACTOR < times < FACTOR else ""
        yield (
            f"| {name} | {mode}{far} | {limited} | {process} | {taken / 1e6:,.0f} | {expected / 1e6:,.0f} | {times:.2f} |",
            times,
        )


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.runs.memory", description=__doc__)
    parser.add_argument("--graphs", default=";".join(GRAPHS), help="names of graphs, separated by semicolons (default: all)")
    parser.add_argument("--modes", default=";".join(MODES), help="names of modes, separated by semicolons (default: all)")
    parser.add_argument(
        "--limits",
        default="0;0.5",
        help="values of [limits] memory, as shares of the estimate without one; 0: none (default: 0;0.5)",
    )
    parser.add_argument("--sources", type=Path, help="a folder that keeps the graphs (default: a temporary one)")
    asked = parser.parse_args()
    print(HEAD, flush=True)
    far = False
    with tempfile.TemporaryDirectory() as around:
        kept = asked.sources or Path(around)
        for name in asked.graphs.split(";"):
            source = kept / f"{name.replace(' ', '-')}.parquet"
            if not source.exists():
                GRAPHS[name](source)
            for mode in asked.modes.split(";"):
                for share in map(float, asked.limits.split(";")):
                    with tempfile.TemporaryDirectory(dir=around) as inner:
                        folder = Path(inner)
                        free = estimated(configuration(folder, source, MODES[mode], None))["memory"]["own"]
                        limit = int(share * free) if share else None
                        for line, times in compared(name, mode, source, limit, folder):
                            print(line, flush=True)
                            far |= not 1 / FACTOR < times < FACTOR
    sys.exit(far)


if __name__ == "__main__":
    main()
