"""The number of vertices of a Parquet file, estimated from some of its rows."""

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from benchmarks.generators import grid_edges
from kernels.generators import ends, graph500
from pipeline.config.graph import GraphConfig
from pipeline.ingest.formats.parquet import distinct
from pipeline.ingest.formats.parquet.distinct import distinct_ids
from pipeline.inspection.sizes import sizes_of

ROWS = 1_000_000


def kronecker():
    return ends(graph500(16), 0, ROWS)


def by_source():
    src, dst = kronecker()
    order = np.argsort(src, kind="stable")
    return src[order], dst[order]


def sparse():
    return tuple((column * 1_000_003) % 2**40 for column in kronecker())


def grid():
    src, dst = grid_edges(800)
    order = np.argsort(src, kind="stable")[:ROWS]
    return src[order], dst[order]


def twice():
    """All streets to the east before all to the north."""
    src, dst = grid_edges(800)
    north = dst - src > 1
    return tuple(np.concatenate([column[~north], column[north]])[: 2 * 799 * 800] for column in (src, dst))


def passes():
    """Three passes over ids with gaps, each in order."""
    once = np.flatnonzero(np.random.default_rng(2).random(600_000) < 0.6) * 7
    return np.tile(once, 3), np.concatenate([once + 7 * step for step in (1, 2, 3)])


def shuffled():
    order = np.random.default_rng(3).permutation(2 * 799 * 800)
    return tuple(column[order] for column in twice())


def star():
    return np.zeros(ROWS, np.int64), np.arange(ROWS)


def wide():
    return tuple(np.random.default_rng(1).integers(0, ROWS, (2, ROWS)))


@pytest.mark.parametrize("rows", [kronecker, by_source, sparse, grid, twice, passes, shuffled, star, wide])
@pytest.mark.parametrize("group", [2**15, ROWS])
def test_vertices_are_estimated_from_some_rows(rows, group, tmp_path, monkeypatch):
    src, dst = rows()
    pq.write_table(pa.table({"a": src, "b": dst}), tmp_path / "a.parquet", row_group_size=group)
    above, exact = int(max(src.max(), dst.max())) + 1, len(np.union1d(src, dst))
    assert distinct_ids([tmp_path / "a.parquet"], ("a", "b"), len(src), above) == pytest.approx(exact, rel=0.001)
    monkeypatch.setattr(distinct, "SAMPLE", 2**18)
    monkeypatch.setattr(distinct, "_BATCH", 2**14)
    if group < ROWS:  # otherwise only the beginning is read
        assert distinct_ids([tmp_path / "a.parquet"], ("a", "b"), len(src), above) == pytest.approx(exact, rel=0.15)


def test_ids_without_edges_are_no_vertices(tmp_path):
    """Of a Kronecker graph's ids about half have edges."""
    src, dst = kronecker()
    pq.write_table(pa.table({"src": src, "dst": dst}), tmp_path / "a.parquet", row_group_size=2**16)
    found = sizes_of(GraphConfig(source=str(tmp_path / "a.parquet")))
    assert found.vertices == len(np.union1d(src, dst)) < 0.8 * 2**16
    assert found.group == 2**16


def test_a_footer_that_is_wrong_is_left_to_the_reader(tmp_path):
    pq.write_table(pa.table({"src": [0, 7], "dst": [5, 6]}), tmp_path / "a.parquet")
    assert distinct_ids([tmp_path / "a.parquet"], ("src", "dst"), 2, 3) <= 3
    assert distinct_ids([tmp_path / "a.parquet"], ("src", "dst"), 0, 0) == 0
