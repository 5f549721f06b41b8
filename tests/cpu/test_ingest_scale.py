"""Memory is bounded by a batch, and text goes through at Arrow's speed: 58 million arcs, as many as the roads of the USA."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import numpy as np
import pyarrow as pa
from pyarrow import csv

ROOT = Path(__file__).parents[2]
ARCS = 58_000_000
VERTICES = 23_947_347
CHILD = """
import json, resource, sys
from pathlib import Path
from pipeline.config import GraphConfig
from pipeline.ingest import ingest
from tests.memory import peak_bytes
graph = GraphConfig(source=sys.argv[1])
before = resource.getrusage(resource.RUSAGE_SELF)
folder = ingest(graph, Path(sys.argv[2]))
after = resource.getrusage(resource.RUSAGE_SELF)
print(json.dumps({
    "edges": folder.facts["edges"],
    "text_bytes": folder.facts["text_bytes"],
    "peak_bytes": peak_bytes(),
    "cpu_seconds": after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime,
    "modules": sorted(sys.modules),
}))
"""


def write_dimacs(path):
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
        file.write(b"c generated\np sp %d %d\n" % (VERTICES, ARCS))
        for _ in range(ARCS // count):
            file.write(sink.getvalue())


def test_58_million_arcs_in_less_than_a_gibibyte(tmp_path):
    source = tmp_path / "roads.gr"
    write_dimacs(source)
    try:
        child = subprocess.run(
            [sys.executable, "-c", CHILD, source, tmp_path / "work"], cwd=ROOT, check=True, capture_output=True, timeout=250
        )
    finally:
        source.unlink()
    found = json.loads(child.stdout)
    (tmp_path / "work" / "edges" / "part-00000.parquet").unlink()
    assert found["edges"] == ARCS
    assert found["peak_bytes"] < 2**30
    assert found["text_bytes"] / found["cpu_seconds"] > 40e6
    assert not {"numba", "scipy", "prefect"} & set(found["modules"])
    print(f"{found['peak_bytes'] / 2**20:.0f} MiB, {found['text_bytes'] / found['cpu_seconds'] / 1e6:.0f} MB/s a core")
