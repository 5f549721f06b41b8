"""Ingest reads millions of arcs in bounded memory; `make nightly` reads as many as the USA's roads have."""

import json
import subprocess
import sys
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest
from pyarrow import csv

from kernels.cpu.parallel import cores

ROOT = Path(__file__).parents[2]
# Arcs, and the bytes of memory that they may take: each core has blocks of text and a million edges.
ARCS = [(12_000_000, (350 + 50 * cores()) * 2**20), pytest.param(58_000_000, 2**30, marks=pytest.mark.nightly)]
VERTICES = 23_947_347
CHILD = """
import json, sys
from pathlib import Path
from pipeline.config.graph import GraphConfig
from pipeline.ingest import ingest
from tests.memory import peak_bytes
graph = GraphConfig(source=sys.argv[1])
folder = ingest(graph, Path(sys.argv[2]))
found = {
    "edges": folder.facts["edges"],
    "text_bytes": folder.facts["text_bytes"],
    "peak_bytes": peak_bytes(),
    "modules": sorted(sys.modules),
}
print(json.dumps(found))
"""


def write_dimacs(path, num_arcs):
    """Write random arcs; the file repeats the same million."""
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


@pytest.mark.parametrize(("arcs", "memory"), ARCS)
def test_millions_of_arcs_in_bounded_memory(arcs, memory, tmp_path):
    source = tmp_path / "roads.gr"
    write_dimacs(source, arcs)
    try:
        command = [sys.executable, "-c", CHILD, source, tmp_path / "work"]
        child = subprocess.run(command, cwd=ROOT, check=True, capture_output=True)
    finally:
        source.unlink()
    found = json.loads(child.stdout)
    (tmp_path / "work" / "edges" / "part-00000.parquet").unlink()
    assert found["edges"] == arcs
    assert found["peak_bytes"] < memory
    assert not {"numba", "scipy", "prefect"} & set(found["modules"])
