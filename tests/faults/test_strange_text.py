"""Text that once was read wrongly, or gave a traceback or took minutes."""

import pyarrow.parquet as pq
import pytest

from tests.faults.test_bad_input import LARGEST, gr, ingested, refused, refused_as_stated

GRA = b"graph_for_greach\n3\n0: "
TOO_LONG = b"9" * 5000
STRANGE = {
    "byte order mark": ("pace", b"\xef\xbb\xbf", None, "is empty"),
    "byte order mark, auto": ("auto", b"\xef\xbb\xbf\n \n", None, "is empty"),
    "cut adjacency line": ("gra", GRA + b"9" * 500_000, 3, 'expected "VERTEX: CHILDREN #", found \'0: 999'),
    "damaged adjacency line": ("gra", GRA + b"1 " * 50_000 + b"\x04 2 #\n", 3, 'expected "VERTEX: CHILDREN #"'),
    "gra child of 5000 digits": ("gra", GRA + TOO_LONG + b" #\n1: #\n2: #\n", 3, "is not in 0..2"),
    "gra child of 5000 zeros": (
        "gra",
        GRA + b"0" * 5000 + b"3 #\n1: #\n2: #\n",
        3,
        "is not an integer id, but another form of 3",
    ),
    "id of 5000 zeros": ("auto", gr(b"p sp 3 1", b"a 1 " + b"0" * 5000 + b"4 3"), 2, "another form of 4"),
    "digits and a letter": ("weighted snap", b"1 2 3\n1 2 " + b"1" * 500_000 + b"x\n", 2, "is not a number"),
    "digits, a point and a letter": ("weighted snap", b"1 2 3\n1 2 1." + b"1" * 500_000 + b"x\n", 2, "is not a number"),
    "header of 5000 digits": ("auto", b"p sp 3 " + TOO_LONG + b"\n", 1, 'expected the header "p sp NUMBER NUMBER"'),
    "header of no UTF-8": ("csv", b"src,\xff\xfe\n1,2\n", 1, "no column 'dst'"),
}


@pytest.mark.parametrize("name", STRANGE)
def test_strange_text_is_refused_at_once(name, tmp_path):
    refused_as_stated(tmp_path, *STRANGE[name])


@pytest.mark.parametrize("chunk", [19, 2**20])
def test_a_quote_does_not_span_lines_nor_blocks(chunk, tmp_path, monkeypatch):
    monkeypatch.setattr("pipeline.ingest.decompress.CHUNK", chunk)
    error = refused(tmp_path, b'src,dst,x\n1,2,"a\n3"\n4,5,6\n')
    assert error.line == 2
    assert "unterminated quote" in error.reason


@pytest.mark.parametrize("weight", [2**63, 2**64 - 1, 10**25, -1])
@pytest.mark.parametrize("lines", ["1 2 {0}\n1 2 0.5\n", "1 2 0.5\n1 2 {0}\n", "1 2 7\n1 2 {0}\n1 2 0.5\n", "1 2 7\n1 2 {0}\n"])
def test_an_integer_weight_beyond_int64_is_refused_before_and_after_a_decimal(weight, lines, tmp_path):
    text = lines.format(weight)
    error = refused(tmp_path, text.encode(), columns={"weight": 3})
    assert error.line == 1 + text[: text.index(str(weight))].count("\n")
    assert f"is not in 0..{LARGEST}" in error.reason


def test_a_decimal_weight_beyond_int64_is_read(tmp_path):
    found = ingested(tmp_path, b"1 2 1e19\n1 2 18446744073709551615.0\n1 2 9223372036854775807\n", columns={"weight": 3})
    assert pq.read_table(found.path / "part-00000.parquet")["weight"].to_pylist() == [1e19, 2.0**64, 2.0**63]


@pytest.mark.parametrize("blank", [b"\n", b" \n", b"\r\n", b"\xef\xbb\xbf\n"])
def test_leading_blank_lines_do_not_make_a_file_empty(blank, tmp_path, monkeypatch):
    monkeypatch.setattr("pipeline.ingest.decompress.CHUNK", 16)
    assert ingested(tmp_path, blank + b"\n" * 1000 + b"1 2\n").facts["edges"] == 1
