"""Every format on real and small files: edges, weights and facts."""

import gzip
import subprocess
import sys
from pathlib import Path
from typing import get_args

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from benchmarks.published.edges import convert
from pipeline.config.formats import FORMATS as MODULES
from pipeline.config.graph import Columns, Format, GraphConfig
from pipeline.ingest import ingest
from pipeline.ingest.formats import FORMATS
from pipeline.ingest.formats.format import FileFormat, TextFormat
from pipeline.ingest.formats.text import count_of
from pipeline.progress import CURRENT, Progress
from pipeline.store.manifest import check
from pipeline.tables import files as tables
from tests.edge_lists import rows_of_edges

DATA = Path(__file__).parents[2] / "data"


def read(folder):
    return tables.read(folder.path)


def ingest_text(tmp_path, name, text, **options):
    path = tmp_path / name
    path.write_bytes(text)
    return ingest(GraphConfig(source=str(path), **options), tmp_path / "work")


def fields(name):
    """The words of every line of a file, for a slow second parse."""
    with gzip.open(DATA / name, "rt") as file:
        return [line.split() for line in file]


REAL_FILES = {
    "USA-road-d.NY.gr.gz": ("dimacs", True, "int64", 730_100, 1, 264_346),
    "rome99.gr.gz": ("dimacs", True, "int64", 8_870, 1, 3_353),
    "bremen_dist.gr.gz": ("arcs", True, "int64", 86_475, None, None),
    "bremen_time.gr.gz": ("arcs", True, "int64", 86_475, None, None),
    "facebook_combined.txt.gz": ("snap", True, None, 88_234, None, None),
    "wiki-Vote.txt.gz": ("snap", True, None, 103_689, None, 7_115),
    "kegg.gra.gz": ("gra", True, None, 4_395, 0, 3_617),
    "amaze.gra.gz": ("gra", True, None, 3_947, 0, 3_710),
}


@pytest.mark.parametrize("name", REAL_FILES)
def test_real_files_have_the_expected_facts(name, tmp_path):
    stated = "arcs" if name.startswith("bremen") else "auto"
    folder = ingest(GraphConfig(source=str(DATA / name), format=stated), tmp_path)
    facts = folder.facts
    names = ("format", "directed", "weight", "edges", "first_id", "declared_vertices")
    assert REAL_FILES[name] == tuple(facts[name] for name in names)
    assert facts["source"]["path"] == str(DATA / name)
    assert facts["source"]["bytes"] == (DATA / name).stat().st_size
    assert facts["source"]["blake3"] == folder.manifest.inputs["source"]
    assert facts["text_bytes"] == len(gzip.decompress((DATA / name).read_bytes()))
    assert read(folder).num_rows == facts["edges"]
    check(folder)


@pytest.mark.parametrize("name", ["USA-road-d.NY.gr.gz", "rome99.gr.gz", "bremen_dist.gr.gz", "bremen_time.gr.gz"])
def test_dimacs_arcs_equal_a_slow_parse(name, tmp_path):
    stated = "arcs" if name.startswith("bremen") else "dimacs"
    table = read(ingest(GraphConfig(source=str(DATA / name), format=stated), tmp_path))
    slow = np.loadtxt(DATA / name, np.int64, comments=["c", "p"], usecols=(1, 2, 3))
    assert np.array_equal(slow, np.column_stack([table[column] for column in ("src", "dst", "weight")]))


@pytest.mark.parametrize("name", ["facebook_combined.txt.gz", "wiki-Vote.txt.gz"])
def test_snap_edges_equal_a_slow_parse(name, tmp_path):
    table = read(ingest(GraphConfig(source=str(DATA / name)), tmp_path))
    slow = np.array([words for words in fields(name) if words[0] != "#"], np.int64)
    assert np.array_equal(slow, np.column_stack([table["src"], table["dst"]]))


@pytest.mark.parametrize("name", ["kegg.gra.gz", "amaze.gra.gz"])
def test_gra_arcs_equal_a_slow_parse(name, tmp_path):
    table = read(ingest(GraphConfig(source=str(DATA / name)), tmp_path))
    slow = [(int(words[0].rstrip(":")), int(child)) for words in fields(name)[2:] for child in words[1:-1]]
    assert slow == list(zip(table["src"].to_pylist(), table["dst"].to_pylist(), strict=True))


def test_coordinates_are_degrees(tmp_path):
    graph = GraphConfig(source=str(DATA / "USA-road-d.NY.gr.gz"), coordinates=str(DATA / "USA-road-d.NY.co.gz"))
    folder = ingest(graph, tmp_path)
    table = pq.read_table(folder.path / "coordinates.parquet", page_checksum_verification=True)
    assert table.schema.types == [pa.int64(), pa.float64(), pa.float64()]
    slow = np.loadtxt(DATA / "USA-road-d.NY.co.gz", np.int64, comments=["c", "p"], usecols=(1, 2, 3))
    assert np.array_equal(slow[:, 0], table["vertex"])
    assert np.array_equal(slow[:, 1:] / 1e6, np.column_stack([table["x"], table["y"]]))
    assert folder.facts["coordinates"]["vertices"] == 264_346
    assert set(folder.manifest.files) == {"part-00000.parquet", "coordinates.parquet"}


def test_the_edge_list_has_files_of_a_million_rows_and_delta_encoded_ids(tmp_path):
    text = b"0 1\n" * 2_300_000
    folder = ingest_text(tmp_path, "edges.txt", text)
    parts = [pq.read_metadata(path) for path in tables.files(folder.path)]
    metadata = parts[0]
    assert [(part.num_row_groups, part.num_rows) for part in parts] == [(1, 1_000_000), (1, 1_000_000), (1, 300_000)]
    column = metadata.row_group(0).column(0)
    assert column.compression == "ZSTD"
    assert "DELTA_BINARY_PACKED" in column.encodings
    assert not pq.read_schema(folder.path / "part-00000.parquet").field("src").nullable


EDGES = [(1, 2), (2, 3), (3, 3), (1, 2)]
UNWEIGHTED = {
    "pace.gr": (b"c x\np tw 3 4\n1 2\nc y\n2 3\n3 3\n1 2\n", ("pace", False, None, 1, 3)),
    "pattern.mtx": (
        b"%%MatrixMarket matrix coordinate pattern general\n% x\n\n3 3 4\n1 2\n2 3\n3 3\n1 2\n",
        ("matrix-market", True, None, 1, 3),
    ),
    "symmetric.mtx": (
        b"%%matrixmarket MATRIX Coordinate Pattern Symmetric\n3 3 4\n1 2\n2 3\n3 3\n1 2\n",
        ("matrix-market", False, None, 1, 3),
    ),
    "title.gra": (b"any_title\n4\n1: 2 #\n2: 3 #\n3: 3 #\n0: #\n", ("gra", True, None, 0, 4)),
    "undirected.txt": (b"# Undirected graph: x\n# y\n1\t2\n2\t3\n3\t3\n1\t2\n", ("snap", False, None, None, None)),
    "directed.txt": (b"#Directed\n1 2\n# 5 6\n2 3\n3 3\n1 2", ("snap", True, None, None, None)),
    "edges.csv": (b'name,dst,src\n"a,b",2,1\nc,3,2\n,3,3\nx0x1,"2",1\n', ("csv", True, None, None, None)),
    "edges.tsv": (b"src\tdst\n1\t2\n2\t3\n3\t3\n1\t2\n", ("tsv", True, None, None, None)),
    "edges.data": (b"\xef\xbb\xbfsrc,dst\r\n1,2\r\n2,3\r\n\r\n3,3\r\n1,2\r\n", ("csv", True, None, None, None)),
}


@pytest.mark.parametrize("name", UNWEIGHTED)
def test_small_files_of_each_format_are_read(name, tmp_path):
    text, expected = UNWEIGHTED[name]
    folder = ingest_text(tmp_path, name, text)
    found = tuple(folder.facts[key] for key in ("format", "directed", "weight", "first_id", "declared_vertices"))
    assert expected == found
    edges = list(zip(*(read(folder)[column].to_pylist() for column in ("src", "dst")), strict=True))
    assert [edge for edge in EDGES if expected[0] != "gra" or edge in edges][: len(edges)] == edges


WEIGHTED = {
    "integers.gr": (b"p sp 3 2\na 1 2 5\na 2 3 0\n", "int64", [5, 0]),
    "decimals.gr": (b"p sp 3 2\na 1 2 5\na 2 3 -0.0\n", "double", [5.0, 0.0]),
    "real.mtx": (b"%%MatrixMarket matrix coordinate real general\n3 3 2\n1 2 5\n2 3 1e-3\n", "double", [5.0, 1e-3]),
    "integer.mtx": (b"%%MatrixMarket matrix coordinate integer general\n3 3 2\n1 2 5\n2 3 7\n", "int64", [5, 7]),
    "weights.txt": (b"1 2 9223372036854775807\n2 3 1\n", "int64", [2**63 - 1, 1]),
    "weights.csv": (b"src,dst,weight\n1,2,.5\n2,3,2.\n", "double", [0.5, 2.0]),
    "weights.tsv": (b"weight\tsrc\tdst\n4\t1\t2\n5\t2\t3\n", "int64", [4, 5]),
}


THIRD = {"weight": 3}  # SNAP's third column is a weight on request


@pytest.mark.parametrize("name", WEIGHTED)
def test_weights_keep_their_type(name, tmp_path):
    text, kind, weights = WEIGHTED[name]
    folder = ingest_text(tmp_path, name, text, columns=THIRD if name == "weights.txt" else {})
    table = read(folder)
    assert folder.facts["weight"] == kind
    assert table.schema.field("weight").type == pa.type_for_alias(kind)
    assert table["weight"].to_pylist() == weights
    assert not np.signbit(table["weight"].to_numpy()).any()
    assert list(zip(table["src"].to_pylist(), table["dst"].to_pylist(), strict=True)) == [(1, 2), (2, 3)]


def test_a_converted_dimacs_file_has_the_same_arcs(tmp_path):
    convert(DATA / "rome99.gr.gz", tmp_path / "rome.edges")
    found = ingest(GraphConfig(source=str(tmp_path / "rome.edges"), format="edges"), tmp_path / "work")
    direct = ingest(GraphConfig(source=str(DATA / "rome99.gr.gz")), tmp_path / "direct")
    assert (found.facts["first_id"], found.facts["declared_vertices"]) == (0, direct.facts["declared_vertices"])
    one, other = read(found).to_pandas(), read(direct).to_pandas()
    assert one["src"].is_monotonic_increasing
    order = ["src", "dst", "weight"]
    shifted = other.assign(src=other["src"] - 1, dst=other["dst"] - 1)
    assert one.sort_values(order).to_numpy().tolist() == shifted.sort_values(order).to_numpy().tolist()


def test_decimals_in_a_late_block_make_all_weights_float64(tmp_path):
    lines = 1_200_000  # more than one block
    folder = ingest_text(tmp_path, "late.txt", b"10 20 30\n" * lines + b"1 2 0.5\n", columns=THIRD)
    weights = read(folder)["weight"].to_numpy()
    assert folder.facts["weight"] == "double"
    assert weights.dtype == np.float64
    assert len(weights) == lines + 1
    assert weights[-1] == 0.5
    assert (weights[:-1] == 30).all()


@pytest.mark.parametrize("name", ["integers.gr", "real.mtx", "weights.txt", "weights.csv"])
def test_weights_are_not_read_if_the_configuration_says_so(name, tmp_path):
    folder = ingest_text(tmp_path, name, WEIGHTED[name][0], columns={"weight": False})
    assert folder.facts["weight"] is None
    assert read(folder).to_pydict() == {"src": [1, 2], "dst": [2, 3]}


def test_the_third_column_of_snap_is_not_a_weight_by_default(tmp_path):
    folder = ingest_text(tmp_path, "times.txt", b"1 2 1082040961\n2 3 x\n")
    assert read(folder).to_pydict() == {"src": [1, 2], "dst": [2, 3]}
    assert (folder.facts["columns"], folder.facts["ignored_columns"]) == ({"src": "1", "dst": "2"}, ["3"])


@pytest.mark.parametrize(
    ("name", "text", "options"),
    [
        ("a.csv", b"7,1,2,0.5\n8,2,3,1\n", {"header": False}),
        ("a.csv", b"\n7;1;2;0.5\n8;2;3;1\n", {"header": False, "delimiter": ";"}),
        ("a", b"7\t1\t2\t0.5\n8\t2\t3\t1", {"header": False}),
        ("a.txt", b"7 1 2 0.5\n8 2 3 1\n", {"header": False, "delimiter": " ", "format": "csv"}),
    ],
)
def test_columns_of_a_file_without_a_header_have_numbers(name, text, options, tmp_path):
    folder = ingest_text(tmp_path, name, text, columns={"src": 2, "dst": 3, "weight": 4}, **options)
    assert read(folder).to_pydict() == {"src": [1, 2], "dst": [2, 3], "weight": [0.5, 1.0]}
    assert folder.facts["ignored_columns"] == ["1"]


def test_a_delimiter_may_be_configured(tmp_path):
    folder = ingest_text(tmp_path, "a.txt", b"von|nach|src\n1|2|3\n", columns={"src": "von", "dst": "nach"}, delimiter="|")
    assert read(folder).to_pydict() == {"src": [1], "dst": [2]}
    assert (folder.facts["columns"], folder.facts["ignored_columns"]) == ({"src": "von", "dst": "nach"}, ["src"])


UNTIDY = {
    "CRLF": b"c x\r\np sp 3 3\r\na 1 2 5\r\na 2 3 6\r\na 3 1 7\r\n",
    "blank lines": b"\n\nc x\n \np sp 3 3\n\na 1 2 5\n\t\na 2 3 6\na 3 1 7\n\n\n",
    "trailing spaces": b"p sp 3 3  \na 1 2 5 \na 2 3 6\t\na 3 1 7   ",
    "runs of blanks": b" p  sp\t3 3\n a 1  2 5\na\t2\t3\t6\na 3 1 \t 7\n",
    "late comments": b"p sp 3 3\na 1 2 5\nc a 1 2 3\nc\na 2 3 6\nc 1 2 3\na 3 1 7\nc end",
    "no last newline": b"p sp 3 3\na 1 2 5\na 2 3 6\na 3 1 7",
}


@pytest.mark.parametrize("name", UNTIDY)
def test_untidy_text_reads_the_same(name, tmp_path):
    table = read(ingest_text(tmp_path, "graph.gr", UNTIDY[name]))
    assert table.to_pydict() == {"src": [1, 2, 3], "dst": [2, 3, 1], "weight": [5, 6, 7]}


def test_an_untidy_gra_file_reads_the_same(tmp_path):
    table = read(ingest_text(tmp_path, "x.gra", b"graph_for_greach\r\n3\r\n\r\n0:\t1  2 # \r\n1:2#\r\n2 : #"))
    assert table.to_pydict() == {"src": [0, 0, 1], "dst": [1, 2, 2]}


@pytest.mark.parametrize(
    ("name", "text"),
    {
        "none.gr": b"p sp 5 0\n",
        "none.pace": b"p tw 5 0\n",
        "none.mtx": b"%%MatrixMarket matrix coordinate pattern general\n5 5 0\n",
        "none.gra": b"graph_for_greach\n5\n0: #\n1: #\n2: #\n3: #\n4: #\n",
        "none.csv": b"src,dst\n",
        "none.txt": b"# Nodes: 0 Edges: 0\n",
    }.items(),
)
def test_graphs_without_edges_are_read(name, text, tmp_path):
    folder = ingest_text(tmp_path, name, text)
    assert read(folder).num_rows == folder.facts["edges"] == 0
    assert folder.facts["declared_vertices"] == {"none.csv": None, "none.txt": 0}.get(name, 5)


def test_configured_columns_and_direction_are_used(tmp_path):
    columns = Columns(src="from", dst="to", weight="km")
    folder = ingest_text(tmp_path, "roads.csv", b"to,src,km,from\n2,x,0.5,1\n", columns=columns, directed=False)
    assert read(folder).to_pydict() == {"src": [1], "dst": [2], "weight": [0.5]}
    assert folder.facts["directed"] is False


@pytest.mark.parametrize("kind", ["int8", "int16", "int32", "int64", "float", "double"])
def test_parquet_keeps_its_weight_type(kind, tmp_path):
    weight = pa.array([0, 7, 100]).cast(pa.type_for_alias(kind))
    table = pa.table({"weight": weight, "x": ["a", "b", "c"], "dst": pa.array([1, 2, 0], pa.uint32()), "src": [0, 1, 2]})
    pq.write_table(table, tmp_path / "edges")
    folder = ingest(GraphConfig(source=str(tmp_path / "edges")), tmp_path / "work")
    assert folder.facts["weight"] == kind
    assert not folder.manifest.files
    assert rows_of_edges(folder).to_pydict() == {"src": [0, 1, 2], "dst": [1, 2, 0], "weight": weight.to_pylist()}


def test_parquet_within_gzip_is_read(tmp_path):
    pq.write_table(pa.table({"src": pa.array([5], pa.int16()), "dst": [6]}), tmp_path / "plain")
    (tmp_path / "edges.parquet.gz").write_bytes(gzip.compress((tmp_path / "plain").read_bytes()))
    folder = ingest(GraphConfig(source=str(tmp_path / "edges.parquet.gz")), tmp_path / "work")
    assert read(folder).to_pydict() == {"src": [5], "dst": [6]}
    assert read(folder).schema.types == [pa.int64()] * 2
    assert set(folder.manifest.files) == {"part-00000.parquet"}


def test_each_configurable_format_has_a_reader():
    assert {*FORMATS, "auto"} == set(get_args(Format))
    assert all(isinstance(entry, TextFormat | FileFormat) for entry in FORMATS.values()) and len(FORMATS) == len({*FORMATS})


def test_a_file_of_changes_needs_no_other_format():
    """All modules of formats were imported for each night, while its graph was opened."""
    listed = "name for name in sys.modules if name.startswith('pipeline.ingest.formats.')"
    code = f"import sys, pipeline.changes.reading; print(*({listed}))"
    loaded = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout.split()
    formats = {f"pipeline.ingest.formats.{where.partition(':')[0]}" for where in MODULES.values()}
    assert formats & {*loaded} == {"pipeline.ingest.formats.delimited", "pipeline.ingest.formats.parquet"}


def test_progress_is_stated_in_edges_or_bytes(tmp_path):
    pq.write_table(pa.table({"src": [5], "dst": [6]}), tmp_path / "edges.parquet")
    (tmp_path / "edges.csv").write_text("src,dst\n5,6\n")
    for source, edges in ((DATA / "rome99.gr.gz", 8870), (tmp_path / "edges.parquet", 1), (tmp_path / "edges.csv", None)):
        stated = Progress("edges")
        token = CURRENT.set(stated)
        ingest(GraphConfig(source=str(source)), tmp_path / source.name.replace(".", "-"))
        CURRENT.reset(token)
        size = edges or source.stat().st_size
        assert (stated.done, stated.total, stated.unit) == (size, size, "edges" if edges else "bytes")


@pytest.mark.parametrize("pattern", [b"\n", b"\na ", b"abc"])
@pytest.mark.parametrize("data", [b"", b"\n", b"a", b"\na ", b"a b\na c\n\na d\nabcabc", b"\n\n\na  a \na"])
def test_patterns_are_counted(data, pattern, monkeypatch):
    monkeypatch.setattr("pipeline.ingest.formats.text._WINDOW", 4)
    assert count_of(data, pattern) == data.count(pattern)
