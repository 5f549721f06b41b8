"""Files of changes in Parquet: the types of their columns."""

from datetime import date

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from pipeline.changes.reading import read_changes
from pipeline.changes.rows import DELETE
from pipeline.config.graph import GraphConfig
from pipeline.errors import BadInput
from pipeline.ingest.source import locate


def read(path, named=False, kind="double", **columns):
    pq.write_table(pa.table({"op": ["insert"], "src": [1], "dst": [2], "weight": [1]} | columns), path)
    return read_changes(locate(str(path)), None, GraphConfig(source="edges.csv"), kind, named)


def test_columns_of_other_types(tmp_path):
    path, not_utf8 = tmp_path / "changes.parquet", pa.Array.from_buffers(pa.string(), 1, pa.array([b"\xff"]).buffers())
    assert read(path, weight=[2**53 + 1]).weights == [2.0**53]
    only_deletions = read(path, op=["delete"], weight=pa.nulls(1))  # as pandas writes them
    assert (only_deletions.ops.tolist(), only_deletions.weights.tolist()) == ([DELETE], [0])
    names = {"src": ["ana"], "dst": ["bob"], "named": True}
    for columns, words in (
        ({"op": [1]}, "column 'op' is int64, not string"),
        ({"op": not_utf8}, r"row 0: op b'\\xff' is not UTF-8"),
        ({"weight": [True]}, "column 'weight' is bool; a weight must be an integer, float or double"),
        ({"weight": pa.nulls(1)}, "row 0: weight is missing"),
        ({"src": [date(2026, 1, 1)]}, r"column 'src' is date32\[day\], not an integer type or string"),
        ({"src": [[1]]}, "column 'src' is list<element: int64>, not an integer type or string"),
        (names | {"src": [""]}, "row 0: src is empty"),
        (names | {"src": not_utf8}, r"row 0: src b'\\xff' is not UTF-8"),
    ):
        with pytest.raises(BadInput, match=words):
            read(path, **columns)


def test_weights_fit_the_type_of_the_graph(tmp_path):
    path = tmp_path / "changes.parquet"
    assert read(path, kind="int32", weight=[2**31 - 1]).weights == [2**31 - 1]
    assert read(path, kind="float", weight=[3e38]).weights == [3e38]
    for kind, weight, words in (
        ("int32", 2**31, "row 0: weight 2147483648 exceeds 2147483647, the largest int32, the type of this graph's weights"),
        ("float", 1e39, "row 0: weight 1e\\+39 exceeds 3.4028.*e\\+38, the largest float, the type of this graph's weights"),
        ("int64", 0.5, "column 'weight' is double, but the weights of this graph are integers; for others run"),
    ):
        with pytest.raises(BadInput, match=words):
            read(path, kind=kind, weight=[weight])
    path.with_suffix(".csv").write_text("op,src,dst,weight\ninsert,1,2,0.5\n")
    with pytest.raises(BadInput, match=r"line 2: weight '0\.5' is not an integer, but the weights of this graph are integers"):
        read_changes(locate(str(path.with_suffix(".csv"))), None, GraphConfig(source="edges.csv"), "int64", False)
