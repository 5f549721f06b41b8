"""Edges that go to the GPU while they are checked: the same columns, facts and refusals as on the CPU."""

# ruff: noqa: E402  (the imports below need CuPy)

import numpy as np
import pytest

cupy = pytest.importorskip("cupy")
for module in ("fsspec", "pyarrow", "pydantic"):
    pytest.importorskip(module)

import pyarrow as pa
import pyarrow.parquet as pq

from pipeline.config.graph import GraphConfig
from pipeline.errors import BadInput
from pipeline.ingest import ingest
from pipeline.store.edges import HeldEdges, read_edges


def source(folder, **columns):
    pq.write_table(pa.table(columns), folder / "source.parquet", row_group_size=100)
    return GraphConfig(source=str(folder / "source.parquet"))


@pytest.mark.parametrize("largest", [90, 2**31 - 1, 2**31, 2**62])
@pytest.mark.parametrize("weight", ["none", "uint8", "int64", "float", "double"])
def test_held_columns_are_those_that_are_read(largest, weight, tmp_path):
    random = np.random.default_rng(4)
    columns = {name: random.integers(0, largest, 450, endpoint=True) for name in ("src", "dst")}
    columns["src"][7] = largest
    if weight != "none":
        columns["weight"] = pa.array(random.integers(0, 99, 450)).cast(weight)
    held = HeldEdges("gpu")
    edges = ingest(source(tmp_path, **columns), tmp_path / "work", held)
    found, again, expected = held.take(edges), read_edges(edges, "gpu"), read_edges(edges)
    for one, other, array in zip(found, again, expected, strict=True):
        assert (one is None) == (other is None) == (array is None)
        if one is not None:
            assert one.dtype == other.dtype
            assert np.array_equal(cupy.asnumpy(one), array)
            assert np.array_equal(cupy.asnumpy(other), array)
    assert found[0].dtype == (np.int32 if largest < 2**31 else np.int64)


def test_text_goes_to_the_gpu(tmp_path):
    (tmp_path / "source.gr").write_text("p sp 3 2\na 1 2 5\na 2 3 7\n")
    held = HeldEdges("gpu")
    edges = ingest(GraphConfig(source=str(tmp_path / "source.gr")), tmp_path / "work", held)
    columns = held.take(edges)
    assert [cupy.asnumpy(column).tolist() for column in columns] == [[1, 2], [2, 3], [5, 7]]
    assert [column.dtype for column in columns] == [np.int32] * 3


BAD = {
    "negative id": {"src": [1, -1], "dst": [2, 3]},
    "null": {"src": [1, None], "dst": [2, 3]},
    "id beyond int64": {"src": pa.array([1, 2**63], pa.uint64()), "dst": [2, 3]},
    "not a number": {"src": [1, 2], "dst": [2, 3], "weight": [1.0, float("nan")]},
    "infinite": {"src": [1, 2], "dst": [2, 3], "weight": [1.0, float("inf")]},
    "negative weight": {"src": [1, 2], "dst": [2, 3], "weight": [1, -7]},
    "text": {"src": ["a"], "dst": [2]},
}


@pytest.mark.parametrize("name", BAD)
def test_refusals_are_those_of_the_cpu(name, tmp_path):
    bad, reasons = source(tmp_path, **BAD[name]), []
    for held in (HeldEdges("gpu"), None):
        with pytest.raises(BadInput) as caught:
            ingest(bad, tmp_path / "work", held)
        reasons.append(str(caught.value))
        assert list((tmp_path / "work").glob("*")) == []
    assert reasons[0] == reasons[1]
