"""The order of the rows of a graph that ranks hold together: a sparse graph keeps its locality, if no order is stated."""

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from benchmarks.generators import grid_edges
from pipeline.config.loading import run_config
from pipeline.run import run
from pipeline.store.facts.run import RunFacts
from pipeline.tables import files as tables


@pytest.fixture(scope="module")
def roads(tmp_path_factory):
    path = tmp_path_factory.mktemp("roads") / "grid.parquet"
    src, dst = grid_edges(120)
    kept = np.random.default_rng(1).random(len(src)) < 0.65  # degrees from 0 to 4
    src, dst = src[kept], dst[kept]
    pq.write_table(pa.table({"src": src, "dst": dst, "weight": (src * 7 + dst) % 13 + 1}), path)
    return path


def search(roads, out, **options):
    """Rows of table `bfs`, and the supersteps that they took."""
    published = run(run_config("test", graph={"source": str(roads), "directed": False}, output=out, stages=("bfs",), **options))
    return tables.read(published.path / "bfs"), RunFacts.of(published).steps["bfs"].supersteps


def test_roads_over_ranks_take_few_supersteps(roads, tmp_path):
    alone, none = search(roads, tmp_path / "alone")
    kept, few = search(roads, tmp_path / "kept", cluster={"shards": 2}, layout={"window": 256})
    by_degree, many = search(roads, tmp_path / "degree", cluster={"shards": 2}, layout={"order": "degree"})
    assert kept.equals(alone)
    assert by_degree.equals(alone)
    assert none is None
    assert 4 * few < many
