"""Bad text files are refused with their name, the line, the value and the limit, and leave nothing behind."""

from contextlib import contextmanager

import pytest

from pipeline.config.graph import GraphConfig, Limits
from pipeline.errors import BadInput
from pipeline.ingest import ingest


def ingested(tmp_path, content, suffix="", **options):
    source = tmp_path / f"source{suffix}"
    source.write_bytes(content)
    return ingest(GraphConfig(source=str(source), **options), tmp_path / "work")


@contextmanager
def refusing(file):
    """What is done must refuse a file, and leave nothing in the folder `work` beside it; gives the caught error."""
    with pytest.raises(BadInput) as caught:
        yield caught
    assert caught.value.file == str(file)
    assert str(file) in str(caught.value)
    assert list((file.parent / "work").glob("*")) == []


@contextmanager
def refusing_at(file, line, reason):
    """The same, at a line and for a reason."""
    with refusing(file) as caught:
        yield
    assert line == caught.value.line
    assert reason in caught.value.reason


def refused(tmp_path, content, suffix="", **options):
    """Ingest a file that must be refused, and return the error."""
    with refusing(tmp_path / f"source{suffix}") as caught:
        ingested(tmp_path, content, suffix, **options)
    return caught.value


def refused_as_stated(tmp_path, form, text, line, reason):
    """Ingest a text that must be refused at this line and for this reason, and return the error."""
    options = {"format": "snap", "columns": {"weight": 3}} if form == "weighted snap" else {"format": form}
    error = refused(tmp_path, text, **options)
    assert line == error.line
    assert reason in error.reason
    return error


# text, options, what the reason says
COLUMNS = {
    "weight in CSV": (b"src,dst,kilometres\n1,2,3\n", {"weight": "kilometers"}, "did you mean 'kilometres'?"),
    "default weight in CSV": (
        b"src,dst\n1,2\n",
        {"weight": "weight"},
        "no column 'weight' among 'src', 'dst'; name the column in",
    ),
    "src in TSV": (
        b"from\tto\n1\t2\n",
        {"src": "form", "dst": "to"},
        "no column 'form' among 'from', 'to'; did you mean 'from'?",
    ),
    "number in CSV": (b"from,to\n1,2\n", {"src": 1, "dst": 2}, "no column '1' among 'from', 'to'"),
    "columns in DIMACS": (b"p sp 2 1\na 1 2 3\n", {"weight": "x"}, "graph.columns is given, but does not apply to format dimacs"),
}


@pytest.mark.parametrize("name", COLUMNS)
def test_a_column_that_does_not_exist_is_an_error_that_lists_the_existing_ones(name, tmp_path):
    text, columns, reason = COLUMNS[name]
    assert reason in refused(tmp_path, text, columns=columns).reason


def gr(*lines):
    return b"\n".join(lines) + b"\n"


MTX = b"%%MatrixMarket matrix coordinate "
LARGEST = str(2**63 - 1)
TOO_LARGE = str(2**63).encode()

# format, text, line, what the reason says
CASES = {
    # the header
    "no header": ("dimacs", gr(b"c x", b"a 1 2 3"), 2, 'format = "arcs"'),
    "no header, auto": ("auto", gr(b"c x", b"", b"a 1 2 3"), 3, 'format = "arcs"'),
    "no header at all": ("dimacs", b"c x\nc y\n", 2, "p sp NUMBER NUMBER"),
    "coordinates as graph": ("auto", b"p aux sp co 1\nv 1 2 3\n", 1, "graph.coordinates"),
    "short header": ("dimacs", gr(b"p sp 3", b"a 1 2 3"), 1, "'p sp 3'"),
    "long header": ("dimacs", gr(b"p sp 3 1 1", b"a 1 2 3"), 1, "'p sp 3 1 1'"),
    "negative header": ("auto", gr(b"c", b"p sp -3 1", b"a 1 2 3"), 2, "'p sp -3 1'"),
    "header of words": ("auto", gr(b"p sp x y", b"a 1 2 3"), 1, "'p sp x y'"),
    "header over int64": ("auto", gr(b"p sp 99999999999999999999 1", b"a 1 2 3"), 1, "99999999999999999999"),
    "other problem": ("dimacs", gr(b"p max 3 1", b"a 1 2 3"), 1, "'p max 3 1'"),
    "second header": ("auto", gr(b"p sp 3 2", b"a 1 2 3", b"p sp 3 2", b"a 1 2 3"), 3, "a second header"),
    "late header": ("arcs", gr(b"a 1 2 3", b"p sp 3 2", b"a 1 2 3"), 2, "a second header"),
    "second pace header": ("auto", gr(b"p tw 3 2", b"1 2", b"p tw 3 2", b"1 3"), 3, "a second header"),
    "pace as dimacs": ("dimacs", b"p tw 3 1\n1 2\n", 1, "p sp"),
    "dimacs as pace": ("pace", b"p sp 3 1\na 1 2 3\n", 1, "p tw"),
    "edges: no header": ("edges", gr(b"0 1 5", b"1 2 5"), 1, "NUMBER NUMBER"),
    "edges: negative header": ("edges", gr(b"3 -1"), 1, "'3 -1'"),
    # counts
    "an arc short": ("auto", gr(b"c", b"p sp 3 2", b"a 1 2 3"), 2, "declares 2, but the file has 1"),
    "an arc over": ("auto", gr(b"p sp 3 1", b"a 1 2 3", b"c", b"a 2 3 1"), 4, "more than the 1 that line 1 declares"),
    "pace edge short": ("auto", gr(b"p tw 3 2", b"1 2"), 1, "declares 2, but the file has 1"),
    "pace edge over": ("auto", gr(b"p tw 3 1", b"1 2", b"2 3"), 3, "more than the 1 that line 1 declares"),
    "mtx entry short": ("auto", MTX + b"pattern general\n%\n3 3 2\n1 2\n", 3, "declares 2, but the file has 1"),
    "mtx entry over": ("auto", MTX + b"pattern general\n3 3 1\n1 2\n2 3\n", 4, "more than the 1 that line 2 declares"),
    "gra line short": ("auto", b"graph_for_greach\n3\n0: 1 #\n1: #\n", 2, "declares 3, but the file has 2"),
    "gra line over": ("auto", b"graph_for_greach\n1\n0: #\n0: #\n", 4, "more than the 1 that line 2 declares"),
    "edges: an arc short": ("edges", gr(b"3 2", b"", b"0 1 5"), 1, "declares 2, but the file has 1"),
    "edges: no order": ("edges", gr(b"3 3", b"0 1 5", b"2 1 5", b"1 0 5"), None, "arc 2, from 0: src 1 comes after 2"),
    # ids
    "edges: id over": ("edges", gr(b"3 1", b"0 3 5"), 2, "dst '3' is not in 0..2"),
    "id over the count": ("auto", gr(b"p sp 3 2", b"a 1 2 3", b"a 1 4 3"), 3, "dst '4' is not in 1..3"),
    "id 0": ("auto", gr(b"p sp 3 1", b"a 0 2 3"), 2, "src '0' is not in 1..3"),
    "negative id": ("auto", b"0 1\n1 -5\n", 2, f"dst '-5' is not in 0..{LARGEST}"),
    "negative first id": ("auto", b"-1 1\n1 5\n", 1, f"src '-1' is not in 0..{LARGEST}"),
    "id over int64": ("auto", b"0 1\n\n" + TOO_LARGE + b" 2\n", 3, f"src '{2**63}' is not in 0..{LARGEST}"),
    "id of 5000 digits": ("snap", b"0 1\n1 " + b"9" * 5000 + b"\n", 2, f"'{'9' * 40}...' is not in 0..{LARGEST}"),
    "arcs: negative id": ("arcs", b"a 0 1 1\na -1 1 1\n", 2, f"src '-1' is not in 0..{LARGEST}"),
    "pace id over": ("auto", gr(b"p tw 3 2", b"1 2", b"1 4"), 3, "dst '4' is not in 1..3"),
    "mtx id over": ("auto", MTX + b"pattern general\n3 3 1\n4 2\n", 3, "src '4' is not in 1..3"),
    "mtx id 0": ("auto", MTX + b"pattern general\n3 3 1\n1 0\n", 3, "dst '0' is not in 1..3"),
    "gra child over": ("auto", b"graph_for_greach\n3\n0: 1 3 #\n1: #\n2: #\n", 3, "vertex '3' is not in 0..2"),
    "gra vertex over": ("auto", b"graph_for_greach\n2\n0: 1 #\n2: #\n", 4, "vertex '2' is not in 0..1"),
    "gra negative": ("auto", b"graph_for_greach\n2\n0: -1 #\n1: #\n", 3, "found '0: -1 #'"),
    "gra child over int64": ("auto", b"graph_for_greach\n2\n0: " + TOO_LARGE + b" #\n1: #\n", 3, "is not in 0..1"),
    "csv negative": ("auto", b"src,dst\n1,2\n3,-4\n", 3, "dst '-4' is not in"),
    # weights
    "negative weight": ("auto", gr(b"p sp 3 2", b"a 1 2 3", b"a 2 3 -1"), 3, f"weight '-1' is not in 0..{LARGEST}"),
    "no third field at the end": ("snap", b"0 1 7\n1 2 \n", 2, "2 fields, expected 3: '1 2'"),
    "a form feed in a third field": ("snap", b"0\t1\t7\n1\t2\t5\f6\n", 2, "4 fields, expected 3: '1 2 5 6'"),
    "a blank in a third field": ("snap", b"0\t1\t7\n1\t2\t5p e-324\n", 2, "4 fields, expected 3: '1 2 5p e-324'"),
    "negative decimal": ("weighted snap", b"1 2 0.5\n2 3 -0.5\n", 2, "weight '-0.5' is not in 0 or more, and finite"),
    "only a negative decimal": ("weighted snap", b"1 2 -0.5\n", 1, "weight '-0.5' is not in"),
    "NaN": ("auto", gr(b"p sp 3 2", b"a 1 2 3", b"a 2 3 nan"), 3, "weight 'nan' is not in"),
    "NaN among decimals": ("weighted snap", b"1 2 0.5\n2 3 NaN\n", 2, "weight 'NaN' is not in"),
    "infinity": ("weighted snap", b"1 2 0.5\n2 3 inf\n", 2, "weight 'inf' is not in"),
    "minus infinity": ("weighted snap", b"1 2 -inf\n", 1, "weight '-inf' is not in"),
    "weight over int64": ("weighted snap", b"1 2 1\n1 2 " + TOO_LARGE + b"\n", 2, f"weight '{2**63}' is not in 0..{LARGEST}"),
    "weight over float64": ("weighted snap", b"1 2 0.5\n1 2 1e400\n", 2, "weight '1e400' is not in"),
    "weight of 400 digits": ("weighted snap", b"1 2 0.5\n1 2 1" + b"0" * 400 + b"\n", 2, f"is not in 0..{LARGEST}"),
    "mtx real infinity": ("auto", MTX + b"real general\n3 3 1\n1 2 inf\n", 3, "weight 'inf' is not in"),
    "mtx integer with decimals": ("auto", MTX + b"integer general\n3 3 1\n1 2 0.5\n", 3, "weight '0.5' is not an integer"),
    "mtx negative": ("auto", MTX + b"real general\n3 3 1\n1 2 -1e-9\n", 3, "weight '-1e-9' is not in"),
    "csv weight missing": ("auto", b"src,dst,weight\n1,2,3\n1,2,\n", 3, "weight '' is not a number"),
    "no third column": ("weighted snap", b"# x\n1 2\n", 2, "no column '3' among '1', '2': they have no names, but numbers"),
    # malformed values and rows
    "word for an id": ("auto", gr(b"p sp 3 2", b"a 1 2 3", b"a 1 x 3"), 3, "dst 'x' is not an integer"),
    "decimal id": ("auto", b"1 2\n1.5 2\n", 2, "src '1.5' is not an integer"),
    "hexadecimal id": ("auto", b"1 2\n0x10 2\n", 2, "src '0x10' is not an integer"),
    "hexadecimal in csv": ("auto", b"x,src,dst\n0x1,1,2\n5,0X10,2\n", 3, "src '0X10' is not an integer"),
    "underscore": ("auto", b"1 2\n1_0 2\n", 2, "src '1_0' is not an integer"),
    "word for a weight": ("weighted snap", b"1 2 3\n1 2 x\n", 2, "weight 'x' is not a number"),
    "too few fields": ("auto", gr(b"p sp 3 2", b"a 1 2 3", b"a 1 2"), 3, "2 fields, expected 3"),
    "too many fields": ("auto", gr(b"p sp 3 2", b"a 1 2 3", b"a 1 2 3 4"), 3, "4 fields, expected 3"),
    "weights end": ("auto", b"1 2 3\n1 2\n", 2, "2 fields, expected 3"),
    "weights begin": ("auto", b"1 2\n1 2 3\n", 1, "looks like a header, VERTICES EDGES, before lines of more fields"),
    "four columns": ("auto", b"1 2 3 4\n1 2 3 4\n", 1, "4 fields, expected 3"),
    "other line": ("auto", gr(b"p sp 3 2", b"a 1 2 3", b"e 1 2 3"), 3, "starts with 'e', expected 'a'"),
    "csv too few": ("auto", b"src,dst,x\n1,2,3\n1,2\n", 3, "2 fields, expected 3"),
    "csv too many": ("auto", b"src,dst\n1,2\n\n1,2,3\n", 4, "3 fields, expected 2"),
    "csv open quote": ("auto", b'src,dst,x\n1,2,3\n1,2,"3\n4,5,6\n', 3, "unterminated quote"),
    "lone carriage return": ("auto", b"1 2\n1 2\r3 4\n5 6\n", 2, "a carriage return within the line"),
    "gra without end": ("auto", b"graph_for_greach\n2\n0: 1\n1: #\n", 3, "found '0: 1'"),
    "gra without colon": ("auto", b"graph_for_greach\n2\n0: 1 #\n1 0 #\n", 4, "found '1 0 #'"),
    "gra two colons": ("auto", b"graph_for_greach\n2\n0: 1 #\n1:: #\n", 4, "found '1:: #'"),
    "gra ends and colons that add up": ("gra", b"x\n2\n#\n0:1: #\n", 3, "found '#'"),
    "gra without count": ("gra", b"graph_for_greach\n0: #\n", 2, "expected the header \"NUMBER\", found '0: #'"),
    # content of no known format
    "mtx array": ("auto", b"%%MatrixMarket matrix array real general\n2 2\n1\n", 2, "declares 4, but the file has 1"),
    "mtx complex": (
        "auto",
        MTX + b"complex general\n1 1 1\n1 1 0 0\n",
        1,
        "has complex values, which cannot be weights",
    ),
    "mtx hermitian": (
        "auto",
        MTX + b"real hermitian\n1 1 1\n1 1 0\n",
        1,
        "'coordinate real hermitian' matrices are not",
    ),
    "mtx skew": ("auto", MTX + b"real skew-symmetric\n1 1 0\n", 1, "is skew-symmetric: half of its values are negative"),
    "mtx not square": ("auto", MTX + b"real general\n%\n2 3 0\n", 3, "2 rows and 3 columns"),
    "mtx banner": ("auto", b"%%MatrixMarket matrix coordinate\n2 2 0\n", 1, "%%MatrixMarket matrix coordinate VALUES"),
    "mtx sizes": ("auto", MTX + b"real general\n2 2\n", 2, "expected the header \"NUMBER NUMBER NUMBER\", found '2 2'"),
    "csv delimiter": ("csv", b"src;dst\n1;2\n", 1, "among 'src;dst'; if ';' separates the columns, say so in graph.delimiter or"),
    "csv names": ("csv", b"from,to\n1,2\n", 1, "no column 'src' among 'from', 'to'"),
    "csv without header": ("auto", b"1,2\n3,4\n", 1, "the formats are dimacs, arcs, edges, pace, matrix-market, snap"),
    "csv name twice": ("auto", b"src,dst,dst\n1,2,3\n", 1, "2 columns are named 'dst'"),
    "prose": ("auto", b"\nIt was a dark and stormy night;\nthe rain fell in torrents.\n", 2, "the formats are"),
    "json": ("auto", b'{"edges": [[1, 2]]}\n', 1, "the formats are"),
    "binary": ("auto", bytes(range(256)) * 10, None, "is a binary file"),
    "binary as snap": ("snap", b"\x7fELF\0\0\1\2" * 10, 1, "x7fELF"),
    "random bytes as csv": ("csv", b"\xff\xfe\xfd\n\xfc", 1, "no column 'src'"),
    "empty": ("auto", b"", None, "is empty"),
    "blank lines beyond what detection reads": ("auto", b"\n" * (2**20 - 2) + b"x\n", 2**20 - 1, "the formats are"),
    "many blank lines": ("auto", b"\n" * 2**20 + b"1 2\n", None, "has more than 1048576 bytes before its data, the limit"),
    "blank": ("auto", b"\n \n\t\n", None, "is empty"),
    "empty, stated": ("dimacs", b"", None, "is empty"),
    # Arrow skips this mark at the start of each of its blocks.
    "mark of the byte order behind a comment": ("snap", b"# x\n\xef\xbb\xbf3 4\n5 6\n", 2, "3' is not an integer"),
    "mark of the byte order behind a header": ("gra", b"graph\n1\n\xef\xbb\xbf0: #\n", 3, 'expected "VERTEX: CHILDREN #"'),
    "carriage return in a later comment": ("snap", b"1 2\n# x\r3 4\n5 6\n", 2, "a carriage return within the line"),
    "carriage return that hides an edge": ("snap", b"# x\r1 2\n3 4\n", 1, "a carriage return within the line"),
}


@pytest.mark.parametrize("name", CASES)
def test_bad_text_is_refused_with_line_and_value(name, tmp_path):
    error = refused_as_stated(tmp_path, *CASES[name])
    if (line := error.line) is not None:
        assert f"line {line}: " in str(error)


@pytest.mark.parametrize("name", ["too few fields", "NaN", "id over the count", "second header", "word for an id"])
def test_the_line_number_counts_all_blocks_and_both_line_ends(name, tmp_path, monkeypatch):
    monkeypatch.setattr("pipeline.ingest.decompress.CHUNK", 16)
    form, text, line, reason = CASES[name]
    text = text.replace(b"\n", b"\n\nc x\n", 1).replace(b"\n", b"\r\n")
    options = {"format": "snap", "columns": {"weight": 3}} if form == "weighted snap" else {"format": form}
    error = refused(tmp_path, text, **options)
    assert line + 2 == error.line
    assert reason in error.reason


def test_the_line_number_of_a_late_error(tmp_path):
    lines = 1_500_000  # several blocks
    error = refused(tmp_path, b"1 2 3\n" * lines + b"# x\n\n1 2 -3\n" + b"1 2 3\n" * 10, columns={"weight": 3})
    assert lines + 3 == error.line
    assert "weight '-3'" in error.reason


CO = b"p aux sp co 2\nv 1 10 20\nv 2 30 40\n"
COORDINATES = {
    "no header": (b"v 1 2 3\n", 1, "p aux sp co NUMBER"),
    "empty": (b"", None, "is empty"),
    "one short": (CO.replace(b"v 2 30 40\n", b""), 1, "declares 2, but the file has 1"),
    "one over": (CO + b"v 1 1 1\n", 4, "more than the 2 that line 1 declares"),
    "id over": (CO.replace(b"v 2", b"v 3"), 3, "vertex '3' is not in 1..2"),
    "id 0": (CO.replace(b"v 2", b"v 0"), 3, "vertex '0' is not in 1..2"),
    "NaN": (CO.replace(b"40", b"nan"), 3, "y 'nan' is not an integer"),
    "minus infinity": (CO.replace(b"30", b"-inf"), 3, "x '-inf' is not an integer"),
    "word": (CO.replace(b"30", b"x"), 3, "x 'x' is not an integer"),
    "degrees": (
        CO.replace(b"30", b"-73.97"),
        3,
        "x '-73.97' is not an integer: a `.co` file has whole millionths of a degree",
    ),
    "decimals of whole degrees": (CO.replace(b"20", b"53.0"), 2, "y '53.0' is not an integer: a `.co` file has whole millionths"),
    "exponent": (CO.replace(b"10", b"1e7"), 2, "x '1e7' is not an integer"),
    "beyond the north pole": (
        CO.replace(b"40", b"90000001"),
        3,
        "y '90000001' is not in -90000000..90000000 millionths of a degree",
    ),
    "beyond the south pole": (CO.replace(b"20", b"-98765432"), 2, "y '-98765432' is not in -90000000..90000000"),
    "beyond the meridian": (CO.replace(b"30", b"-180000001"), 3, "x '-180000001' is not in -180000000..180000000"),
    "metres of a plane": (CO.replace(b"10", b"5932145000"), 2, "x '5932145000' is not in -180000000..180000000 millionths"),
    "too few fields": (CO.replace(b"30 40", b"30"), 3, "2 fields, expected 3"),
    "other line": (CO.replace(b"v 2", b"a 2"), 3, "starts with 'a', expected 'v'"),
    "twice": (CO.replace(b"v 2", b"v 1"), None, "vertex 2 has no coordinates, another vertex has them twice"),
    "of another graph": (b"p aux sp co 1\nv 1 2 3\n", None, "declares 1 vertices, but "),
}


@pytest.mark.parametrize("name", COORDINATES)
def test_bad_coordinates_are_refused(name, tmp_path):
    text, line, reason = COORDINATES[name]
    (tmp_path / "g.gr").write_bytes(b"p sp 2 1\na 1 2 3\n")
    (tmp_path / "g.co").write_bytes(text)
    graph = GraphConfig(source=str(tmp_path / "g.gr"), coordinates=str(tmp_path / "g.co"))
    with refusing_at(tmp_path / "g.co", line, reason):
        ingest(graph, tmp_path / "work")


LIMITED = {
    "edges": (b"1 2\n# x\n2 3\n3 4\n", {"edges": 2}, 4, "more than 2 edges, the limit"),
    "edges, declared": (gr(b"p sp 3 3", b"a 1 2 3", b"a 1 2 3", b"a 1 2 3"), {"edges": 2}, 4, "more than 2 edges, the limit"),
    "edges of a gra": (b"graph_for_greach\n3\n0: 1 2 #\n1: 2 #\n2: #\n", {"edges": 2}, 4, "more than 2 edges, the limit"),
    "edges of one gra line": (b"graph_for_greach\n3\n0: #\n1: 0 1 2 #\n2: #\n", {"edges": 2}, 4, "more than 2 edges, the limit"),
    "bytes": (b"1 2\n" * 100, {"bytes": 399}, None, "has more than 399 bytes"),
}


@pytest.mark.parametrize("name", LIMITED)
def test_a_file_over_a_limit_is_refused(name, tmp_path):
    text, limits, line, reason = LIMITED[name]
    error = refused(tmp_path, text, limits=Limits(**limits))
    assert line == error.line
    assert reason in error.reason


def test_a_file_at_the_limits_is_read(tmp_path):
    (tmp_path / "g.txt").write_bytes(b"1 2\n" * 100)
    graph = GraphConfig(source=str(tmp_path / "g.txt"), limits=Limits(edges=100, bytes=400))
    assert ingest(graph, tmp_path / "work").facts["edges"] == 100


def test_a_line_over_the_length_limit_is_refused(tmp_path):
    error = refused(tmp_path, b"1 2\n" + b"1" * 30_000_000)
    assert error.line == 2
    assert "is longer than 16777216 bytes, the limit for a line (graph.limits.line)" in error.reason


@pytest.mark.parametrize("path", ["missing.txt", "none/*", "file.txt/below"])
def test_a_path_that_is_not_a_file_is_refused(path, tmp_path):
    (tmp_path / "file.txt").write_text("1 2\n")
    with pytest.raises(BadInput, match=r"[Nn]o such file"):
        ingest(GraphConfig(source=f"{tmp_path}/{path}"), tmp_path / "work")
    assert not (tmp_path / "work").exists()


def test_a_refused_file_leaves_the_previous_edge_list(tmp_path):
    source = tmp_path / "g.txt"
    source.write_text("1 2\n")
    good = ingest(GraphConfig(source=str(source)), tmp_path / "work")
    source.write_text("1 x\n")
    with pytest.raises(BadInput):
        ingest(GraphConfig(source=str(source)), tmp_path / "work")
    assert [path.name for path in (tmp_path / "work").iterdir()] == ["edges"]
    source.write_text("1 2\n")
    again = ingest(GraphConfig(source=str(source)), tmp_path / "work")
    assert again.reused
    assert again.digest == good.digest
