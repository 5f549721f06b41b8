"""Workers are killed at random moments: during supersteps of a sharded graph, and while they write tables."""

import random
from functools import partial
from itertools import count, cycle
from pathlib import Path

import pytest

from kernels.registry import BY_NAME
from pipeline.cluster.protocol import Cluster
from pipeline.cluster.start import started
from pipeline.cluster.threads import LocalThreads
from pipeline.config.cluster import ClusterConfig
from pipeline.config.graph import GraphConfig
from pipeline.config.layout import LayoutConfig
from pipeline.config.run import STAGES
from pipeline.ingest import ingest
from pipeline.steps.layout import lay_out
from pipeline.steps.runtime import Runtime
from pipeline.steps.stages import run_stage
from pipeline.steps.verify import prove
from pipeline.store.manifest import Folder
from tests.cluster import tasks as worker_tasks
from tests.cluster.faults.killer import Killer
from tests.cluster.processes import local_workers
from tests.flows.processes import ROOT

SOURCES = [1, 2, 3_000]
AT_ONCE = 3  # at most so many kills in a stage, and in its proof
SHARDED = [stage for stage in STAGES if not BY_NAME[stage].has_index]


class Deadly:
    """A cluster whose workers are killed at random moments while their ranks run."""

    def __init__(self, cluster: Cluster, home: Path, seed: int):
        self.shards, self.open_graphs = cluster.shards, None
        self.cluster, self.home, self.random, self.number = cluster, home, random.Random(seed), count()
        self.due = 0

    @property
    def died(self) -> int:
        return len(list(self.home.glob("death-*")))

    def map(self, function, tasks, backend, ranks=0, one_at_a_time=False, code=None):
        deaths = [
            worker_tasks.Death(
                self.random.randrange(self.shards), self.random.randint(1, 25), self.random.uniform(0, 0.05),
                self.home / f"death-{next(self.number)}",
            )
            for _ in range(min(AT_ONCE, self.due - self.died))
        ]  # fmt: skip
        return self.cluster.map(partial(worker_tasks.mortal, function, deaths), tasks, backend, ranks, one_at_a_time, code)


@pytest.fixture(scope="module")
def rome(tmp_path_factory) -> Folder:
    work = tmp_path_factory.mktemp("rome")
    edges = ingest(GraphConfig(source=str(ROOT / "data" / "rome99.gr.gz")), work)
    return lay_out(edges, LayoutConfig(order="windowed", shards=2), Runtime(work))


@pytest.mark.parametrize(("kills", "seed"), [(3, 1), pytest.param(50, 2, marks=[pytest.mark.nightly, pytest.mark.timeout(3600)])])
def test_tables_are_right_even_if_workers_are_killed_at_any_superstep(kills, seed, rome, tmp_path):
    # One worker may die late, when the next ranks have begun.
    config = ClusterConfig(scheduler="local", workers=2, shards=3, lost_workers=2 * AT_ONCE)
    expected = {stage: run_stage(rome, stage, SOURCES, Runtime(tmp_path / "here", cluster=LocalThreads())) for stage in SHARDED}
    expected["pagerank"] = None  # rounded differently over shards
    with started(config, "cpu") as cluster:
        deadly = Deadly(cluster, tmp_path, seed)
        deadly.due = kills
        for number, stage in enumerate(cycle(SHARDED)):
            found = run_stage(rome, stage, SOURCES, Runtime(tmp_path / str(number), cluster=deadly))
            expected[stage] = expected[stage] or found
            assert found.manifest.files == expected[stage].manifest.files
            assert prove(rome, found, False, Runtime(tmp_path / str(number), cluster=deadly)).facts["holds"]
            if deadly.died == kills:
                break
    assert not local_workers()


@pytest.mark.nightly
@pytest.mark.timeout(3600)
def test_tables_are_right_even_if_workers_are_killed_at_any_source(grid, tmp_path):
    sources = list(range(1, 1_200_000, 100_000))
    expected = run_stage(grid, "bfs", sources, Runtime(tmp_path / "here"))
    killed = 0
    with started(ClusterConfig(scheduler="local", workers=2, lost_workers=50), "cpu") as cluster:
        for number in range(10):
            work = tmp_path / str(number)
            killer = Killer(work, ".graphmill-*/files/attempts/*", 5, seed=number)
            killer.start()
            try:
                found = run_stage(grid, "bfs", sources, Runtime(work, cluster=cluster))
            finally:
                killer.stop = True
                killer.join()
            assert found.manifest.files == expected.manifest.files
            killed += len(killer.killed)
    assert killed == 50
