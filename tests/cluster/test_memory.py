"""Neither a worker nor the client ever holds the complete graph: not to load, compute, write the table or prove."""

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
    """A cluster that notes by how much the peak memory of each rank's process grew."""

    def __init__(self, cluster, home: Path):
        self.shards, self.map, self.cluster, self.home = cluster.shards, cluster.map, cluster, home

    def run_ranks(self, function, items, backend):
        return self.cluster.run_ranks(partial(pieces.measured, function, self.home), items, backend)

    def most(self) -> int:
        return max(int(note.read_text()) for note in self.home.iterdir())


def test_a_rank_needs_much_less_memory_than_a_single_rank(grid, small, tmp_path, monkeypatch):
    for name, value in zip(("ROWS_PER_GROUP", "ROWS_PER_FILE"), pieces.SMALL, strict=True):
        monkeypatch.setattr(tables, name, value)
    (tmp_path / "notes").mkdir()
    with started(ClusterConfig(scheduler="local", workers=RANKS, shards=RANKS, deadline=120), "cpu") as cluster:
        measured = Measured(cluster, tmp_path / "notes")
        compiled = run_stage(small, "sssp", [1], tmp_path / "small", cluster=measured)
        prove(small, compiled, False, tmp_path / "small", cluster=measured)
        with grown() as by_client:
            answer = run_stage(grid, "sssp", [1], tmp_path, cluster=measured)
            by_rank = measured.most()
            prove(grid, answer, False, tmp_path, cluster=measured)
            by_proof = measured.most()
        (single,) = cluster.map(partial(pieces.measured_single_rank, "sssp", rows_of_sources(grid, [1])), grid, "cpu", [0])
    mebibytes = [count >> 20 for count in (by_rank, by_proof, by_client(), single)]
    print("MiB per rank, in the proof, in the client, on a single rank:", *mebibytes)
    assert by_client() < single / 4
    assert by_rank < 0.6 * single  # a part of it does not grow with the graph; tests/sharded/test_memory.py uses 32 ranks
    assert by_proof < 0.6 * single
