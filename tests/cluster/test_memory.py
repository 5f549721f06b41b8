"""No worker, and not the process that asks them, ever holds the whole graph: loading, kernel, writing of the table, and proof."""

from __future__ import annotations

from functools import partial
from pathlib import Path

from pipeline.cluster.protocol import started
from pipeline.config.cluster import ClusterConfig
from pipeline.steps.sources import rows_of_sources
from pipeline.steps.stages import run_stage
from pipeline.steps.verify import prove
from pipeline.tables import files as tables
from tests.cluster import pieces
from tests.memory import grown

RANKS = 4


class Measured:
    """A cluster that notes how far the memory of each rank's process grew."""

    def __init__(self, cluster, home: Path):
        self.shards, self.map, self.cluster, self.home = cluster.shards, cluster.map, cluster, home

    def run_ranks(self, function, items, backend):
        return self.cluster.run_ranks(partial(pieces.measured, function, self.home), items, backend)

    def most(self) -> int:
        return max(int(note.read_text()) for note in self.home.iterdir())


def test_a_rank_takes_little_of_what_one_worker_takes(grid, small, tmp_path, monkeypatch):
    for name, value in zip(("ROWS_PER_GROUP", "ROWS_PER_FILE"), pieces.SMALL, strict=True):
        monkeypatch.setattr(tables, name, value)
    (tmp_path / "notes").mkdir()
    with started(ClusterConfig(scheduler="local", workers=RANKS, shards=RANKS, deadline=120), "cpu") as cluster:
        measured = Measured(cluster, tmp_path / "notes")
        compiled = run_stage(small, "sssp", [1], tmp_path / "small", cluster=measured)
        prove(small, compiled, False, tmp_path / "small", cluster=measured)
        with grown() as of_client:
            answer = run_stage(grid, "sssp", [1], tmp_path, cluster=measured)
            of_ranks = measured.most()
            prove(grid, answer, False, tmp_path, cluster=measured)
            of_proof = measured.most()
        (whole,) = cluster.map(partial(pieces.measured_alone, "sssp", rows_of_sources(grid, [1])), grid, "cpu", [0])
    print(
        f"{of_ranks >> 20} MiB a rank, {of_proof >> 20} in the proof, {of_client() >> 20} who asks, {whole >> 20} by one worker"
    )
    assert of_client() < whole / 4
    assert of_ranks < 0.6 * whole  # of which a part does not grow with the graph; tests/sharded/test_memory.py has 32 ranks
    assert of_proof < 0.6 * whole
