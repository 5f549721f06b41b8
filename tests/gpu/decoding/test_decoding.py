"""Parquet files that libcudf decodes: the same edges as those of Arrow, and the same refusals."""

# ruff: noqa: E402  (the imports below need CuPy)
import sys
from importlib.util import find_spec

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

cupy = pytest.importorskip("cupy")

from pipeline.config.graph import GraphConfig
from pipeline.errors import BadInput
from pipeline.ingest import ingest
from pipeline.ingest.formats.parquet import on_gpu
from pipeline.ingest.formats.parquet.on_gpu import ColumnsForGpu
from pipeline.store.edges import HeldEdges
from tests.gpu.decoding import libcudf

ROWS, GROUP = 3000, 256


@pytest.fixture(autouse=True)
def decoded(monkeypatch):
    """Whether each file was decoded by libcudf."""
    if find_spec("pylibcudf") is None:
        monkeypatch.setitem(sys.modules, "pylibcudf", libcudf.module())
    monkeypatch.setattr(on_gpu, "FROM_BYTES", 0)
    monkeypatch.setattr(on_gpu, "_BATCH", 5 * GROUP * 8 * 3)
    monkeypatch.setattr(on_gpu, "_COMPARED", 5)
    outcomes, put = [], ColumnsForGpu.put

    def noted(columns, arrays):
        outcomes.append(put(columns, arrays))
        return outcomes[-1]

    monkeypatch.setattr(ColumnsForGpu, "put", noted)
    return outcomes


def table_of(ids=np.int64, weight=np.int64, least=0):
    random = np.random.default_rng(5)
    columns = {name: random.integers(0, 900, ROWS).astype(ids) for name in ("src", "dst")}
    if weight:
        columns["weight"] = random.integers(least, 99, ROWS).astype(weight)
        columns["weight"][7] *= -0.0 if np.dtype(weight).kind == "f" else 1
    return pa.table(columns)


def write(path, table, **options):
    pq.write_table(table, path, **{"row_group_size": GROUP, "data_page_size": 512, **options})


def held_edges(path, work):
    """The columns of the edges that a run on a GPU holds, on the host."""
    held = HeldEdges("gpu")
    edges = ingest(GraphConfig(source=str(path)), work, held)
    return edges.facts, [None if column is None else cupy.asnumpy(column) for column in held.take(edges)]


def same_as_from_tables(path, tmp_path, monkeypatch):
    facts, columns = held_edges(path, tmp_path / "decoded")
    monkeypatch.setattr(ColumnsForGpu, "worthwhile", False)
    expected_facts, expected = held_edges(path, tmp_path / "read")
    assert facts == expected_facts
    for column, other in zip(columns, expected, strict=True):
        assert (column is None) == (other is None)
        if column is not None:
            assert (column.dtype, column.tobytes()) == (other.dtype, other.tobytes())


@pytest.mark.parametrize("weight", [None, np.int32, np.int64, np.float32, np.float64])
@pytest.mark.parametrize("ids", [np.int32, np.int64])
def test_the_same_edges_as_from_tables(ids, weight, decoded, tmp_path, monkeypatch):
    write(tmp_path / "edges", table_of(ids, weight), compression="zstd", write_page_checksum=True)
    same_as_from_tables(tmp_path / "edges", tmp_path, monkeypatch)
    assert [largest["src"] for largest in decoded] == [899]


@pytest.mark.parametrize("options", [
    {"use_dictionary": False}, {"compression": "none"}, {"data_page_version": "2.0"}, {"write_statistics": False},
    {"use_dictionary": False, "column_encoding": {"src": "DELTA_BINARY_PACKED", "weight": "BYTE_STREAM_SPLIT"}},
    {"row_group_size": ROWS},
])  # fmt: skip
def test_ways_of_writing(options, decoded, tmp_path, monkeypatch):
    write(tmp_path / "edges", table_of(), **options)
    same_as_from_tables(tmp_path / "edges", tmp_path, monkeypatch)
    assert len(decoded) == 1 and decoded[0]


def test_a_file_without_rows(decoded, tmp_path, monkeypatch):
    write(tmp_path / "edges", table_of().slice(0, 0))
    same_as_from_tables(tmp_path / "edges", tmp_path, monkeypatch)


@pytest.mark.parametrize("changed, reason", [
    ({"src": -1}, "row 1000: src -1 is not in 0"), ({"weight": np.nan}, "row 1000: weight nan is not in 0"),
    ({"weight": np.inf}, "row 1000: weight inf is not in 0"), ({"dst": None}, "row 1000: dst is null"),
])  # fmt: skip
def test_values_that_are_refused(changed, reason, tmp_path):
    columns = {
        name: column.to_pylist() for name, column in zip(["src", "dst", "weight"], table_of(weight=np.float64), strict=True)
    }
    for name, value in changed.items():
        columns[name][1000] = value
    write(tmp_path / "edges", pa.table(columns))
    with pytest.raises(BadInput, match=reason):
        held_edges(tmp_path / "edges", tmp_path / "work")


def test_a_damaged_page(decoded, tmp_path):
    write(tmp_path / "edges", table_of(), compression="none", use_dictionary=False, write_page_checksum=True)
    damaged = bytearray((tmp_path / "edges").read_bytes())
    damaged[len(damaged) // 2] ^= 1
    (tmp_path / "edges").write_bytes(damaged)
    with pytest.raises(BadInput, match="is not a complete Parquet file, or is damaged"):
        held_edges(tmp_path / "edges", tmp_path / "work")
    assert decoded == [None]


def test_a_damaged_page_that_ends_the_work_on_the_gpu(tmp_path, monkeypatch):
    """The tables are read to name it, although nothing can be copied to the GPU."""

    def fail(*_):
        raise RuntimeError("cudaErrorIllegalAddress")

    monkeypatch.setattr(ColumnsForGpu, "_columns", fail)
    monkeypatch.setattr("pipeline.store.edges.wait_for", fail)
    monkeypatch.setattr("kernels.distributed.gpu.memory.Staging.copy", fail)
    write(tmp_path / "edges", table_of(), compression="snappy", use_dictionary=False)
    last = pq.read_metadata(tmp_path / "edges").row_group(ROWS // GROUP).column(0)
    damaged = bytearray((tmp_path / "edges").read_bytes())
    end = last.data_page_offset + last.total_compressed_size
    damaged[end - 40 : end] = b"\xff" * 40
    (tmp_path / "edges").write_bytes(damaged)
    with pytest.raises(BadInput, match="is not a complete Parquet file, or is damaged"):
        held_edges(tmp_path / "edges", tmp_path / "work")


@pytest.mark.parametrize("wrong", ["other values", "fails"])
def test_a_decoder_that_is_wrong(wrong, decoded, tmp_path, monkeypatch):
    """The tables are read instead."""
    columns_of = ColumnsForGpu._columns

    def columns(self, numbers, rows):
        if wrong == "fails":
            raise RuntimeError("CUDF failure")
        return {name: column + (name == "dst") for name, column in columns_of(self, numbers, rows).items()}

    monkeypatch.setattr(ColumnsForGpu, "_columns", columns)
    write(tmp_path / "edges", table_of())
    same_as_from_tables(tmp_path / "edges", tmp_path, monkeypatch)
    assert decoded == [None]


def test_a_footer_that_states_too_small_values(decoded, tmp_path, monkeypatch):
    """Arrays for what the footer states are too narrow; the edges are read again for the layout."""
    table = table_of()
    large = pa.table(
        {**{name: table[name] for name in ("src", "dst")}, "weight": pa.chunked_array([table["weight"].to_numpy() + 2**40])}
    )
    write(tmp_path / "edges", large)
    stated = dict.fromkeys(("src", "dst", "weight"), 900)
    monkeypatch.setattr("pipeline.ingest.formats.parquet.footer.Footer._check_apart", lambda self: self.largest.update(stated))
    held = HeldEdges("gpu")
    edges = ingest(GraphConfig(source=str(tmp_path / "edges")), tmp_path / "work", held)
    assert held.take(edges) is None and decoded == [None]
