"""Measure nights of changes: `python -m benchmarks.runs.changes --graph kronecker-21 --changes 100000`.

The source is laid out once, by a run that does not count. Then each night applies a file of changes in Parquet, half of them
deletions of edges and half insertions between random vertices, in a process of its own, up to the published tables. A few drawn
rows cannot be applied, and are counted. The last line has the seconds of the last night, and what it wrote besides the tables.
"""

import argparse
import shutil
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from benchmarks.runs import sources
from benchmarks.runs.measure import run
from kernels.gpu.devices import device_count
from pipeline.changes.state import newest
from pipeline.steps.published.target import LATEST
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


def main() -> None:
    """Measure the nights."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.runs.changes", description=__doc__)
    parser.add_argument("--graph", default="kronecker-21", help="kronecker-SCALE or grid-SIDE")
    parser.add_argument("--changes", type=int, default=100_000, help="rows of each file")
    parser.add_argument("--nights", type=int, default=2, help="the first one may compile kernels")
    parser.add_argument("--out", type=Path, default=Path("out/benchmarks/changes"), help="folder of the source and the tables")
    asked = parser.parse_args()
    kind, _, size = asked.graph.partition("-")
    source, out, backend = asked.out / f"{asked.graph}.parquet", asked.out / "out", "gpu" if device_count() else "cpu"
    asked.out.mkdir(parents=True, exist_ok=True)
    if not source.exists():
        sources.write_parquet({"kronecker": sources.kronecker, "grid": sources.grid}[kind](int(size)), source)
    shutil.rmtree(out, ignore_errors=True)
    command = ["-m", "pipeline.cli", "run", str(source), "--undirected", "--stages", STAGES, "--out", str(out)]
    first = run([*command, "--backend", backend], asked.out / "log")
    print(f"{asked.graph}, {backend}: a run over the source takes {first.wall:.1f} s")
    for night in range(asked.nights):
        path = asked.out / f"changes-{night}.parquet"
        draw(source, path, asked.changes, night)
        used = run(["-m", "pipeline.cli", "change", str(out), str(path), "--count-violations"], asked.out / "log")
        facts = RunFacts.of(read((out / "latest").resolve()))
        graph = newest(out, LATEST).steps()[1]
        state = GraphFacts.of(graph).state
        steps = ", ".join(f"{name} {step.seconds:.2f}" for name, step in facts.steps.items() if step.seconds >= 0.05)
        print(f"night {night + 1}: {used.wall:.2f} s, {used.cores:.1f} cores, {used.peak / 1e9:.1f} GB; {steps}")
        more = written_besides(graph) / path.stat().st_size
        print(
            f"  {state and state.inserted} inserted, {state and state.deleted} deleted; wrote {more:.1f} times the file's bytes"
        )


if __name__ == "__main__":
    main()
