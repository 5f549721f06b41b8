"""Files of pairs that are refused, and pairs of unknown vertices."""

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from kernels.registry import BY_NAME
from pipeline.errors import BadInput
from pipeline.steps import reach
from pipeline.steps.pairs import BATCH, blocks, maximum_flows
from pipeline.steps.reach import reach_into
from pipeline.steps.runtime import Runtime
from pipeline.store import manifest
from pipeline.tables import files as tables
from tests.pipeline.reach.inputs import write_pairs

NOT_UTF8 = pa.Array.from_buffers(pa.string(), 2, pa.array([b"3", b"\xff"]).buffers())


@pytest.mark.parametrize("unknown", [0, 99_999_999, -1, 2**63 - 1, -(2**63)])
@pytest.mark.parametrize("column", ["src", "dst"])
def test_an_unknown_vertex_is_an_error_or_null(votes, unknown, column, tmp_path):
    ends = {"src": [3, 6, 3], "dst": [6, 3, 3]}
    ends[column][1] = unknown
    pairs = write_pairs(tmp_path / "pairs.parquet", **ends)
    with pytest.raises(BadInput, match=rf"pairs\.parquet: row 1: {column} {unknown} is not in the graph"):
        reach_into(votes, pairs, tmp_path / "out")
    assert not (tmp_path / "out").exists()
    answers = reach_into(votes, pairs, tmp_path / "out", unknown="null", oracle=True)
    assert [(row["reachable"], row["decided"]) for row in tables.read(answers.path).to_pylist()] == [
        (True, "same"), (None, None), (True, "same"),
    ]  # fmt: skip
    assert answers.facts["unknown"] == 1


def test_the_first_row_with_an_unknown_vertex_is_named(votes, tmp_path):
    pairs = write_pairs(tmp_path / "pairs.parquet", [3, 3, 1, 1], [6, 0, 6, 0])
    with pytest.raises(BadInput, match="row 1: dst 0 is not in the graph"):
        reach_into(votes, pairs, tmp_path / "out")


def test_the_row_of_an_unknown_vertex_counts_from_the_first_of_the_file(votes, tmp_path):
    src = np.full(BATCH + 10, 3)
    src[BATCH + 7] = 1
    pairs = write_pairs(tmp_path / "pairs.parquet", src, np.full(len(src), 6), row_group_size=1000)
    with pytest.raises(BadInput, match=f"row {BATCH + 7}: src 1 is not in the graph"):
        reach_into(votes, pairs, tmp_path / "out")
    assert list(tmp_path.iterdir()) == [tmp_path / "pairs.parquet"]


@pytest.mark.parametrize(
    ("columns", "words"),
    [
        ({"src": [1, 2]}, "no columns 'dst'"),
        ({"a": [1], "b": [2]}, "no columns 'src'"),
        ({"src": ["3"], "dst": [6]}, "column 'src' is string, but the ids"),
        ({"src": [3], "dst": [6.0]}, "column 'dst' is double, not an integer type"),
        ({"src": [3, None], "dst": [6, 6]}, "row 1: src is null"),
        ({"src": [3, 3, 3], "dst": [6, 6, None]}, "row 2: dst is null"),
        ({"src": np.array([3, 2**63], np.uint64), "dst": [6, 6]}, "row 1: src 9223372036854775808 is not in 0"),
        ({"src": NOT_UTF8, "dst": ["6", "6"]}, "row 1: src b'.xff' is not UTF-8"),
    ],
)
@pytest.mark.parametrize("unknown", ["error", "null"])
def test_bad_pairs_are_refused(votes, columns, words, unknown, tmp_path):
    pq.write_table(pa.table(columns), tmp_path / "pairs.parquet")
    with pytest.raises(BadInput, match=words):
        reach_into(votes, str(tmp_path / "pairs.parquet"), tmp_path / "out", unknown=unknown)
    assert not (tmp_path / "out").exists()


@pytest.mark.parametrize("keep", [0, 100, -8, -400])
def test_a_truncated_or_changed_file_of_pairs_is_refused(votes, keep, tmp_path):
    path = tmp_path / "pairs.parquet"
    write_pairs(path, np.full(1000, 3), np.arange(1000) * 0 + 6, write_page_checksum=True, use_dictionary=False)
    content = bytearray(path.read_bytes())
    content[60] ^= 1
    path.write_bytes(content if keep == -400 else content[:keep])
    with pytest.raises(BadInput, match=r"pairs\.parquet: is not a complete Parquet file"):
        reach_into(votes, str(path), tmp_path / "out")
    assert not (tmp_path / "out").exists()


@pytest.mark.parametrize("pairs", ["missing.parquet", ".", "https://example.org/pairs.parquet", "text.csv"])
def test_a_missing_file_of_pairs_is_refused(votes, pairs, tmp_path):
    (tmp_path / "text.csv").write_text("src,dst\n3,6\n")
    with pytest.raises(BadInput, match=pairs):
        reach_into(votes, pairs if "://" in pairs else str(tmp_path / pairs), tmp_path / "out")


def test_pairs_that_change_while_they_are_read_are_refused(votes, tmp_path, monkeypatch):
    """Otherwise the answers would be kept for what the file was before."""
    pairs, times = write_pairs(tmp_path / "pairs.parquet", [3], [6]), []

    def rewritten(*asked):
        found = blocks(*asked)
        times.append(asked)
        write_pairs(tmp_path / "pairs.parquet", [6] * len(times), [3] * len(times))  # another content each time
        return found

    monkeypatch.setattr(reach, "blocks", rewritten)
    with pytest.raises(BadInput, match=r"pairs\.parquet: was replaced or written while it was read, and again "):
        reach_into(votes, pairs, tmp_path / "out")
    assert not (tmp_path / "out").exists()
    times.clear()
    monkeypatch.setattr(maximum_flows, "blocks", rewritten)
    write_pairs(tmp_path / "pairs.parquet", [3], [6])
    graph = manifest.read(votes / "steps" / "graph")
    with pytest.raises(BadInput, match=r"pairs\.parquet: changed while it was read"):
        maximum_flows.solve_pairs(graph, BY_NAME["max_flow"], pairs, Runtime(tmp_path))
