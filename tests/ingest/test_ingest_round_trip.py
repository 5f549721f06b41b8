"""Random edge lists, written in every format and compression, are read back unchanged."""

import gzip
import lzma
import sys
import tempfile
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pipeline.config.graph import GraphConfig
from pipeline.ingest import ingest
from tests.counts import examples
from tests.edge_lists import rows_of_edges

if sys.version_info >= (3, 14):
    from compression import zstd
else:
    from backports import zstd

COMPRESSIONS = {"": bytes, ".gz": gzip.compress, ".xz": lzma.compress, ".zst": zstd.compress}
LARGEST = 2**63 - 1
NEWLINES = st.sampled_from(["\n", "\r\n"])


def lines(edges, newline="\n", blank=" "):
    return "".join(blank.join(map(repr, edge)) + newline for edge in edges)


def dimacs(edges, newline):
    vertices = max((max(edge[:2]) for edge in edges), default=0)
    arcs = "".join(f"a {line}{newline}" for line in lines(edges).splitlines())
    return f"c a{newline}p sp {vertices} {len(edges)}{newline}{arcs}"


def pace(edges, newline):
    vertices = max((max(edge) for edge in edges), default=0)
    return f"p tw {vertices} {len(edges)}{newline}{lines(edges, newline)}"


def matrix(values):
    def write(edges, newline):
        vertices = max((max(edge[:2]) for edge in edges), default=0)
        banner = f"%%MatrixMarket matrix coordinate {values} general"
        return f"{banner}{newline}{vertices} {vertices} {len(edges)}{newline}{lines(edges, newline)}"

    return write


def delimited(delimiter):
    def write(edges, newline):
        names = ["src", "dst", "weight"][: len(edges[0])] if edges else ["src", "dst"]
        return delimiter.join(names) + newline + lines(edges, newline, delimiter)

    return write


def gra(edges, newline):
    vertices = 1 + max((max(edge) for edge in edges), default=0)
    children = {vertex: [dst for src, dst in edges if src == vertex] for vertex in range(vertices)}
    text = "".join(f"{vertex}: {''.join(f'{dst} ' for dst in dsts)}#{newline}" for vertex, dsts in children.items())
    return f"graph_for_greach{newline}{vertices}{newline}{text}"


IDS, FROM_1, SMALL = st.integers(0, LARGEST), st.integers(1, 60_000), st.integers(0, 300)
INTEGERS, DECIMALS = st.integers(0, LARGEST), st.floats(0, allow_infinity=False)
FORMATS = {
    "dimacs": (dimacs, FROM_1, INTEGERS),
    "dimacs with decimals": (dimacs, FROM_1, DECIMALS),
    "arcs": (lambda edges, newline: "".join(f"a {line}{newline}" for line in lines(edges).splitlines()), IDS, INTEGERS),
    "snap": (lines, IDS, None),
    "snap with weights": (lines, IDS, INTEGERS),
    "snap with decimals": (lambda edges, newline: "# x\n" + lines(edges, newline, "\t"), IDS, DECIMALS),
    "matrix-market pattern": (matrix("pattern"), FROM_1, None),
    "matrix-market integer": (matrix("integer"), FROM_1, INTEGERS),
    "matrix-market real": (matrix("real"), FROM_1, DECIMALS),
    "gra": (gra, SMALL, None),
    "pace": (pace, FROM_1, None),
    "csv": (delimited(","), IDS, DECIMALS),
    "csv without weights": (delimited(","), IDS, None),
    "tsv": (delimited("\t"), IDS, INTEGERS),
}


@pytest.mark.parametrize("name", FORMATS)
@settings(max_examples=examples(40))
@given(data=st.data())
def test_every_text_format_reads_back_what_was_written(name, data):
    write, ids, weights = FORMATS[name]
    edge = st.tuples(ids, ids) if weights is None else st.tuples(ids, ids, weights)
    edges = data.draw(st.lists(edge, min_size=1, max_size=30))
    suffix = data.draw(st.sampled_from(list(COMPRESSIONS)))
    content = COMPRESSIONS[suffix](write(edges, data.draw(NEWLINES)).encode())
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "source" + suffix)
        path.write_bytes(content)
        columns = {"weight": 3} if name.startswith("snap with") else {}
        found = ingest(GraphConfig(source=str(path), format=name.split()[0], columns=columns), Path(folder))
        table = pq.read_table(found.path / "part-00000.parquet")
    rows = list(zip(*(column.to_pylist() for column in table.columns), strict=True))
    assert (sorted(edges, key=lambda edge: edge[0]) if name == "gra" else edges) == rows
    assert found.facts["weight"] == {None: None, INTEGERS: "int64", DECIMALS: "double"}[weights]


@settings(max_examples=examples(40))
@given(edges=st.lists(st.tuples(IDS, IDS, DECIMALS), max_size=30), group=st.integers(1, 10))
def test_parquet_reads_back_what_was_written(edges, group):
    src, dst, weight = zip(*edges, strict=True) if edges else ((), (), ())
    table = pa.table(
        {"src": pa.array(src, pa.int64()), "dst": pa.array(dst, pa.int64()), "weight": pa.array(weight, pa.float64())}
    )
    with tempfile.TemporaryDirectory() as folder:
        pq.write_table(table, Path(folder, "source"), row_group_size=group)
        found = ingest(GraphConfig(source=str(Path(folder, "source"))), Path(folder))
        assert rows_of_edges(found).to_pydict() == table.to_pydict()
        assert found.facts["format"] == "parquet"
