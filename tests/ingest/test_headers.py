"""First lines and comments of files from collections: a header is no edge, and what a header states is compared or used."""

import gzip
import logging
from contextlib import suppress
from pathlib import Path

import pytest

from pipeline.cli.init.look import look
from pipeline.config.graph import GraphConfig
from pipeline.config.layout import LayoutConfig
from pipeline.errors import BadInput
from pipeline.ingest import ingest
from pipeline.runtime.backend import choose
from pipeline.steps.layout import lay_out
from pipeline.steps.runtime import Runtime
from pipeline.store.facts import GraphFacts
from tests.edge_lists import rows_of_edges

DATA = Path(__file__).parents[2] / "data"
RING = [(vertex, vertex % 40 + 1) for vertex in range(1, 41)]


def read(folder, text, name="g.txt", **options):
    (folder / name).write_bytes(text.encode())
    return ingest(GraphConfig(source=str(folder / name), **options), folder / "work")


def lines(rows, blank=" "):
    return "".join(f"{blank.join(map(str, row))}\n" for row in rows)


SPARSE = [(vertex * 1000, vertex * 1000 + 1) for vertex in range(150)]
HEADERS = {
    "edges from 1": (lines([(40, 40), *RING]), "VERTICES EDGES"),
    "edges from 0, with tabs": (lines([(40, 39), *((src - 1, dst - 1) for src, dst in RING[:-1])], "\t"), "VERTICES EDGES"),
    "isolated vertices": (lines([(90, 40), *RING]), "VERTICES EDGES"),
    "large ids": (lines([(300, 150), *SPARSE]), "VERTICES EDGES"),
    "behind a comment and a blank line": (f"# x\n\n{lines([(40, 40), *RING])}\n# y\n", "VERTICES EDGES"),
    "with weights": (lines([(40, 40, 1), *((*edge, 5) for edge in RING)]), "VERTICES EDGES"),
    "METIS of a ring": ("4 4\n2 4\n1 3\n2 4\n1 3\n", "VERTICES EDGES"),
    "METIS of four neighbours each": ("4 6 0\n2 3 4\n1 3 4\n1 2 4\n1 2 3\n", "VERTICES EDGES FORM of METIS"),
    "a matrix": (lines([(40, 40, 39), *((*edge, 2) for edge in RING[:-1])]), "ROWS COLUMNS ENTRIES"),
    "a matrix behind percent signs": (f"% x\n{lines([(40, 40, 39), *((*edge, 2) for edge in RING[:-1])])}", "ROWS COLUMNS"),
}


@pytest.mark.parametrize("name", HEADERS)
def test_a_first_line_that_is_a_header_is_refused(name, tmp_path):
    text, form = HEADERS[name]
    line = next(number for number, row in enumerate(text.split("\n"), 1) if row[:1].isdigit())
    with pytest.raises(BadInput, match=f"line {line}: looks like a header, {form}.*(remove|write|metis).*state format") as caught:
        read(tmp_path, text)
    assert not list((tmp_path / "work").iterdir())
    rest = text.split("\n")[line:]
    assert f"which {sum(row[:1].isdigit() for row in rest)} lines follow" in caught.value.reason
    stated = "konect" if text.startswith("%") else "snap"
    assert stated in caught.value.reason
    assert read(tmp_path, text, format=stated).facts["edges"] == sum(row[:1].isdigit() for row in rest) + 1
    assert read(tmp_path, "\n".join(rest)).facts["edges"] > 0


@pytest.mark.parametrize(
    "rows",
    [
        [(1, 2), (2, 3), (3, 1)], [(5, 0)], [(0, 1), (0, 1)], [(3, 2), (2, 3)], [(3, 1), (9, 2)], [(40, 39), *RING],
        [(40, 2), *RING], [(1, 40), *RING], [(3, 5, 2), (1, 2, 7), (2, 3, 7)], [(300, 149), *SPARSE],
    ],
)  # fmt: skip
def test_other_first_lines_are_edges(rows, tmp_path):
    assert read(tmp_path, lines(rows)).facts["edges"] == len(rows)


@pytest.mark.parametrize("name", ["facebook_combined.txt.gz", "wiki-Vote.txt.gz"])
def test_the_graphs_of_the_demo_have_no_header_but_may_get_one(name, tmp_path):
    text = gzip.decompress((DATA / name).read_bytes()).decode()
    edges = [line for line in text.splitlines() if not line.startswith("#")]
    vertices = max(int(word) for line in edges for word in line.split()) + 1
    assert read(tmp_path, text).facts["edges"] == len(edges)
    with pytest.raises(BadInput, match=f"looks like a header, VERTICES EDGES, which {len(edges)} lines follow"):
        read(tmp_path, "\n".join([f"{vertices} {len(edges)}", *edges]))


FOREIGN = ["7 11\n5 3 2\n1 3 4\n", "% a comment\n7 11\n5 3 2\n", "1\t2\n2\t3\n"]


@pytest.mark.parametrize("text", FOREIGN)
@pytest.mark.parametrize("name", ["g.graph", "g.metis", "g.mtx", "G.GRAPH", "g.mtx.gz"])
def test_edges_with_the_name_of_another_form_are_refused(name, text, tmp_path):
    content = gzip.compress(text.encode()) if name.endswith(".gz") else text.encode()
    (tmp_path / name).write_bytes(content)
    with pytest.raises(BadInput, match=r"--format snap|lacks the first line \"%%MatrixMarket") as caught:
        ingest(GraphConfig(source=str(tmp_path / name)), tmp_path / "work")
    assert "--format snap" in caught.value.reason
    with pytest.raises(BadInput, match="--format snap") if "mtx" in name else suppress(BadInput):  # compares no lines
        look(GraphConfig(source=str(tmp_path / name)))


@pytest.mark.parametrize(
    ("name", "text", "form"),
    [
        ("g.graph", "# Directed\n1 2\n", "snap"),
        ("g.graph", "p sp 2 1\na 1 2 3\n", "dimacs"),
        ("g.graph", "src,dst\n1,2\n", "csv"),
        ("g.mtx", "%%MatrixMarket matrix coordinate pattern symmetric\n%---\n3 3 1\n2 1\n", "matrix-market"),
    ],
)
def test_content_that_is_clear_is_read_whatever_the_name(name, text, form, tmp_path):
    assert read(tmp_path, text, name).facts["format"] == form


# text, directed, stated by, weight, edges
KONECT = {
    "sym unweighted": ("% sym unweighted\n% 2 3 3\n1 2\n2 3\n", False, "file", None),
    "asym positive with times": ("% asym positive\n1 2 1 1082040961\n2 3 4 1082155839\n", True, "file", None),
    "posweighted": ("% sym posweighted\n% 2 3 3\n1\t2\t4\n2\t3\t5\n", False, "file", "int64"),
    "weighted with decimals": ("% asym weighted \n1 2 0.5\n2 3 4\n", True, "file", "double"),
    "multiweighted without weights": ("% sym multiweighted\n1 2\n2 3\n", False, "file", None),
    "signed": ("% asym signed\n1 2 -1\n2 3 1\n", True, "file", None),
    "more words": ("% sym unweighted unsigned undirected\n% 2 3 3 3\n1 2\n2 3\n", False, "file", None),
    "distinct counts": ("% asym unweighted\n% 2 1 2\n1 2\n2 3\n", True, "file", None),
    "another comment": ("% from somewhere\n%\n1 2 7\n% x\n2 3 8\n", True, "format", None),
}


@pytest.mark.parametrize("name", KONECT)
def test_headers_of_konect_state_direction_and_weights(name, tmp_path):
    text, directed, by, weight = KONECT[name]
    found = read(tmp_path, text, "out.moreno")
    facts = found.facts
    assert (facts["format"], facts["directed"], facts["directed_by"], facts["weight"]) == ("konect", directed, by, weight)
    assert rows_of_edges(found).select(["src", "dst"]).to_pydict() == {"src": [1, 2], "dst": [2, 3]}
    assert read(tmp_path, text, directed=not directed).facts["directed"] is not directed
    assert read(tmp_path, text, columns={"weight": False}).facts["weight"] is None


def test_a_column_of_konect_is_a_weight_on_request(tmp_path):
    found = read(tmp_path, KONECT["asym positive with times"][0], columns={"weight": 4})
    assert rows_of_edges(found)["weight"].to_pylist() == [1082040961, 1082155839]


@pytest.mark.parametrize(
    ("text", "line", "reason"),
    [
        ("% bip unweighted\n1 2\n", 1, "states a bipartite graph, whose left and right vertices have the same numbers"),
        ("\n% sym dynamic\n1 2 -1 5\n", 2, "states a dynamic graph, whose edges are added and removed"),
        ("% sym unweighted\n% 3 3 3\n1 2\n2 3\n", 2, "declares 3, but the file has 2"),
        ("% sym unweighted\n% 1 3 3\n1 2\n2 3\n", 4, "more than the 1 that line 2 declares"),
        ("% asym weighted\n1 2 3\n2 3 -1\n", 3, "weight '-1' is not in"),
        ("% x\n1 2 3 4 5\n", 2, "5 fields, expected 4"),
    ],
)
def test_bad_files_of_konect_are_refused(text, line, reason, tmp_path):
    with pytest.raises(BadInput, match=f"line {line}: .*{reason}"):
        read(tmp_path, text)


COUNTS = [
    "# Nodes: {} Edges: {}", "#Nodes: {}\tEdges: {}",
    "# Nodes: {}, Edges: {}", "# nodes: {}\n# edges: {}", "# Edges: {1} Nodes: {0}",
    "# Nodes: {}\n# Edges: {} ",
]  # fmt: skip


@pytest.mark.parametrize("form", COUNTS)
def test_the_counts_of_snap_are_compared(form, tmp_path, caplog):
    edges = "# FromNodeId\tToNodeId\n7 90\n90 7\n7 12345\n5 5\n"  # four vertices, as SNAP counts them
    found = read(tmp_path, f"{form.format(4, 4)}\n{edges}")
    assert found.facts["declared_vertices"] == 4
    with caplog.at_level(logging.WARNING):
        assert laid_out(found, tmp_path) == 4
    assert not [record for record in caplog.records if record.levelno >= logging.WARNING]
    for count, reason in ((3, "more than the 3 that line"), (5, "declares 5, but the file has 4")):
        with pytest.raises(BadInput, match=reason):
            read(tmp_path, f"{form.format(4, count)}\n{edges}")
    with pytest.raises(BadInput, match="declares 3 nodes, but its edges have 4"):
        laid_out(read(tmp_path, f"{form.format(3, 4)}\n{edges}"), tmp_path)


def laid_out(edges, folder):
    """The number of vertices of the stored graph."""
    return GraphFacts.of(lay_out(edges, LayoutConfig(), Runtime(folder / "work", choose("cpu")))).vertices


@pytest.mark.parametrize("ids", ["auto", "string"])
def test_nodes_without_edges_are_not_in_the_graph_and_the_log_says_so(ids, tmp_path, caplog):
    with caplog.at_level(logging.WARNING):
        edges = read(tmp_path, "# Nodes: 9\n1 2\n2 3\n", ids=ids)
        assert laid_out(edges, tmp_path) == 3
    assert "declares 9 nodes, and its edges have 3: the others, 6, have no edge and so no id" in caplog.text


@pytest.mark.parametrize("comment", ["# Nodes: many Edges: 2", "# of nodes: 2", "# edges: 5 kinds of them", "# 2 3"])
def test_other_comments_of_snap_declare_nothing(comment, tmp_path):
    found = read(tmp_path, f"{comment}\n1 2\n2 3\n3 1\n")
    assert (found.facts["edges"], found.facts["declared_vertices"]) == (3, None)


def test_the_real_counts_of_a_snap_file_hold(tmp_path):
    edges = ingest(GraphConfig(source=str(DATA / "wiki-Vote.txt.gz")), tmp_path / "work")
    assert laid_out(edges, tmp_path) == edges.facts["declared_vertices"] == 7115


@pytest.mark.parametrize("before", ["", "# sizes\n\n"])
def test_sizes_before_lines_of_more_fields_name_the_format(before, tmp_path):
    """As in the simple lists of edges that `format = "edges"` reads."""
    (tmp_path / "simple.edges").write_text(f"{before}3 3\n0 1 5\n1 2 7\n2 0 1\n")
    with pytest.raises(BadInput, match=rf'line {1 + before.count(chr(10))}: looks like a header, .*: state format = "edges"'):
        ingest(GraphConfig(source=str(tmp_path / "simple.edges")), tmp_path / "auto")
    if not before:
        edges = ingest(GraphConfig(source=str(tmp_path / "simple.edges"), format="edges"), tmp_path / "edges")
        assert rows_of_edges(edges).to_pydict() == {"src": [0, 1, 2], "dst": [1, 2, 0], "weight": [5, 7, 1]}
