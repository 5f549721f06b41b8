"""Neither a worker nor the client ever holds the complete graph: not to load, compute, write the table or prove."""

from functools import partial
from pathlib import Path

from pipeline.cluster.start import started
from pipeline.config.cluster import ClusterConfig
from pipeline.steps.runtime import Runtime
from pipeline.steps.sources import rows_of_sources
from pipeline.steps.stages import run_stage
from pipeline.steps.verify import prove
from pipeline.tables import files as tables
from tests.cluster import tasks as worker_tasks
from tests.cluster.calls import results
from tests.memory import grown

RANKS = 4


class Measured:
    """A cluster that notes by how much the peak memory of each rank's process grew."""

    def __init__(self, cluster, home: Path):
        self.shards, self.open_graphs, self.cluster, self.home = cluster.shards, None, cluster, home

    def map(self, function, tasks, backend, ranks=0, one_at_a_time=False, code=None):
        return self.cluster.map(partial(worker_tasks.measured, function, self.home), tasks, backend, ranks, one_at_a_time, code)

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
