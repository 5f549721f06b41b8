"""Random histories of a graph: files of changes applied one after the other, compared with runs over the changed source.

As a command: `python -m tests.pipeline.changes.histories 1000 50 [FIRST] --processes 16` prints every difference, and ends with
counts and the number with which the next command goes on.
"""

import argparse
import sys
import tempfile
import time
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass, field
from multiprocessing import get_context
from pathlib import Path
from typing import Any
from unittest.mock import patch

import numpy as np
import pyarrow as pa
import pyarrow.csv
import pyarrow.parquet as pq
import pytest

from pipeline.changes import change, compaction
from pipeline.config.run import RunConfig
from pipeline.progress.shown import Call
from pipeline.run import run

# Whose tables have one right value.
STAGES = (
    "bfs",
    "sssp",
    "mst",
    "wcc",
    "scc",
    "reachability",
    "betweenness",
    "edge_betweenness",
    "communities",
    "closure",
    "cores",
    "cdlp",
)


@dataclass
class Model:
    """A graph as its users see it."""

    directed: bool
    weighted: bool
    rng: np.random.Generator
    vertices: set[int] = field(default_factory=set)
    edges: dict[tuple[int, int], int] = field(default_factory=dict)
    named: bool = False  # the ids of the files are strings, in another order than the vertices here

    def ids(self, vertices: list[int]) -> pa.Array:
        if not self.named:
            return pa.array(vertices, pa.int64())
        return pa.array([f"{vertex * 7919 % 1009}\u00e9" for vertex in vertices], pa.string())

    def pair(self, src: int, dst: int) -> tuple[int, int]:
        return (src, dst) if self.directed else (min(src, dst), max(src, dst))

    def source(self, path: Path) -> None:
        """Write the edges; a vertex without one has a self-loop, which a run drops."""
        listed = [*self.edges] + [(vertex, vertex) for vertex in sorted(self.vertices)]
        table = pa.table({"src": self.ids([src for src, _ in listed]), "dst": self.ids([dst for _, dst in listed])})
        if self.weighted:
            table = table.append_column("weight", pa.array([self.edges.get(pair, 0) for pair in listed], pa.int64()))
        pq.write_table(table, path)

    def file(self, path: Path, rows: int) -> None:
        """Draw changes, apply them here, and write them; their order in the file does not matter."""
        seen, listed = set[tuple[int, int]](), []
        for _ in range(rows):
            src, dst = self.ends()
            pair = self.pair(src, dst)
            if pair in seen or src == dst:
                continue
            seen.add(pair)
            weight = int(self.rng.choice([0, 3, 7, 2**31], p=[0.3, 0.34, 0.35, 0.01]))
            if pair not in self.edges:
                op, self.edges[pair] = "insert", weight
                self.vertices |= {src, dst}
            elif self.weighted and self.rng.random() < 0.4:
                op, self.edges[pair] = "update", weight
            else:
                op = "delete"
                del self.edges[pair]
            listed.append((op, src, dst, None if op == "delete" else weight))
        names = ("op", "src", "dst", "weight")[: 3 + self.weighted]
        ops, weights = (pa.array([row[place] for row in listed], kind) for place, kind in ((0, pa.string()), (3, pa.int64())))
        ends = (self.ids([row[place] for row in listed]) for place in (1, 2))
        table = pa.table([ops, *ends, weights][: len(names)], names)
        (pq.write_table if path.suffix == ".parquet" else pa.csv.write_csv)(table, path)

    def ends(self) -> tuple[int, int]:
        """An edge of the graph, or any pair of vertices, seldom a new one."""
        if self.edges and self.rng.random() < 0.5:
            return [*self.edges][self.rng.integers(len(self.edges))]
        src, dst = self.rng.integers(0, 12 + len(self.vertices) // 12, 2)
        return int(src), int(dst)


def config_of(model: Model, source: Path, out: Path, **options: Any) -> RunConfig:
    graph = {"source": str(source), "directed": model.directed, "name": "history"}
    values = {
        "graph": graph,
        "output": out,
        "stages": STAGES,
        "betweenness": {"weights": False},  # some weights are 0
        "edge_betweenness": {"weights": False},
        "sources": model.ids([0, 1]).to_pylist(),
        "expect": {"empty": True},
        "backend": "cpu",
        "keep": 1,
    }
    return RunConfig.model_validate(values | options)


def tables(run_folder: Path) -> dict[str, list[bytes]]:
    """The bytes of every table of a run, but for change tables."""
    found = [folder for folder in sorted(run_folder.iterdir()) if folder.is_dir() and "index" not in folder.name]
    folders = [folder for folder in found if not folder.name.endswith("_changes")]
    return {folder.name: [file.read_bytes() for file in sorted(folder.glob("*.parquet"))] for folder in folders}


def differing(first: Path, second: Path) -> list[str]:
    """The tables that differ between two runs."""
    one, two = tables(first), tables(second)
    return sorted(name for name in one.keys() | two.keys() if one.get(name) != two.get(name))


def stopping(at: str) -> Call:
    """A call of steps that ends the run at one of them."""

    def call(name: str, step: Any, /, *arguments: Any, **named: Any) -> Any:
        if name == at:
            raise InterruptedError
        return step(*arguments, **named)

    return call


def history(seed: int, work: Path, files: int, compared: int = 1, **options: Any) -> list[str]:
    """Play one history; the tables that differ from those of a rebuild, after every `compared` files and at the end."""
    rng = np.random.default_rng(seed)
    model = Model(bool(seed % 2), bool(seed // 2 % 2), rng, {0, 1}, {(0, 1): 3}, bool((seed ^ seed >> 1 ^ seed >> 2) & 1))
    out, wrong = work / "out", []
    model.file(work / "first.parquet", int(rng.integers(0, 40)))
    model.source(work / "source.parquet")
    run(config_of(model, work / "source.parquet", out, **options))
    for number in range(1, files + 1):
        path = work / f"changes-{number}.{'parquet' if number % 2 else 'csv'}"
        model.file(path, int(rng.integers(0, 1 + rng.choice([4, 30]))))
        with (
            patch.object(compaction, "SHARE", rng.choice([0, 0.3, 100])),
            patch.object(compaction, "SEGMENT", int(rng.choice([5, 1000]))),
        ):
            if number % 3 == 0:
                path = work / "snapshot.parquet"
                model.source(path)
            asked = {"snapshot": number % 3 == 0, "again": True}  # short files may be equal
            if rng.random() < 0.3:
                with pytest.raises(InterruptedError):
                    change(out, path, call=stopping(str(rng.choice(["graph", "wcc", "report", "publish"]))), **asked)
            published = change(out, path, **asked)
        if number % compared == 0 or number == files:
            model.source(work / "now.parquet")
            rebuilt = run(config_of(model, work / "now.parquet", work / "rebuilt", **options | {"backend": "cpu"}))
            wrong += [f"history {seed}, file {number}: {name}" for name in differing(published.path, rebuilt.path)]
    return wrong


def faults_of(files: int, backend: str, seed: int) -> list[str]:
    """The differences of one history, played on a backend, from rebuilds on the CPU; an error is a difference, too.

    It is played in a folder of its own: in memory, if there is a file system, because flushes are free there.
    """
    memory = Path("/dev/shm")
    with tempfile.TemporaryDirectory(dir=memory if memory.is_dir() else None) as work:
        try:
            return history(seed, Path(work), files, 5, backend=backend)
        except Exception as error:
            return [f"history {seed}: {type(error).__name__}: {error}"]


def main() -> int:
    """Play histories; return the number of differences."""
    parser = argparse.ArgumentParser(prog="python -m tests.pipeline.changes.histories", description=__doc__)
    parser.add_argument("histories", type=int)
    parser.add_argument("files", type=int)
    parser.add_argument("first", type=int, nargs="?", default=0)
    parser.add_argument("--processes", type=int, default=1)
    parser.add_argument("--backend", choices=["cpu", "gpu"], default="cpu")
    parser.add_argument("--seconds", type=float, default=np.inf, help="after which no further history begins")
    asked, count, played, started = parser.parse_args(), 0, 0, time.monotonic()
    with ProcessPoolExecutor(asked.processes, get_context("spawn")) as processes:
        seeds = range(asked.first, asked.first + asked.histories)
        playing = [processes.submit(faults_of, asked.files, asked.backend, seed) for seed in seeds]
        while played < len(playing) and not playing[played].cancelled():
            faults = playing[played].result()
            played, count = played + 1, count + len(faults)
            print("".join(f"{fault}\n" for fault in faults), end="", flush=True)
            if time.monotonic() - started > asked.seconds:
                for later in playing:
                    later.cancel()
    print(f"{played} histories of {asked.files} files: {count} differences; next {asked.first + played}")
    return count


if __name__ == "__main__":
    sys.exit(bool(main()))
