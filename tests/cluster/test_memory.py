"""Neither a worker nor the client ever holds the complete graph: not to load, compute, write the table or prove."""

from functools import partial
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from benchmarks.generators import grid_edges
from kernels.generators import ends
from kernels.generators.drawing import graph500
from pipeline.cluster.start import started
from pipeline.config.cluster import ClusterConfig
from pipeline.config.graph import GraphConfig
from pipeline.config.layout import LayoutConfig
from pipeline.ingest import ingest
from pipeline.steps.layout import lay_out
from pipeline.steps.runtime import Runtime
from pipeline.steps.sources import rows_of_sources
from pipeline.steps.stages import run_stage
from pipeline.steps.verify import prove
from pipeline.store.manifest import Folder
from pipeline.store.shards import dealing_of, load_shard
from pipeline.tables import files as tables
from tests.cluster import tasks as worker_tasks
from tests.cluster.calls import results
from tests.memory import grown

RANKS = 4


class Measured:
    """A cluster that notes by how much the peak memory of each rank's process grew."""

    def __init__(self, cluster, home: Path, limits: tuple[int, int] = worker_tasks.SMALL):
        self.shards, self.open_graphs, self.cluster, self.home, self.limits = cluster.shards, None, cluster, home, limits

    def map(self, function, tasks, backend, ranks=0, one_at_a_time=False, code=None):
        noted = partial(worker_tasks.measured, function, self.home, self.limits)
        return self.cluster.map(noted, tasks, backend, ranks, one_at_a_time, code)

    def most(self) -> int:
        return max(int(note.read_text()) for note in self.home.iterdir())


def test_a_rank_needs_much_less_memory_than_a_single_rank(grid, small, tmp_path, monkeypatch):
    for name, value in zip(("ROWS_PER_GROUP", "ROWS_PER_FILE"), worker_tasks.SMALL, strict=True):
        monkeypatch.setattr(tables, name, value)
    (tmp_path / "notes").mkdir()
    with started(ClusterConfig(scheduler="local", workers=RANKS, shards=RANKS, deadline=120), "cpu") as cluster:
        measured = Measured(cluster, tmp_path / "notes")
        compiled = run_stage(small, "sssp", [1], Runtime(tmp_path / "small", cluster=measured))
        prove(small, compiled, False, Runtime(tmp_path / "small", cluster=measured))
        with grown() as of_client:
            answer = run_stage(grid, "sssp", [1], Runtime(tmp_path, cluster=measured))
            of_ranks = measured.most()
            prove(grid, answer, False, Runtime(tmp_path, cluster=measured))
            of_proof = measured.most()
        (whole,) = results(cluster, partial(worker_tasks.measured_single_rank, "sssp", grid, rows_of_sources(grid, [1])), [0])
    mebibytes = [count >> 20 for count in (of_ranks, of_proof, of_client(), whole)]
    print("MiB per rank, in the proof, in the client, on a single rank:", *mebibytes)
    assert of_client() < whole / 4
    assert of_ranks < 0.6 * whole  # a part of it does not grow with the graph; tests/sharded/test_memory.py uses 32 ranks
    assert of_proof < 0.6 * whole


def wide(size: int) -> tuple[np.ndarray, np.ndarray]:
    return tuple(np.random.default_rng(size).integers(0, size, (2, size * 5 // 4)))


# Edges of a small graph and of a large one
SHAPES = {
    "kronecker": lambda large: ends(graph500(15 if large else 12), 0, 16 << (15 if large else 12)),
    "road": lambda large: grid_edges(500 if large else 200),
    "wide": lambda large: wide(240_000 if large else 40_000),
    "star": lambda large: (np.zeros(250_000 if large else 40_000, np.int64), np.arange(1, 250_001 if large else 40_001)),
}
# Bytes for each own row and ghost, and for each stored arc, shard included. The peak of resident memory counts a page that is
# shared with other processes as a whole, so it is at least the peak of their proportional shares (PSS).
OF_ROW, OF_ARC = 115, 50
FEW = 4_096, 16_384  # rows of a row group and of a file, which are in memory as a whole
OF_VERTEX = 12  # in the run's own process, which has no part of the graph


@pytest.fixture(scope="module")
def four_workers(tmp_path_factory):
    """Local workers whose allocator returns all larger arrays at once, so that a peak is that of the arrays in use."""
    with pytest.MonkeyPatch.context() as patched:
        patched.setenv("MALLOC_MMAP_THRESHOLD_", "65536")
        with started(ClusterConfig(scheduler="local", workers=RANKS, shards=RANKS, deadline=300), "cpu") as cluster:
            grow(cluster, tmp_path_factory.mktemp("compiled"), "wide", False)
            yield cluster


def stored(work: Path, shape: str, large: bool) -> Folder:
    work.mkdir(parents=True)
    src, dst = SHAPES[shape](large)
    pq.write_table(pa.table({"src": src, "dst": dst, "weight": (src * 7 + dst) % 99 + 1}), work / "edges.parquet")
    edges = ingest(GraphConfig(source=str(work / "edges.parquet"), directed=shape == "wide"), work)
    return lay_out(edges, LayoutConfig(order="windowed" if shape == "road" else "degree"), Runtime(work))


def sizes(graph: Folder) -> tuple[int, int]:
    """The most own rows and ghosts, and stored arcs, of a rank."""
    dealing = dealing_of(graph, RANKS)
    shards = [load_shard(graph, dealing, rank) for rank in range(RANKS)]
    arcs = [sum(len(csr.indices) for csr in {id(csr): csr for csr in (shard.out, shard.into)}.values()) for shard in shards]
    return max(len(shard.local_rows) for shard in shards), max(arcs)


def grow(cluster, work: Path, shape: str, large: bool) -> list[int]:
    """The bytes that a worker and the client take at their peaks; the most rows and arcs of a rank; vertices."""
    graph, notes = stored(work / shape, shape, large), work / "notes"
    notes.mkdir()
    measured = Measured(cluster, notes, FEW)
    with pytest.MonkeyPatch.context() as patched, grown() as of_client:
        for name, value in zip(("ROWS_PER_GROUP", "ROWS_PER_FILE"), FEW, strict=True):
            patched.setattr(tables, name, value)
        answer = run_stage(graph, "mst", [], Runtime(work, cluster=measured))
        of_ranks = measured.most()
        prove(graph, answer, False, Runtime(work, cluster=measured))
    return [max(of_ranks, measured.most()), of_client(), *sizes(graph), graph.facts["vertices"]]


@pytest.mark.parametrize("shape", SHAPES)
def test_a_process_grows_with_its_own_rows_ghosts_and_arcs(shape, four_workers, tmp_path):
    """What a larger graph takes more, so that what a process takes anyway does not count."""
    small, large = (grow(four_workers, tmp_path / name, shape, name == "large") for name in ("small", "large"))
    of_rank, of_client, rows, arcs, vertices = np.subtract(large, small).tolist()
    print(f"{shape}: {of_rank / rows:.1f} bytes for each of {rows} more rows and ghosts, with {arcs} more arcs;", end=" ")
    print(f"{of_client / vertices:.1f} for each vertex in the client")
    assert of_rank < OF_ROW * rows + OF_ARC * arcs
    assert of_client < OF_VERTEX * vertices + (4 << 20)
