"""Memory is bounded by a batch, and text takes at most 2.5 times what Arrow alone does; by night the arcs of the USA's roads."""

from __future__ import annotations

import json
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from pyarrow import csv

ROOT = Path(__file__).parents[2]
ARCS = [(12_000_000, 350 * 2**20), pytest.param(58_000_000, 2**30, marks=pytest.mark.nightly)]  # and bytes of memory
VERTICES = 23_947_347
CHILD = """
import json, sys
from pathlib import Path
from time import process_time
from pipeline.config.run import GraphConfig
from pipeline.ingest import ingest
from tests.memory import peak_bytes
graph = GraphConfig(source=sys.argv[1])
before = process_time()
folder = ingest(graph, Path(sys.argv[2]))
cpu_seconds = process_time() - before
found = {
    "edges": folder.facts["edges"],
    "text_bytes": folder.facts["text_bytes"],
    "peak_bytes": peak_bytes(),
    "cpu_seconds": cpu_seconds,
    "modules": sorted(sys.modules),
}
from tests.ingest.test_ingest_scale import seconds_of_an_arc
print(json.dumps(found | {"seconds_of_an_arc": seconds_of_an_arc(Path(sys.argv[1]), Path(sys.argv[2]))}))
"""


def write_dimacs(path, num_arcs):
    """Write random arcs, a million different ones again and again."""
    random = np.random.default_rng(0)
    count = 1_000_000
    ids = random.integers(1, VERTICES, (2, count), endpoint=True)
    arcs = pa.table(
        {"a": pa.array(["a"]).take(np.zeros(count, int)), "u": ids[0], "v": ids[1], "w": random.integers(1, 100_000, count)}
    )
    sink = pa.BufferOutputStream()
    csv.write_csv(arcs, sink, csv.WriteOptions(include_header=False, delimiter=" ", quoting_style="none"))
    with path.open("wb") as file:
        file.write(b"c generated\np sp %d %d\n" % (VERTICES, num_arcs))
        for _ in range(num_arcs // count):
            file.write(sink.getvalue())


def seconds_of_an_arc(source, folder):
    """CPU seconds that Arrow takes for an arc, read from text and written to Parquet, by the best of three millions."""
    with source.open("rb") as file:
        text = file.read(26_000_000).split(b"\n", 2)[2]
    text, seconds = text[: text.rindex(b"\n") + 1], []
    for _ in range(3):
        before = time.process_time()
        names = csv.ReadOptions(column_names=["a", "src", "dst", "weight"])
        arcs = csv.read_csv(pa.BufferReader(text), names, csv.ParseOptions(delimiter=" "))
        pq.write_table(arcs.drop_columns("a"), folder / "arrow.parquet", compression="zstd", use_dictionary=False)
        seconds.append((time.process_time() - before) / len(arcs))
    return min(seconds)


@pytest.mark.parametrize(("arcs", "memory"), ARCS)
def test_millions_of_arcs_in_bounded_memory(arcs, memory, tmp_path):
    source = tmp_path / "roads.gr"
    write_dimacs(source, arcs)
    try:
        child = subprocess.run(
            [sys.executable, "-c", CHILD, source, tmp_path / "work"], cwd=ROOT, check=True, capture_output=True, timeout=250
        )
    finally:
        source.unlink()
    found = json.loads(child.stdout)
    (tmp_path / "work" / "edges" / "part-00000.parquet").unlink()
    assert found["edges"] == arcs
    assert found["peak_bytes"] < memory
    by_arrow = arcs * found["seconds_of_an_arc"]
    assert found["cpu_seconds"] < 2.5 * by_arrow
    assert not {"numba", "scipy", "prefect"} & set(found["modules"])
    print(
        f"{found['peak_bytes'] / 2**20:.0f} MiB, {found['text_bytes'] / found['cpu_seconds'] / 1e6:.0f} MB/s a core, "
        f"{found['cpu_seconds'] / by_arrow:.2f} times Arrow's seconds"
    )
