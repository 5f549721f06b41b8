"""The layout over ranks on worker processes has the bytes of a single rank's, even if a worker is killed."""

import os
import signal
from functools import partial
from pathlib import Path

from pipeline.cluster.start import started
from pipeline.config.cluster import ClusterConfig
from pipeline.config.graph import GraphConfig
from pipeline.config.layout import LayoutConfig
from pipeline.ingest import ingest
from pipeline.steps.layout import lay_out
from pipeline.steps.runtime import Runtime

ROME = Path(__file__).parents[2] / "data" / "rome99.gr.gz"


class Dying:
    """A cluster where the process of one rank is killed in the first attempt."""

    def __init__(self, cluster, note):
        self.shards, self.open_graphs, self.cluster, self.note = cluster.shards, None, cluster, note

    def map(self, function, tasks, backend, ranks=0, one_at_a_time=False, code=None):
        return self.cluster.map(partial(die_once, function, self.note), tasks, backend, ranks, one_at_a_time, code)


def die_once(function, note, context, task):
    result = function(context, task)
    if context.communicator.rank == 1 and not note.exists():
        note.touch()
        os.kill(os.getpid(), signal.SIGKILL)
    return result


def test_the_layout_of_rome_over_three_ranks_on_two_workers(tmp_path):
    edges = ingest(GraphConfig(source=str(ROME)), tmp_path)
    one = lay_out(edges, LayoutConfig(order="windowed", shards=3), Runtime(tmp_path / "one"))
    with started(ClusterConfig(scheduler="local", workers=2, shards=3), "cpu") as cluster:
        many = lay_out(edges, LayoutConfig(order="windowed"), Runtime(tmp_path / "many", cluster=cluster))
        again = lay_out(
            edges, LayoutConfig(order="windowed"), Runtime(tmp_path / "again", cluster=Dying(cluster, tmp_path / "died"))
        )
    assert (tmp_path / "died").exists()
    assert many.manifest.files == again.manifest.files == one.manifest.files
    facts = [folder.facts | {"proof": folder.facts["proof"]["rules"]} for folder in (many, again, one)]
    assert facts[0] == facts[1] == facts[2]
    assert not [path for path in (tmp_path / "again").iterdir() if path.name != "graph"]
