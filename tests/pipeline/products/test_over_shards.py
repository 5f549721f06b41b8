"""Products of a graph that ranks hold in shards."""

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from pipeline.config.loading import run_config
from pipeline.errors import TooLarge
from pipeline.run import run
from pipeline.steps.products import configured


def test_a_graph_in_shards_whose_products_do_not_fit_a_worker_is_refused(tmp_path, monkeypatch, caplog):
    """Products need all of the graph on each worker, which the run says before its stages, with both numbers."""
    pq.write_table(pa.table({"src": [1, 2, 3], "dst": [2, 3, 4]}), tmp_path / "path.parquet")
    asked = {
        "graph": {"source": str(tmp_path / "path.parquet")},
        "stages": ["wcc"],
        "closeness": {},
        "backend": "cpu",
        "cluster": {"shards": 2},
    }
    caplog.set_level("INFO")
    run(run_config("test", **asked, output=tmp_path / "out"))
    assert "closeness: workers open all of the graph, 0 MiB, because products do not run over shards" in caplog.text
    monkeypatch.setattr(configured, "free_memory", lambda backend: 100)
    with pytest.raises(
        TooLarge, match=r"^closeness: each worker needs all of the graph, 0 MiB, not only its shard, and 0 MiB are"
    ):
        run(run_config("test", **asked, output=tmp_path / "other"))
    assert not (tmp_path / "other" / "steps" / "wcc").exists()
