"""Measure nights of changes: `python -m benchmarks.runs.changes --graph kronecker-21 --changes 100000`.

A small graph is run and changed first, so that kernels are compiled, as they are on a machine that ran the night before. Then
the source is laid out by one run, and each night applies a file of changes in Parquet, half of them deletions of edges and half
insertions between random vertices, in a process of its own, up to the published tables. A few drawn rows cannot be applied, and
are counted. There are the seconds of each, and what a night wrote besides the tables.
"""

import argparse
import shutil
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from benchmarks.runs import sources
from benchmarks.runs.measure import Usage, run
from kernels.gpu.devices import device_count
from pipeline.changes.state import newest
from pipeline.steps.publication.target import LATEST
from pipeline.store.facts import GraphFacts
from pipeline.store.facts.run import RunFacts
from pipeline.store.manifest import Folder, read

STAGES = "bfs,sssp,mst,wcc,pagerank"
LARGEST_WEIGHT = 999


def draw(source: Path, path: Path, number: int, seed: int) -> None:
    """Write a file of changes of a source."""
    random = np.random.default_rng(seed)
    file = pq.ParquetFile(source)
    group = file.read_row_group(int(random.integers(file.num_row_groups)), ["src", "dst"])
    src, dst = (group[name].to_numpy() for name in ("src", "dst"))
    some = random.choice(len(src), min(number // 2, len(src)), replace=False)
    ends = random.integers(0, int(max(src.max(), dst.max())) + 1, (2, number - len(some)))
    ops = np.repeat(["delete", "insert"], [len(some), ends.shape[1]])
    weights = pa.array(random.integers(1, LARGEST_WEIGHT + 1, number), mask=ops == "delete")
    columns = {
        "op": pa.array(ops).dictionary_encode(),
        "src": np.append(src[some], ends[0]),
        "dst": np.append(dst[some], ends[1]),
    }
    order = random.permutation(number)
    pq.write_table(pa.table(columns | {"weight": weights}).take(order), path)


def written_besides(graph: Folder) -> int:
    """Bytes of the files of a state that the state before does not have."""
    files = [graph.path / name for name in graph.manifest.files]
    return sum(file.stat().st_size for file in files if file.stat().st_nlink == 1)


@dataclass(frozen=True)
class MeasuredNights:
    """A graph, its runs, and a folder for them."""

    kind: str  # {"kronecker", "grid"}
    size: int
    folder: Path
    backend: str

    @property
    def _out(self) -> Path:
        return self.folder / "out"

    @property
    def _source(self) -> Path:
        return self.folder / f"{self.kind}-{self.size}.parquet"

    def first(self) -> Usage:
        """Run the source, which is written if it is not there."""
        self.folder.mkdir(parents=True, exist_ok=True)
        if not self._source.exists():
            sources.write_parquet({"kronecker": sources.kronecker, "grid": sources.grid}[self.kind](self.size), self._source)
        shutil.rmtree(self._out, ignore_errors=True)
        command = ["-m", "pipeline.cli", "run", str(self._source), "--undirected", "--stages", STAGES, "--out", str(self._out)]
        return run([*command, "--backend", self.backend], self.folder / "log")

    def night(self, number: int, changes: int) -> tuple[Usage, str]:
        """Apply a file of changes; what was used, and what the run says of itself."""
        path = self.folder / f"changes-{number}.parquet"
        draw(self._source, path, changes, number)
        used = run(["-m", "pipeline.cli", "change", str(self._out), str(path), "--count-violations"], self.folder / "log")
        facts = RunFacts.of(read((self._out / "latest").resolve()))
        graph = newest(self._out, LATEST).steps()[1]
        state = GraphFacts.of(graph).state
        steps = ", ".join(
            f"{name} {step.seconds:.2f}" for name, step in facts.steps.items() if step.seconds >= 0.05 and name != "edges"
        )
        more = written_besides(graph) / path.stat().st_size
        counts = f"{state and state.inserted} inserted, {state and state.deleted} deleted"
        return used, f"{steps}\n  {counts}; wrote {more:.1f} times the file's bytes"


def main() -> None:
    """Measure the nights."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.runs.changes", description=__doc__)
    parser.add_argument("--graph", default="kronecker-21", help="kronecker-SCALE or grid-SIDE")
    parser.add_argument("--changes", type=int, default=100_000, help="rows of each file")
    parser.add_argument("--nights", type=int, default=2)
    parser.add_argument("--out", type=Path, default=Path("out/benchmarks/changes"), help="folder of the source and the tables")
    asked = parser.parse_args()
    kind, _, size = asked.graph.partition("-")
    backend = "gpu" if device_count() else "cpu"
    small = MeasuredNights(kind, {"kronecker": 12, "grid": 64}[kind], asked.out / "warm", backend)
    small.first()
    small.night(0, 1000)
    measured = MeasuredNights(kind, int(size), asked.out, backend)
    print(f"{asked.graph}, {backend}: a run over the source takes {measured.first().wall:.1f} s", flush=True)
    for night in range(asked.nights):
        used, said = measured.night(night, asked.changes)
        print(f"night {night + 1}: {used.wall:.2f} s, {used.cores:.1f} cores, {used.peak / 1e9:.1f} GB; {said}", flush=True)


if __name__ == "__main__":
    main()
