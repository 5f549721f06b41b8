"""Workers share the searches of a stage for which each of them holds the whole graph."""

import pytest

from pipeline.config.cluster import ClusterConfig
from pipeline.config.tables import OF_STAGES
from pipeline.steps.runtime import Runtime
from pipeline.steps.stages import run_stage
from pipeline.steps.verify import prove

OPTIONS = {"betweenness": {"sources": [0, 3, 7]}, "edge_betweenness": {"sources": [0, 3, 7]}, "closure": {}}


@pytest.mark.parametrize("stage", OPTIONS)
def test_workers_elsewhere_share_the_searches(stage, cluster, small, tmp_path, monkeypatch):
    """Workers of this machine have the same cores, which one of them uses."""
    assert cluster.sharing("cpu") == 0
    options = OF_STAGES[stage](**OPTIONS[stage])
    here = run_stage(small, stage, (), Runtime(tmp_path / "here"), options)
    monkeypatch.setattr(cluster, "_config", ClusterConfig(scheduler="tcp://127.0.0.1:1"))
    assert cluster.sharing("cpu") == 2
    there = run_stage(small, stage, (), Runtime(tmp_path / "there", cluster=cluster), options)
    assert there.manifest.files == here.manifest.files and "shards" not in there.facts
    assert prove(small, there, False, Runtime(tmp_path / "there", cluster=cluster)).facts["holds"]
