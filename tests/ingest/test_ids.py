"""An integer has one form as an id, in every input that names vertices: other forms are strings, or refused, never merged."""

import logging

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from pipeline.changes.reading import read_changes
from pipeline.config.graph import GraphConfig
from pipeline.config.loading import run_config
from pipeline.config.sources import read_sources
from pipeline.errors import BadConfig, BadInput, BadSource
from pipeline.ingest import ingest
from pipeline.ingest.formats import text as lines_of_text
from pipeline.ingest.formats.text import has_leading_zero
from pipeline.ingest.source import locate
from pipeline.ingest.vertex_names import numbers_of
from pipeline.inspection.path import shortest_path
from pipeline.run import run
from pipeline.steps.products.vertices import read_vertices
from pipeline.steps.runtime import Runtime
from pipeline.store.manifest import read as read_manifest
from pipeline.store.names import open_names
from pipeline.texts import decimal_form_of, id_of, is_integer_id, other_form_of
from tests.counts import examples
from tests.edge_lists import rows_of_edges

# Other forms, and what `int` makes of them.
FORMS = {
    "0042": 42, "00": 0, "-0": 0, "+5": 5, "-007": -7, "1_000": 1000, "٤٢": 42, "\uff17": 7, "+0_1": 1, "0" * 50: 0,
}  # fmt: skip
DECIMALS = {"25190.0": 25190, "1e+05": 100_000, "7.": 7, "12E1": 120, "1.5e1": 15, "100e-2": 1, "-3.0": -3, "1e+005": 100_000}
TEXTS = ["", "x", "1.5", "0x10", "1__0", "_1", "nan", "inf", "1e-3", "1e99", "1 2", "²", "½", "1,5", "--1", "+", "."]


@pytest.mark.parametrize("text", FORMS)
def test_other_forms_of_integers_are_known(text):
    assert not is_integer_id(text)
    assert id_of(text) is None
    assert other_form_of(text) == str(FORMS[text])
    assert decimal_form_of(text) is None


@pytest.mark.parametrize("text", DECIMALS)
def test_decimal_forms_of_integers_are_known(text):
    assert (other_form_of(text), decimal_form_of(text), id_of(text)) == (None, str(DECIMALS[text]), None)


@pytest.mark.parametrize("text", TEXTS)
def test_other_texts_are_no_integers(text):
    assert (other_form_of(text), decimal_form_of(text), id_of(text)) == (None, None, None)


@settings(max_examples=examples(200))
@given(st.text("0123456789+-_.eE٤\uff17 ", max_size=8))
@example("-0")
def test_a_text_is_an_id_or_another_form_as_python_reads_it(text):
    try:
        value = int(text) if text == text.strip() else None
    except ValueError:
        value = None
    assert is_integer_id(text) == (value is not None and str(value) == text)
    assert (other_form_of(text) is not None) == (value is not None and str(value) != text)


@settings(max_examples=examples(300))
@given(st.text("01a, ;\n-", max_size=30), st.integers(3, 9), st.sampled_from(["", ",", " "]))
@example("1,2019-01-02 03:04\n", 5, ",")
@example("1, 01", 5, ",")
def test_leading_zeros_are_found(text, window, delimiter):
    def leads(place):
        before = text[place - 1] if place else "\n"
        within = delimiter == "," and before == " " and place > 1 and text[place - 2] in "0123456789"
        return text[place] == "0" and text[place + 1] in "0123456789" and before not in "0123456789-./:" and not within

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(lines_of_text, "_IN_CACHE", window)
        assert has_leading_zero(text.encode(), delimiter) == any(map(leads, range(len(text) - 1)))


def written(path, rows, suffix):
    delimiter = {"csv": ",", "tsv": "\t"}.get(suffix, " ")
    header = [["src", "dst"]] if suffix in {"csv", "tsv"} else []
    path.write_text("".join(f"{delimiter.join(row)}\n" for row in header + rows), encoding="utf-8")
    return str(path)


@pytest.mark.parametrize("text", FORMS)
@pytest.mark.parametrize(("suffix", "line", "chunk"), [("csv", 0, 2**20), ("tsv", 1, 2**20), ("csv", 1500, 64)])
def test_another_form_of_an_integer_makes_all_ids_strings_and_the_log_says_so(
    suffix, line, chunk, text, tmp_path, caplog, monkeypatch
):
    monkeypatch.setattr("pipeline.ingest.decompress.CHUNK", chunk)
    rows = [["1", "2"]] * 2000
    rows[line : line + 1] = [["42", text]]
    source = written(tmp_path / f"g.{suffix}", rows, suffix)
    with caplog.at_level(logging.WARNING):
        found = ingest(GraphConfig(source=source), tmp_path / "work")
    names = sorted({"1", "2", "42", text}, key=str.encode)
    assert open_names(found).array().to_pylist() == names
    assert rows_of_edges(found)["dst"].to_pylist() == [names.index(row[1]) for row in rows]
    assert "another form of" in caplog.text
    assert "all ids are read as strings" in caplog.text
    with pytest.raises(BadInput, match=rf"line {line + 2}: dst .* is not an integer id, but another form of {FORMS[text]}(;|$)"):
        ingest(GraphConfig(source=source, ids="integer"), tmp_path / "other")


@pytest.mark.parametrize("text", ["007", "-0", "+7", "1_000"])
def test_blanks_beside_a_number_and_zeros_elsewhere_leave_ids_integers(text, tmp_path):
    (tmp_path / "g.csv").write_text(f'note,src,dst,weight\n{text}, 10,"20"\t,007\n2019-01-02 03:04,0,10 ,00.5\n')
    found = ingest(GraphConfig(source=str(tmp_path / "g.csv")), tmp_path / "work")
    assert rows_of_edges(found).to_pydict() == {"src": [10, 0], "dst": [20, 10], "weight": [7, 0.5]}


@pytest.mark.parametrize("text", DECIMALS)
@pytest.mark.parametrize("rows", [["{},1", "3,4"], ["3,4", "1,{}"]])
def test_a_decimal_form_is_refused_and_not_made_a_text(rows, text, tmp_path):
    content = "\n".join(["src,dst", *rows]).format(text)
    (tmp_path / "g.csv").write_text(content)
    with pytest.raises(BadInput, match=f"is not an integer id, but a decimal form of {DECIMALS[text]}; if ids are strings"):
        ingest(GraphConfig(source=str(tmp_path / "g.csv")), tmp_path / "work")
    found = ingest(GraphConfig(source=str(tmp_path / "g.csv"), ids="string"), tmp_path / "work")
    assert text in open_names(found).array().to_pylist()


OF_INTEGERS = {
    "dimacs": "p sp 9 2\na 1 2 3\na 1 {} 4\n",
    "arcs": "a 1 2 3\na {} 2 3\n",
    "edges": "9 2\n1 2 3\n1 {} 4\n",
    "snap": "1 2\n1 {}\n",
    "konect": "% x\n1 {}\n",
    "matrix-market": "%%MatrixMarket matrix coordinate pattern general\n9 9 2\n1 2\n{} 2\n",
    "gra": "x\n2\n0: {} #\n1: #\n",
    "pace": "p tw 9 2\n1 2\n1 {}\n",
}


@pytest.mark.parametrize("text", ["01", "00", "-0", "+1", "0_1", "\uff11"])
@pytest.mark.parametrize("form", OF_INTEGERS)
def test_formats_of_integers_refuse_other_forms(form, text, tmp_path):
    source, content = tmp_path / "g", OF_INTEGERS[form].format(text)
    source.write_text(content, encoding="utf-8")
    line = next(number for number, line in enumerate(content.splitlines(), 1) if text in line.split())
    with pytest.raises(BadInput, match=rf"another form of {int(text)}|expected \"VERTEX: CHILDREN") as caught:
        ingest(GraphConfig(source=str(source), format=form), tmp_path / "work")
    assert caught.value.line == line
    if form in ("snap", "konect"):
        assert "--ids string" in caught.value.reason
        found = ingest(GraphConfig(source=str(source), format=form, ids="string"), tmp_path / "work")
        assert text in open_names(found).array().to_pylist()


def test_snap_with_string_ids_separates_by_any_blanks(tmp_path):
    (tmp_path / "g.txt").write_text("# x\neve\tfay 3\n  fay  gus\t4 \n#eve 1 2\nx y\tz\n")
    asked = {"format": "snap", "ids": "string", "columns": {"weight": False}}
    found = ingest(GraphConfig(source=str(tmp_path / "g.txt"), **asked), tmp_path / "work")
    names = open_names(found).array().to_pylist()
    rows = rows_of_edges(found)
    assert [(names[src], names[dst]) for src, dst in zip(rows["src"].to_pylist(), rows["dst"].to_pylist(), strict=True)] == [
        ("eve", "fay"), ("fay", "gus"), ("x", "y"),
    ]  # fmt: skip


@pytest.fixture(scope="module")
def published(tmp_path_factory):
    """Two runs of the same edges: with integers, and with the strings 7 and 007 as ids."""
    folder = tmp_path_factory.mktemp("ids")
    runs = {}
    for kind, rows in {"integers": [["7", "12"], ["12", "3"]], "strings": [["007", "7"], ["7", "+7"]]}.items():
        graph = {"source": written(folder / f"{kind}.csv", rows, "csv")}
        runs[kind] = run(run_config("test", graph=graph, output=folder / kind, stages=["bfs"], sources=["7"]))
    return runs


def steps(run):
    return tuple(read_manifest(run.path.parents[1] / "steps" / name) for name in ("edges", "graph"))


def of_text(folder, text):
    path = folder / "vertices.txt"
    path.write_text(f"{text}\n", encoding="utf-8")
    return path


def node(run, text, folder):
    (folder / "nodes.csv").write_text(f"vertex,note\n{text},x\n", encoding="utf-8")
    source = read_manifest(run.path.parents[1] / "steps" / "edges").facts["source"]["path"]
    edges = ingest(GraphConfig(source=source, nodes=str(folder / "nodes.csv")), folder / "work")
    return pq.read_table(edges.path / "nodes.parquet")["vertex"].to_pylist()


def change(run, text, folder):
    named = open_names(steps(run)[0]) is not None
    (folder / "changes.csv").write_text(f"op,src,dst\ninsert,{text},{text}\n", encoding="utf-8")
    listed = read_changes(locate(str(folder / "changes.csv")), None, GraphConfig(source="x"), None, named)
    return open_names(steps(run)[0]).find(listed.src).tolist() if named else listed.src.to_pylist()


NAMING = {
    "sources": lambda run, text, folder: numbers_of(steps(run)[0], [text]),
    "a file of sources": lambda run, text, folder: numbers_of(steps(run)[0], read_sources(of_text(folder, text))),
    "facilities": lambda run, text, folder: read_vertices(str(of_text(folder, text)), *steps(run), Runtime(folder)).tolist(),
    "path": lambda run, text, folder: [shortest_path(read_manifest(run.path), "7", text).vertices[-1]["vertex"]],
    "nodes": node,
    "changes": change,
}


@pytest.mark.parametrize("naming", NAMING)
def test_every_input_that_names_vertices_has_the_same_rule(naming, published, tmp_path):
    find = NAMING[naming]
    assert find(published["integers"], "12", tmp_path) == [12]
    for text in ("0012", "+12", "1_2", "12_", "١٢"):
        with pytest.raises((BadInput, BadSource, BadConfig)) as caught:
            find(published["integers"], text, tmp_path)
        assert ("another form of 12" in str(caught.value)) == (text != "12_")
    names = open_names(steps(published["strings"])[0]).array().to_pylist()
    assert names == ["+7", "007", "7"]
    assert find(published["strings"], "7", tmp_path) == [2]
    if naming != "path":  # 007 is not reached from 7
        assert find(published["strings"], "007", tmp_path) == [1]
    assert find(published["strings"], "+7", tmp_path) == [0]


def test_a_number_beyond_int64_may_be_a_string_but_not_an_integer(published, tmp_path):
    rows = [["9223372036854775808", "x"], ["x", "1"]]
    edges = ingest(GraphConfig(source=written(tmp_path / "g.csv", rows, "csv")), tmp_path / "work")
    asked = read_sources(of_text(tmp_path, rows[0][0]))
    assert numbers_of(edges, asked) == [1]
    with pytest.raises(BadSource, match=r"source '9223372036854775808' is not in 0..9223372036854775807"):
        numbers_of(steps(published["integers"])[0], asked)
    with pytest.raises(BadSource, match=r"vertex '9223372036854775808' is not in 0..9223372036854775807"):
        shortest_path(read_manifest(published["integers"].path), "7", rows[0][0])


def test_strings_of_parquet_pairs_are_looked_up_as_they_are(published, tmp_path):
    from pipeline.steps.pairs import batches, blocks

    pq.write_table(pa.table({"src": ["007"], "dst": ["7"]}), path := tmp_path / "pairs.parquet")
    (block,) = blocks(path, str(path), 10)
    (found,) = batches(path, str(path), block, steps(published["strings"])[1])
    assert [column.to_pylist() for column in found.columns] == [[1], [2]]


@pytest.mark.parametrize("text", ["\ufeffeve", "\ufeff", "\ufeff7", "e\ufeffve"])
@pytest.mark.parametrize("row", [0, 1])
@pytest.mark.parametrize("chunk", [16, 2**20])
def test_an_id_with_a_byte_order_mark_is_an_id_in_any_row(row, chunk, text, tmp_path, monkeypatch):
    monkeypatch.setattr("pipeline.ingest.decompress.CHUNK", chunk)
    rows = [["ann", "bob"], ["bob", "ann"]]
    rows.insert(row, [text, "ann"])
    found = ingest(GraphConfig(source=written(tmp_path / "g.csv", rows, "csv")), tmp_path / "work")
    names = open_names(found).array().to_pylist()
    assert names == sorted(["ann", "bob", text], key=str.encode)
    assert [names[number] for number in rows_of_edges(found)["src"].to_pylist()] == [one for one, _ in rows]


LATIN = "Jürgen".encode("latin-1")
CONTENTS = {
    "edges": (b"src,dst\nann,bob\n%s,ann\n", 3),
    "header": (b"%s,dst\n1,2\n", 1),
    "nodes": (b"vertex,name\n1,x\n1,%s\n", 3),
    "ids of nodes": (b"vertex,name\n%s,x\n", 2),
    "sources": (b"# x\nann\n%s\n", 3),
    "changes": (b"op,src,dst\ninsert,%s,x\n", 2),
}


@pytest.mark.parametrize("name", CONTENTS)
def test_latin_1_is_named_with_its_byte_and_a_remedy(name, tmp_path):
    content, line = CONTENTS[name]
    path, graph = tmp_path / "file.csv", tmp_path / "g.txt"
    path.write_bytes(content.replace(b"%s", LATIN))
    graph.write_text("1 2\n")
    with pytest.raises((BadInput, BadConfig), match=rf"line {line}: .*byte 0xfc is wrong, and may be 'ü' in Latin-1; `iconv"):
        if name == "sources":
            read_sources(path)
        elif name == "changes":
            read_changes(locate(str(path)), None, GraphConfig(source="x"), None, True)
        elif "nodes" in name:
            ingest(GraphConfig(source=str(graph), nodes=str(path)), tmp_path / "work")
        else:
            asked = {"src": "Jürgen", "dst": "dst"} if name == "header" else {}
            ingest(GraphConfig(source=str(path), columns=asked), tmp_path / "work")


def test_utf_16_is_called_that(tmp_path):
    (tmp_path / "g.csv").write_text("src,dst\n1,2\n", encoding="utf-16")
    with pytest.raises(BadInput, match="is UTF-16; state encoding"):
        ingest(GraphConfig(source=str(tmp_path / "g.csv")), tmp_path / "work")
