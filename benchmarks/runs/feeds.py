"""Compare a source of many files with one file of the same edges: `python -m benchmarks.runs.feeds --help`.

Prints the seconds of step `edges`, on the clock and of all cores, from the median of several repetitions by turns, and their
ratio. CSV, Parquet and, with an S3 server of moto in a process of its own, CSV of an object store.
"""

import argparse
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from itertools import pairwise
from pathlib import Path
from statistics import median
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.csv
import pyarrow.parquet as pq

from pipeline.config.graph import GraphConfig
from pipeline.ingest import ingest

SEED = 34
VERTICES = 1 << 20
BUCKET = "feeds"


def edges(count: int) -> pa.Table:
    """Edges with weights, some 20 bytes each as text."""
    random = np.random.default_rng(SEED)
    ends = random.integers(0, VERTICES, (2, count))
    return pa.table({"src": ends[0], "dst": ends[1], "weight": random.integers(1, 1000, count)})


def write(folder: Path, form: str, table: pa.Table, files: int) -> Path:
    """Write a table as so many files of one form; return their folder."""
    folder.mkdir()
    starts = np.linspace(0, len(table), files + 1).astype(int)
    for number, (begin, end) in enumerate(pairwise(starts)):
        part, path = table[begin:end], folder / f"part-{number:05}.{form}"
        if form == "csv":
            pa.csv.write_csv(part, path, pa.csv.WriteOptions(quoting_style="none"))
        else:
            pq.write_table(part, path, row_group_size=1 << 20, use_dictionary=False)
    return folder


def measured(source: str) -> tuple[float, float]:
    """Seconds on the clock and of all cores that the step takes."""
    with tempfile.TemporaryDirectory() as folder:
        clock, cores = time.perf_counter(), time.process_time()
        ingest(GraphConfig(source=source), Path(folder))
        return time.perf_counter() - clock, time.process_time() - cores


def compare(name: str, sources: dict[int, str], repeat: int) -> None:
    """Measure sources, by their numbers of files, by turns; print a line for each, and ratios to the first."""
    taken: dict[int, list[tuple[float, float]]] = {files: [] for files in sources}
    for _ in range(repeat):
        for files, source in sources.items():
            taken[files].append(measured(source))
    medians = {files: [median(column) for column in zip(*times, strict=True)] for files, times in taken.items()}
    first = next(iter(medians.values()))
    for files, (clock, cores) in medians.items():
        ratios = f"{clock / first[0]:6.2f}x {cores / first[1]:6.2f}x"
        print(f"{name:<12} {files:>6} files  {clock:8.3f} s  {cores:8.3f} s of cores  {ratios}", flush=True)


@contextmanager
def object_store() -> Iterator[Any]:
    """A file system of an empty bucket, on a server of this machine."""
    port = "8771"
    server = subprocess.Popen(
        [sys.executable, "-m", "moto.server", "-p", port], stderr=subprocess.DEVNULL, stdout=subprocess.DEVNULL
    )
    os.environ |= {
        "AWS_ENDPOINT_URL": f"http://127.0.0.1:{port}", "AWS_ACCESS_KEY_ID": "x", "AWS_SECRET_ACCESS_KEY": "x",
        "AWS_DEFAULT_REGION": "us-east-1",
    }  # fmt: skip
    try:
        import s3fs

        store = s3fs.S3FileSystem()
        for _ in range(100):
            try:
                store.mkdir(BUCKET)
                break
            except OSError:
                time.sleep(0.2)
        yield store
    finally:
        server.terminate()
        server.wait()


def main(arguments: Sequence[str] | None = None) -> None:
    """Measure what the options ask for."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.runs.feeds", description=__doc__)
    parser.add_argument("--files", type=int, default=1000, help="files of the source of many (default: 1000)")
    parser.add_argument("--megabytes", type=int, default=1000, help="of text, in all (default: 1000)")
    parser.add_argument("--repeat", type=int, default=3, help="measurements of each source (default: 3)")
    parser.add_argument("--form", choices=("csv", "parquet", "s3"), action="append", help="default: csv and parquet")
    options = parser.parse_args(arguments)
    table = edges(options.megabytes * 1_000_000 // 18)
    with tempfile.TemporaryDirectory() as name:
        for form in options.form or ("csv", "parquet"):
            suffix = "csv" if form == "s3" else form
            written = {files: write(Path(name) / f"{form}-{files}", suffix, table, files) for files in (1, options.files)}
            if form != "s3":
                compare(form, {files: str(folder) for files, folder in written.items()}, options.repeat)
                continue
            with object_store() as store:
                for files, folder in written.items():
                    store.put(str(folder), f"{BUCKET}/{files}", recursive=True)
                compare(form, {files: f"s3://{BUCKET}/{files}/" for files in written}, options.repeat)


if __name__ == "__main__":
    main()
