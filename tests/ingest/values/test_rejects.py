"""`[reject] limit`: bad rows go to table `rejected`, the others are read, and above the limit the source is refused."""

import gzip
import random

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from pipeline.config.graph import GraphConfig
from pipeline.config.loading import checked
from pipeline.config.run import RunConfig
from pipeline.errors import BadConfig, BadInput
from pipeline.ingest import ingest
from pipeline.run import run
from pipeline.store.names import open_names
from tests.edge_lists import rows_of_edges

BAD = {  # a line of a CSV file with columns src, dst, weight, oneway: column, value and reason in table `rejected`
    ",7,1,yes": ("src", "", "src '' is not an integer"),
    "x,7,1,yes": ("src", "x", "src 'x' is not an integer"),
    "5,-7,1,yes": ("dst", "-7", "dst '-7' is not in 0..9223372036854775807"),
    "5,7,,yes": ("weight", "", "weight '' is not a number"),
    "5,7,-1,yes": ("weight", "-1", "weight '-1' is not in 0..9223372036854775807"),
    "5,7,1,perhaps": ("oneway", "perhaps", "oneway 'perhaps' is not a known direction"),
    "5,7,1": (None, "5,7,1", "3 fields, expected 4: '5,7,1'"),
    "5,7,1,yes,more": (None, "5,7,1,yes,more", "5 fields, expected 4"),
    '5,"7,1,yes': (None, '5,"7,1,yes', "unterminated quote"),
    "5,7,1\rx,yes": (None, "5,7,1\\rx,yes", "a carriage return within the line"),
    f"5,7,1,{'y' * 900}": ("oneway", "y" * 200 + "...", "is not a known direction"),
}


def rejected(folder):
    return pq.read_table(folder.path / "rejected.parquet").to_pylist()


def read(tmp_path, text, limit, name="g.csv", **options):
    source = tmp_path / name
    source.write_bytes(gzip.compress(text.encode()) if name.endswith(".gz") else text.encode())
    options = {"ids": "integer"} | options
    return ingest(GraphConfig(source=str(source), **options), tmp_path / "work", reject=limit)


@pytest.mark.parametrize("name", ["g.csv", "g.csv.gz"])
@pytest.mark.parametrize("lines", [50, 30_000])
def test_bad_lines_are_written_and_the_others_are_read(name, lines, tmp_path):
    draw = random.Random(lines)
    good, bad, text = [], [], ["src,dst,weight,oneway"]
    places = {draw.randrange(lines): line for line in BAD}
    for number in range(lines):
        edge = draw.randrange(100), draw.randrange(100), draw.randrange(9)
        line = places.get(number, f"{edge[0]},{edge[1]},{edge[2]},yes")
        text.append(line)
        if number in places:
            bad.append((number + 2, *BAD[line]))
        else:
            good.append(edge)
    edges = read(tmp_path, "\n".join([*text, "", ""]), len(BAD), name, columns={"oneway": "oneway"})
    assert [*zip(*rows_of_edges(edges).to_pydict().values(), strict=True)] == good
    found = rejected(edges)
    assert [(row["line"], row["column"], row["value"]) for row in found] == [row[:3] for row in bad]
    assert all(row[3] in one["reason"] for row, one in zip(bad, found, strict=True))
    assert {row["file"] for row in found} == {str(tmp_path / name)}
    assert edges.facts["rejected"] == {"rows": len(bad), "read": lines}


def test_above_the_limit_the_source_is_refused_with_the_number_and_the_first_rows(tmp_path):
    text = "src,dst\n" + "1,2\n" * 20 + "1,\n,2\n1,x\n2,y\n"
    wanted = (
        r"4 of 24 rows are refused, the limit is 3 \(reject.limit\); the first: line 22: dst '' .*; line 23: src '' .*line 24"
    )
    with pytest.raises(BadInput, match=wanted):
        read(tmp_path, text, 3)
    assert not [*(tmp_path / "work").glob("*")]
    with pytest.raises(BadInput, match=r"4 of 24 rows are refused, the limit is 0.16 of them"):
        read(tmp_path, text, 0.16)
    assert read(tmp_path, text, 0.17).facts["edges"] == read(tmp_path, text, 4).facts["edges"] == 20
    with pytest.raises(BadInput, match="line 22: dst '' is not an integer"):
        read(tmp_path, text, 0)


def test_a_file_without_bad_rows_has_an_empty_table(tmp_path):
    edges = read(tmp_path, "src,dst\n1,2\n", 5)
    assert rejected(edges) == []
    assert edges.facts["rejected"] == {"rows": 0, "read": 1}
    assert "rejected" not in read(tmp_path, "src,dst\n1,2\n", 0).facts


# format, text, edges, lines and reasons
TEXTS = {
    "snap": (
        "# Directed\n# Nodes: 4 Edges: 4\n1\t2\n1 2 3\n2\t\n3\t4\n",
        [(1, 2), (3, 4)],
        {4: "3 fields, expected 2", 5: "1 fields"},
    ),
    "konect": ("% sym posweighted\n% 3 3 3\n1 2 5\n2 3 x\n3 1 7\n", [(1, 2, 5), (3, 1, 7)], {4: "weight 'x' is not a number"}),
    "tsv": (
        "src\tdst\tweight\n1\t2\t1.5\n2\t\t1\n3\t4\tnan\n",
        [(1, 2, 1.5)],
        {3: "dst '' is not an integer", 4: "weight 'nan'"},
    ),
}


@pytest.mark.parametrize("form", TEXTS)
def test_other_texts(form, tmp_path):
    text, expected, reasons = TEXTS[form]
    edges = read(tmp_path, text, 2, "g.txt", format=form)
    assert [*zip(*rows_of_edges(edges).to_pydict().values(), strict=True)] == expected
    found = {row["line"]: row["reason"] for row in rejected(edges)}
    assert found.keys() == reasons.keys()
    assert all(reason in found[line] for line, reason in reasons.items())


def test_rows_of_parquet(tmp_path):
    rows = 3000
    columns = {
        "src": [str(number % 50) for number in range(rows)],
        "dst": [str(number % 31) for number in range(rows)],
        "weight": [float(number % 7) for number in range(rows)],
        "back": [float(number % 5) for number in range(rows)],
    }
    wrong = {
        5: ("src", None),
        999: ("dst", ""),
        1000: ("weight", None),
        1001: ("back", float("nan")),
        2999: ("weight", float("inf")),
    }
    for row, (name, value) in wrong.items():
        columns[name][row] = value
    pq.write_table(pa.table(columns), tmp_path / "g.parquet", row_group_size=700)
    asked = GraphConfig(source=str(tmp_path / "g.parquet"), columns={"reverse_weight": "back"})
    edges = ingest(asked, tmp_path / "work", reject=0.01)
    names = open_names(edges).array().to_pylist()
    found = [
        (names[src], names[dst], weight) for src, dst, weight in zip(*rows_of_edges(edges).to_pydict().values(), strict=True)
    ]
    expected = [arc for row in range(rows) if row not in wrong for arc in both(*(columns[name][row] for name in columns))]
    assert found == expected
    assert [(row["line"], row["column"]) for row in rejected(edges)] == [(row, name) for row, (name, _) in wrong.items()]
    reasons = [row["reason"] for row in rejected(edges)]
    assert reasons[:2] == ["src is null", "dst is empty"]
    with pytest.raises(BadInput, match="row 5: src is null"):
        ingest(asked, tmp_path / "work")
    with pytest.raises(
        BadInput, match=r"5 of 3,000 rows are refused, the limit is 4 .*row 5: src is null; row 999: dst is empty"
    ):
        ingest(asked, tmp_path / "work", reject=4)


def both(src, dst, weight, back):
    return [(src, dst, weight), (dst, src, back)]


def test_rows_with_strings_are_refused_in_both_readings(tmp_path):
    edges = read(tmp_path, "src,dst\neve,fay\nfay,\n,gus\nhal\ngus,eve\n", 3, ids="auto")
    assert open_names(edges).array().to_pylist() == ["eve", "fay", "gus"]
    assert [row["line"] for row in rejected(edges)] == [3, 4, 5]


@pytest.mark.parametrize(
    ("form", "text"), [("dimacs", "p sp 2 1\na 1 2 x\n"), ("gra", "graph_for_greach\n1\n0: 5 #\n"), ("pace", "p tw 2 1\n1 x\n")]
)
def test_formats_with_counted_rows_leave_none_out(form, text, tmp_path):
    with pytest.raises(BadInput, match=f"no row of format {form} can be left out"):
        read(tmp_path, text, 5, "g.txt", format=form, ids="auto")


def test_a_wrong_header_is_refused_in_any_case(tmp_path):
    with pytest.raises(BadInput, match="no column 'dst'"):
        read(tmp_path, "src,to\n1,2\n", 5, format="csv")


@pytest.mark.parametrize("limit", [1.5, 1.0, -1, True, "1%", 2_000_000])
def test_limits_that_mean_nothing_are_refused(limit, tmp_path):
    with pytest.raises(BadConfig, match="reject"):
        checked(RunConfig, "test", graph={"source": "g.csv"}, output=tmp_path, reject={"limit": limit})


def test_a_run_publishes_the_refused_rows(tmp_path):
    (tmp_path / "g.csv").write_text("src,dst\n1,2\n2,\n2,3\n")
    config = {"graph": {"source": str(tmp_path / "g.csv"), "ids": "integer"}, "output": tmp_path / "out", "stages": ["wcc"]}
    published = run(checked(RunConfig, "test", **config, backend="cpu", reject={"limit": 1}))
    (row,) = pq.read_table(tmp_path / "out" / "latest" / "rejected").to_pylist()
    assert (row["line"], row["column"], row["reason"]) == (3, "dst", "dst '' is not an integer")
    assert published.facts["input"]["rejected"] == {"rows": 1, "read": 3}
    assert published.facts["tables"]["rejected"]["rows"] == 1
    assert "1 of 3 rows, which are in table rejected" in (published.path / "report.html").read_text()
    (tmp_path / "g.csv").write_text("src,dst\n1,2\n2,3\n")  # a night without bad rows may follow
    run(checked(RunConfig, "test", **config, backend="cpu", reject={"limit": 1}, changes={"tables": True}))
    assert pq.read_table(tmp_path / "out" / "latest" / "rejected").num_rows == 0
