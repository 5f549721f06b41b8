"""The rows of ids and the ids of rows, as the source has them: integers or strings, of any container, and nothing by accident."""

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

import graphmill

TEXTS = ["12", "Zoë, dr", "ana", "bob"]


@pytest.fixture(scope="module")
def opened(tmp_path_factory):
    """The same graph with integers and with strings for ids."""
    folder = tmp_path_factory.mktemp("ids")
    (folder / "numbers.csv").write_text("src,dst\n7,40\n40,900719925474099\n12,7\n12,40\n")
    (folder / "texts.csv").write_text('src,dst\nana,bob\nbob,"Zoë, dr"\n12,ana\n12,bob\n', encoding="utf-8")
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("XDG_CACHE_HOME", str(folder))
        return {name: graphmill.open(folder / f"{name}.csv", backend="cpu") for name in ("numbers", "texts")}


@pytest.mark.parametrize("name", ["numbers", "texts"])
def test_rows_and_ids_are_inverse(opened, name):
    one, size = opened[name], opened[name].graph.num_vertices
    ids = one.ids()
    assert set(ids.tolist()) == ({7, 12, 40, 900719925474099} if name == "numbers" else {*TEXTS})
    assert one.rows(ids).tolist() == [*range(size)] == [one.row(each) for each in ids.tolist()]
    assert one.ids([2, 0, 2]).tolist() == [ids[2], ids[0], ids[2]]
    assert one.ids(graphmill.Frontier.everything(one.graph).rows()).tolist() == ids.tolist()
    assert len(one.ids([])) == len(one.rows([])) == 0
    degrees = np.diff(one.graph.out.offsets)
    assert degrees[one.row(12 if name == "numbers" else "12")] == 2


@pytest.mark.parametrize("column", [list, tuple, iter, np.array, pd.Series, pl.Series, pa.array, dict.fromkeys])
def test_ids_of_any_container(opened, column):
    for name, ids in (("numbers", [900719925474099, 7]), ("texts", ["bob", "Zoë, dr"])):
        assert opened[name].ids(opened[name].rows(column(ids))).tolist() == ids


def test_integers_of_any_type_and_as_texts(opened):
    one = opened["numbers"]
    assert {one.row(each) for each in (40, np.int8(40), np.uint64(40), "40")} == {one.row(40)}
    assert one.rows(np.array([40, 7], np.uint8)).tolist() == one.rows(["40", 7]).tolist()


@pytest.mark.parametrize(
    ("name", "vertex", "message"),
    [
        ("numbers", 8, r"^vertex 8 is not in the graph \(4 vertices\)$"),
        ("numbers", 2**63, r"^vertex '9223372036854775808' is not an integer in 0\.\."),
        ("numbers", -1, r"^vertex '-1' is not an integer in 0\.\."),
        ("numbers", 7.0, r"^vertex '7\.0' is not an integer in 0\.\.\d+; the ids of this graph are integers$"),
        ("numbers", True, r"^vertex 'True' is not an integer in"),
        ("numbers", None, r"^vertex 'None' is not an integer in"),
        ("numbers", "007", r"^vertex '007' is not an integer id, but another form of 7; the ids of this graph are integers$"),
        ("numbers", "ana", r"^vertex 'ana' is not an integer; the ids"),
        ("texts", 12, r"^vertex 12 is int, and the ids of this graph are strings$"),
        ("texts", "anna", r"^vertex 'anna' is not among the 4 ids of the graph; did you mean 'ana'\?$"),
        ("texts", "\ud800", r"is not among the 4 ids of the graph$"),
        ("texts", None, r"^vertex None is NoneType, and"),
    ],
)
def test_an_id_that_the_graph_does_not_have(opened, name, vertex, message):
    with pytest.raises(graphmill.GraphmillError, match=message):
        opened[name].row(vertex)
    first = opened[name].ids()[0]
    with pytest.raises(graphmill.GraphmillError, match=message):
        opened[name].rows([first, vertex, vertex])


def test_arrays_of_other_types_are_refused(opened):
    one = opened["numbers"]
    for wrong in (np.array([7.0]), np.array([2**64 - 1], np.uint64), np.array([-7]), pd.Series([7, None])):
        with pytest.raises(graphmill.GraphmillError, match="the ids of this graph are integers"):
            one.rows(wrong)
    with pytest.raises(TypeError, match="vertices have 2 axes, not one"):
        one.rows(np.array([[7]]))
    with pytest.raises(TypeError, match="rows takes several vertices, and '12' is one; use row"):
        opened["texts"].rows("12")
    with pytest.raises(TypeError, match=r"ids takes several rows, and 1 is one; write \[1\]"):
        one.ids(1)
    with pytest.raises(IndexError, match=r"row 4 is not in 0\.\.3"):
        one.ids([0, 4])


def test_a_notebook_shows_what_was_opened(opened):
    words = "<directed graph of 4 vertices and 4 arcs, no weights, ids are {}, on the CPU>"
    assert [repr(one) for one in opened.values()] == [words.format("integers"), words.format("strings")]
