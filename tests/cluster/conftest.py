"""Stored graphs for the workers."""

import os
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from benchmarks.generators import grid_edges
from pipeline.cluster.fork_server import fork_server
from pipeline.config.graph import GraphConfig
from pipeline.config.layout import LayoutConfig
from pipeline.ingest import ingest
from pipeline.steps.layout import lay_out
from pipeline.steps.runtime import Runtime
from pipeline.store.manifest import Folder, read
from pipeline.tables import files as tables
from tests.kept import kept

WIDTH, HEIGHT = 1500, 1400


@pytest.fixture(scope="module")
def kept_fork_server():
    """One fork server for all clusters of a file; each would start its own, for a second of CPU time."""
    with fork_server():
        yield


@pytest.fixture(scope="session")
def grid(tmp_path_factory) -> Folder:
    """A grid of streets, so large that every source has its own file; ids from 1, row by row. Test processes share it."""
    base = tmp_path_factory.getbasetemp()
    shared = base.parent if "PYTEST_XDIST_WORKER" in os.environ else base
    return read(kept(shared / "grid", store_large_grid) / "graph")


def store_large_grid(work: Path) -> None:
    stored = store_grid(work, WIDTH, HEIGHT)
    assert [len(answers) for answers in tables.by_file(3, stored.facts["vertices"])] == [1, 1, 1]


def store_grid(work: Path, width: int, height: int) -> Folder:
    """Make the folder `work` with a grid of streets as a stored graph."""
    work.mkdir()
    src, dst = (end + 1 for end in grid_edges(width, height))
    weights = np.random.default_rng(5).integers(1, 100, len(src))
    pq.write_table(pa.table({"src": src, "dst": dst, "weight": weights}), work / "grid.parquet")
    edges = ingest(GraphConfig(source=str(work / "grid.parquet"), directed=False), work)
    return lay_out(edges, LayoutConfig(order="windowed"), Runtime(work))


@pytest.fixture(scope="session")
def small(tmp_path_factory) -> Folder:
    """A path of ten vertices."""
    work = tmp_path_factory.mktemp("small")
    pq.write_table(pa.table({"src": np.arange(9), "dst": np.arange(1, 10)}), work / "path.parquet")
    return lay_out(ingest(GraphConfig(source=str(work / "path.parquet"), directed=False), work), LayoutConfig(), Runtime(work))
