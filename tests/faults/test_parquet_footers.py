"""A Parquet footer that the pages do not bear out is refused, for a graph, for pairs and for a table of nodes."""

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from pipeline.config.graph import Limits, NodeColumns
from pipeline.errors import BadInput
from pipeline.ingest.nodes import read_nodes
from pipeline.ingest.source import locate, stored
from pipeline.steps.pairs import batches, blocks
from tests.edge_lists import rows_of_edges
from tests.faults.children import outcome
from tests.faults.test_bad_input import ingested, refused
from tests.ingest.thrift import field, footer_of, with_footer

ROWS = 3000
NUM_ROWS, ROW_GROUPS, SCHEMA = 3, 4, 2  # fields of a footer
COLUMNS, GROUP_ROWS = 1, 3  # of a row group
META = 3  # of a column chunk
PATH, CODEC, VALUES, COMPRESSED, DATA_PAGE, STATISTICS, SIZE_STATISTICS = 3, 4, 5, 7, 9, 12, 16  # of its metadata
NULLS, SMALLEST, LEVELS = 3, 6, 3  # of its statistics, and of its size statistics
REPETITION, CONVERTED = 3, 6  # of a column of the schema
REQUIRED, OPTIONAL = 0, 1


def parquet(rows=ROWS, **options):
    ids = np.random.default_rng(1).integers(0, 2**40, rows)
    sink = pa.BufferOutputStream()
    pq.write_table(pa.table({"src": ids, "dst": ids[::-1]}), sink, **{"row_group_size": 1000, "data_page_size": 512} | options)
    return sink.getvalue().to_pybytes()


def groups(footer):
    return field(footer, ROW_GROUPS)[2][1]


def meta(footer, group, column):
    return field(field(groups(footer)[group], COLUMNS)[2][1][column], META)[2]


def all_groups_state(rows):
    """Footer, row groups and columns agree on too few rows."""

    def change(footer):
        field(footer, NUM_ROWS)[2] = 3 * rows
        for number, group in enumerate(groups(footer)):
            field(group, GROUP_ROWS)[2] = rows
            for column in range(2):
                field(meta(footer, number, column), VALUES)[2] = rows

    return change


def nulls_that_cancel_out(footer):
    for column, nulls in enumerate((-1, 1)):
        field(field(meta(footer, 0, column), STATISTICS)[2], NULLS)[2] = nulls


def bytes_of_another_column(footer):
    for entry in meta(footer, 0, 0):
        if entry[0] not in (PATH, STATISTICS):
            entry[2] = next(other[2] for other in meta(footer, 0, 1) if other[0] == entry[0])


def nodes_of(path, vertex):
    with stored(locate(str(path))) as content:
        return read_nodes(content, Limits(), None, NodeColumns(vertex=vertex))[0]


def put(find, number, value):
    def change(footer):
        entry = field(find(footer), number)
        entry[2] = value(entry[2]) if callable(value) else value

    return change


DISHONEST = {
    "one row": put(lambda footer: footer, NUM_ROWS, 1),
    "no row": put(lambda footer: footer, NUM_ROWS, 0),
    "many rows": put(lambda footer: footer, NUM_ROWS, 10**12),
    "a negative number of rows": put(lambda footer: footer, NUM_ROWS, -1),
    "a short row group": put(lambda footer: groups(footer)[1], GROUP_ROWS, 10),
    "a long row group": put(lambda footer: groups(footer)[1], GROUP_ROWS, 1010),
    "a short column": put(lambda footer: meta(footer, 1, 0), VALUES, 10),
    "a long column": put(lambda footer: meta(footer, 1, 1), VALUES, 1010),
    "all agree on one row": all_groups_state(1),
    "all agree on more rows": all_groups_state(1500),
    "a lost row group": lambda footer: groups(footer).pop(),
    "a repeated row group": lambda footer: groups(footer).append(groups(footer)[0]),
    "fewer bytes": put(lambda footer: meta(footer, 0, 0), COMPRESSED, lambda size: size // 2),
    "more bytes": put(lambda footer: meta(footer, 0, 0), COMPRESSED, lambda size: size + 1),
    "no bytes": put(lambda footer: meta(footer, 0, 0), COMPRESSED, 0),
    "rows beyond its bytes": put(lambda footer: meta(footer, 0, 0), DATA_PAGE, lambda start: start + 10**5),
    "bytes of another column": bytes_of_another_column,
    "no compression": put(lambda footer: meta(footer, 0, 0), CODEC, 0),
    "a codec beyond 32 bits": put(lambda footer: meta(footer, 0, 0), CODEC, 2**32),
    "nulls": put(lambda footer: field(meta(footer, 0, 0), STATISTICS)[2], NULLS, 3),
    "nulls that cancel out": nulls_that_cancel_out,
    "a short minimum": put(lambda footer: field(meta(footer, 0, 0), STATISTICS)[2], SMALLEST, b"\0"),
    "another name": put(lambda footer: meta(footer, 0, 0), PATH, [8, [b"dst"]]),
}


@pytest.mark.parametrize("use_dictionary", [False, True])
@pytest.mark.parametrize("name", DISHONEST)
def test_a_dishonest_footer_is_refused(name, use_dictionary, tmp_path):
    honest = parquet(use_dictionary=use_dictionary)
    footer = footer_of(honest)
    assert with_footer(honest, footer) == honest
    DISHONEST[name](footer)
    dishonest = with_footer(honest, footer)
    error = refused(tmp_path, dishonest)
    assert "is not a complete Parquet file" in error.reason or "graph.limits" in error.reason
    path = tmp_path / "pairs"
    path.write_bytes(dishonest)
    with pytest.raises(BadInput, match="is not a complete Parquet file"):
        for block in blocks(path, "pairs", 1000):
            list(batches(path, "pairs", block))
    with pytest.raises(BadInput, match=r"is not a complete Parquet file|the limit for a table of nodes"):
        nodes_of(path, "src")


def test_a_footer_that_hides_rows_does_not_pass_the_limit(tmp_path):
    content = parquet()
    footer = footer_of(content)
    field(footer, NUM_ROWS)[2] = 1
    assert "its footer has 1 rows" in refused(tmp_path, with_footer(content, footer), limits=Limits(edges=10)).reason
    all_groups_state(1)(footer)
    assert "the footer has 1 rows" in refused(tmp_path, with_footer(content, footer), limits=Limits(edges=10)).reason


def test_statistics_for_which_arrow_may_end_the_process_are_refused(tmp_path):
    content = parquet()
    footer = footer_of(content)
    field(field(meta(footer, 0, 0), SIZE_STATISTICS)[2], LEVELS)[2][1].append(0)
    found = outcome(lambda: ingested(tmp_path, with_footer(content, footer)))
    assert isinstance(found, BadInput)
    assert "level histogram size mismatch" in found.reason


@pytest.mark.parametrize("version", ["1.0", "2.0"])
@pytest.mark.parametrize("nullable", [False, True])
def test_levels_that_are_not_there_or_not_stated_are_refused(nullable, version, tmp_path):
    schema = pa.schema([pa.field(name, pa.int64(), nullable) for name in ("src", "dst")])
    sink = pa.BufferOutputStream()
    made = pa.table({"src": [1, 2, 3], "dst": [2, 3, 4]}, schema)
    pq.write_table(made, sink, use_dictionary=False, store_schema=False, data_page_version=version)
    footer = footer_of(sink.getvalue().to_pybytes())
    entry = field(field(footer, SCHEMA)[2][1][1], REPETITION)
    assert entry[2] == (OPTIONAL if nullable else REQUIRED)
    entry[2] = REQUIRED if nullable else OPTIONAL
    assert "no valid page at byte" in refused(tmp_path, with_footer(sink.getvalue().to_pybytes(), footer)).reason


@pytest.mark.parametrize("compression", ["none", "snappy", "zstd", "gzip", "lz4", "brotli"])
def test_levels_that_would_be_read_as_texts_are_refused(compression, tmp_path):
    sink = pa.BufferOutputStream()
    table = pa.table({"src": ["a", "b", "c"], "dst": ["b", "c", "a"]})
    pq.write_table(table, sink, use_dictionary=False, store_schema=False, compression=compression)
    content = sink.getvalue().to_pybytes()
    footer = footer_of(content)
    field(field(footer, SCHEMA)[2][1][1], REPETITION)[2] = REQUIRED
    assert "its texts take" in refused(tmp_path, with_footer(content, footer)).reason
    bare = pa.schema([pa.field(name, pa.string(), False) for name in ("src", "dst")])
    sink = pa.BufferOutputStream()
    pq.write_table(table.cast(bare), sink, use_dictionary=False, compression=compression)
    assert rows_of_edges(ingested(tmp_path, sink.getvalue().to_pybytes())).num_rows == 3


@pytest.mark.parametrize("kind", [10, 12, 14])
def test_a_column_with_two_types_is_refused(kind, tmp_path):
    sink = pa.BufferOutputStream()
    pq.write_table(pa.table({"src": pa.array([1], pa.uint8()), "dst": [2]}), sink)
    footer = footer_of(sink.getvalue().to_pybytes())
    field(field(footer, SCHEMA)[2][1][1], CONVERTED)[2] = kind
    assert "has two types" in refused(tmp_path, with_footer(sink.getvalue().to_pybytes(), footer)).reason


def test_pages_without_end_are_refused(tmp_path):
    content = parquet(20_000, data_page_size=1, write_batch_size=8, row_group_size=20_000, use_dictionary=False)
    reason = "has more than 1000 pages, of under 64 rows on average, the limit (graph.limits.frames)"
    assert reason in refused(tmp_path, content, limits=Limits(frames=1000)).reason


HONEST = {
    "dictionary": {},
    "plain": {"use_dictionary": False},
    "version 2 pages": {"data_page_version": "2.0"},
    "delta": {"use_dictionary": False, "column_encoding": "DELTA_BINARY_PACKED"},
    "one page": {"data_page_size": 2**20},
    "checksums": {"write_page_checksum": True},
    "page index": {"write_page_index": True},
    "without statistics": {"write_statistics": False},
    **{name: {"compression": name} for name in ("none", "snappy", "gzip", "brotli", "zstd", "lz4")},
}


@pytest.mark.parametrize("name", HONEST)
def test_an_honest_file_is_read(name, tmp_path):
    content = parquet(**HONEST[name])
    found = rows_of_edges(ingested(tmp_path, content))
    assert found.equals(pq.read_table(pa.BufferReader(content)).cast(found.schema))


KINDS = {
    pa.int32(): [pa.bool_(), pa.uint8(), pa.float16(), pa.date32(), pa.string()],
    pa.int64(): [pa.int64(), pa.time64("us"), pa.timestamp("us", "UTC")],
    pa.float32(): [pa.float32(), pa.decimal128(10, 2)],
}  # by the type from which Arrow casts them


@pytest.mark.parametrize("options", [{}, {"data_page_version": "2.0"}, {"write_statistics": False}], ids=str)
@pytest.mark.parametrize("rows", [1, 16, 17, 40])
def test_values_and_nulls_of_any_kind_are_read(options, rows, tmp_path):
    """A null of 64 bits takes as much as the levels of 16 rows, so that a page is as long as without levels."""
    columns = {str(kind): pa.array([None] + [1] * (rows - 1), of).cast(kind) for of, kinds in KINDS.items() for kind in kinds}
    table = pa.table({"vertex": np.arange(rows)} | columns)
    pq.write_table(table, tmp_path / "nodes", use_dictionary=False, **options)
    assert nodes_of(tmp_path / "nodes", "vertex").cast(table.schema).equals(table)


@pytest.mark.parametrize("name", [b"sr\x80", b"\xff", b"s\xf2c"])
def test_a_column_name_that_is_not_utf8_is_refused(name, tmp_path):
    content = parquet(store_schema=False)
    footer = footer_of(content)
    field(field(footer, SCHEMA)[2][1][1], 4)[2] = name
    assert "has a column whose name is not UTF-8" in refused(tmp_path, with_footer(content, footer)).reason


def test_a_column_within_another_one_is_refused(tmp_path):
    inner = pa.StructArray.from_arrays([pa.array([1])], ["src"])
    sink = pa.BufferOutputStream()
    pq.write_table(pa.table([inner, [1], [1]], ["a", "a.src", "dst"]), sink)
    assert "nested or ambiguous" in refused(tmp_path, sink.getvalue().to_pybytes(), columns={"src": "a.src"}).reason
