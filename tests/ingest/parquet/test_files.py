"""Whole files: of older versions of programs, with geometries, encrypted, and with names that contradict each other."""

import base64
import datetime
import json
import re
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pyarrow.parquet.encryption as keys
import pytest

from pipeline.changes.reading import read_changes
from pipeline.config.graph import GraphConfig, Limits, NodeColumns
from pipeline.errors import BadInput
from pipeline.ingest import ingest
from pipeline.ingest.coordinates import coordinates_of
from pipeline.ingest.nodes import read_nodes
from pipeline.ingest.source import locate, stored
from pipeline.ingest.values.rejects import HINT
from pipeline.steps.pairs import blocks
from pipeline.steps.products.vertices import read_vertices
from pipeline.steps.runtime import Runtime
from pipeline.store.names import open_names
from tests.edge_lists import rows_of_edges
from tests.faults.test_bad_input import ingested, refused
from tests.ingest.thrift import field, footer_of, with_footer

OLDER = sorted((Path(__file__).parent / "older").glob("*.parquet"))
SCHEMA, ROWS, GROUPS, NOTES = 2, 3, 4, 5  # fields of a footer
GEO = {
    "version": "1.1.0",
    "primary_column": "geometry",
    "columns": {"geometry": {"encoding": "WKB", "geometry_types": ["Point"]}},
}
BOX = {"bbox": {axis: ["bbox", axis] for axis in ("xmin", "ymin", "xmax", "ymax")}}


def nodes_of(path, **columns):
    with stored(locate(str(path))) as content:
        return read_nodes(content, Limits(), None, NodeColumns(**columns))[0]


def content_of(table, **options):
    sink = pa.BufferOutputStream()
    pq.write_table(table, sink, **options)
    return sink.getvalue().to_pybytes()


@pytest.mark.parametrize("path", OLDER, ids=lambda path: path.stem)
def test_files_of_other_versions_are_read(path, tmp_path):
    edges = ingest(GraphConfig(source=str(path)), tmp_path)
    names = open_names(edges).array().to_pylist()
    rows = [(names[src], names[dst], weight) for src, dst, weight in zip(*rows_of_edges(edges).to_pydict().values(), strict=True)]
    assert rows == [("n" + str(row % 40) if row % 3 else "hub", "hub", row % 5) for row in range(60)]
    found = nodes_of(path, vertex="number").to_pydict()
    midnights = [datetime.datetime(2026, 1, 1) + datetime.timedelta(days=row) for row in range(60)]
    assert (found["vertex"], found["seen"]) == ([*range(60)], midnights)
    assert [half and float(half) for half in found["half"]] == [row / 2 if row % 7 else None for row in range(60)]
    assert (found["even"], found["kind"]) == ([row % 2 == 0 for row in range(60)], [f"k{row % 2}" for row in range(60)])
    assert len(OLDER) == 6


@pytest.mark.parametrize("box", [{}, {"covering": BOX}], ids=["no box", "a box"])
@pytest.mark.parametrize("shapes", ["GeoParquet", "GeoArrow"])
def test_geometries_beside_the_columns_that_are_read_are_left_out(shapes, box, tmp_path):
    geo = json.loads(json.dumps(GEO))
    geo["columns"]["geometry"] |= box
    fields = [
        pa.field("vertex", pa.int64()),
        pa.field("x", pa.float64()),
        pa.field("y", pa.float64()),
        pa.field("lanes", pa.int8()),
    ]
    fields.append(
        pa.field("geometry", pa.binary(), metadata={"ARROW:extension:name": "geoarrow.wkb"} if shapes == "GeoArrow" else {})
    )
    columns = [[2, 1], [7.1, 7.2], [50.1, 50.2], [2, 1], [b"x", b"y"]]
    if box:
        fields.append(pa.field("bbox", pa.struct([(axis, pa.float64()) for axis in ("xmin", "ymin", "xmax", "ymax")])))
        columns.append([dict.fromkeys(("xmin", "ymin", "xmax", "ymax"), 7.1)] * 2)
    notes = {b"geo": json.dumps(geo).encode()} if shapes == "GeoParquet" or box else {}
    path = tmp_path / "nodes.parquet"
    pq.write_table(pa.table(columns, pa.schema(fields, notes)), path)
    assert nodes_of(path).to_pydict() == {"vertex": [1, 2], "x": [7.2, 7.1], "y": [50.2, 50.1], "lanes": [1, 2]}
    with stored(locate(str(path))) as content:
        assert coordinates_of(content, GraphConfig(source="g"), None)[0].to_pydict() == {
            "vertex": [1, 2],
            "x": [7.2, 7.1],
            "y": [50.2, 50.1],
        }


@pytest.mark.parametrize("notes", [b"", b"{", b"[]", b'{"columns": 3}', b'{"columns": {"a": 3}}', b"\xff", b"[" * 10**5])
def test_other_metadata_of_geometries_leaves_nothing_out(notes, tmp_path):
    pq.write_table(pa.table({"vertex": [1], "a": [2]}).replace_schema_metadata({b"geo": notes}), tmp_path / "nodes.parquet")
    assert nodes_of(tmp_path / "nodes.parquet").to_pydict()["vertex"] == [1]


class _Keys(keys.KmsClient):
    def wrap_key(self, key_bytes, _master):
        return base64.b64encode(key_bytes)

    def unwrap_key(self, wrapped, _master):
        return base64.b64decode(wrapped)


def write_encrypted(path, use, what):
    """A file of which the footer or some columns are encrypted."""
    one = pa.table({"op": ["insert"], "src": [1], "dst": [2], "vertex": [1], "x": [1.0]})
    one = one.select(["vertex"]) if use == "vertices" else one
    config = keys.EncryptionConfiguration(
        footer_key="footer", plaintext_footer=what == "columns", column_keys={"column": ["vertex"]}
    )
    connection = keys.KmsConnectionConfig(custom_kms_conf={"footer": "", "column": ""})
    factory = keys.CryptoFactory(lambda _connection: _Keys())
    with pq.ParquetWriter(
        path, one.schema, encryption_properties=factory.file_encryption_properties(connection, config)
    ) as writer:
        writer.write_table(one)


READERS = {
    "edges": lambda path: ingest(GraphConfig(source=str(path)), path.parent / "work"),
    "nodes": nodes_of,
    "pairs": lambda path: blocks(path, str(path), 10),
    "vertices": lambda path: read_vertices(str(path), None, None, Runtime(path.parent)),
    "changes": lambda path: read_changes(locate(str(path)), None, GraphConfig(source="edges.csv"), None, False),
}


@pytest.mark.parametrize("what", ["the footer", "columns"])
@pytest.mark.parametrize("use", READERS)
def test_an_encrypted_file_is_called_that(use, what, tmp_path):
    write_encrypted(tmp_path / "file", use, what)
    with pytest.raises(BadInput, match="file: is encrypted, and no key can be given; write it without encryption"):
        READERS[use](tmp_path / "file")


def test_a_text_may_begin_as_an_encrypted_file(tmp_path):
    found = ingested(tmp_path, b"PARENT,dst\n1,2\n", columns={"src": "PARENT"})
    assert rows_of_edges(found).to_pydict() == {"src": [1], "dst": [2]}


def renamed(content, *, schema=None, groups=None, notes=None):
    """The file with another name of its third column in the schema, in its row groups, or in the schema that Arrow stored."""
    footer = footer_of(content)
    if schema:
        field(field(footer, SCHEMA)[2][1][3], 4)[2] = schema
    for group in field(footer, GROUPS)[2][1] if groups else ():
        field(field(field(group, 1)[2][1][2], 3)[2], 3)[2] = [8, [groups]]
    for entry in field(footer, NOTES)[2][1] if notes else ():
        if field(entry, 1)[2] == b"ARROW:schema":
            field(entry, 2)[2] = base64.b64encode(base64.b64decode(field(entry, 2)[2]).replace(b"weight", notes))
    return with_footer(content, footer)


@pytest.mark.parametrize("rows", [0, 3])
@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"schema": b"weigjt"}, "column 'weigjt' is called 'weight' in"),
        ({"schema": b"note"}, "column 'note' is called 'weight' in"),
        ({"groups": b"weigjt"}, "column 'weight' is called 'weigjt' in row group 0"),
        ({"notes": b"thgiew"}, "column 'weight' is called 'thgiew' in the schema that Arrow has stored"),
        ({"schema": b"w\xff"}, "has a column whose name is not UTF-8|is damaged"),
    ],
)
def test_names_that_contradict_each_other_are_refused(rows, change, words, tmp_path):
    content = content_of(pa.table({"src": [1, 2, 3], "dst": [2, 3, 1], "weight": [5, 6, 7]})[:rows])
    assert re.search(words, refused(tmp_path, renamed(content, **change)).reason)


def test_columns_that_were_renamed_by_a_program_are_read(tmp_path):
    """Arrow and pandas keep notes of names that no column has any more."""
    table = pa.Table.from_pandas(pa.table({"src": [1], "dst": [2], "c": [3]}).to_pandas())
    table = table.set_column(2, "weight", table["c"])
    assert b'"c"' in table.schema.metadata[b"pandas"]
    assert rows_of_edges(ingested(tmp_path, content_of(table))).to_pydict() == {"src": [1], "dst": [2], "weight": [3]}
    content = content_of(pa.table({"src": [1], "dst": [2], "weight": [3]}))
    footer = footer_of(content)
    (entry,) = field(footer, NOTES)[2][1]
    field(entry, 2)[2] = base64.b64encode(pa.schema([("a", pa.int64()), ("b", pa.int64())]).serialize())
    assert rows_of_edges(ingested(tmp_path, with_footer(content, footer))).num_rows == 1


@pytest.mark.parametrize(
    "options", [{}, {"use_dictionary": False}, {"data_page_version": "2.0", "use_dictionary": False}], ids=str
)
@pytest.mark.parametrize("length", [900, 2_100, 4_090, 5_000, 65_000, 2**20])
def test_ids_of_any_length_are_read(length, options, tmp_path):
    """Statistics of texts make headers of pages long, and one text makes a page long."""
    ids = pa.table({"src": ["m" * length, "x" * length], "dst": ["b" * length, "c"]})
    edges = ingested(tmp_path, content_of(ids, **options))
    assert open_names(edges).array().to_pylist() == sorted({*ids["src"].to_pylist(), *ids["dst"].to_pylist()})


def test_an_id_without_value_is_named_where_levels_fill_a_page(tmp_path):
    """A null of 64 bits takes as much as the levels of some rows, so that a page is as long as one without levels."""
    for rows in range(1, 60):
        for options in ({}, {"write_statistics": False}):
            ids = [None] + [1] * (rows - 1)
            content = content_of(pa.table({"src": pa.array(ids, pa.int64()), "dst": [1] * rows}), use_dictionary=False, **options)
            assert refused(tmp_path, content).reason == f"row 0: src is null{HINT}"


def test_what_arrow_does_not_read_is_not_called_incomplete(tmp_path):
    content = content_of(pa.table({"src": [1], "dst": [2]}))
    footer = footer_of(content)
    for column in field(field(footer, GROUPS)[2][1][0], 1)[2][1]:
        field(field(column, 3)[2], 4)[2] = 3  # LZO
    reason = refused(tmp_path, with_footer(content, footer)).reason
    assert reason == "column 'src' is compressed with LZO, which Arrow does not read; write it with zstd"
