"""`graphmill init` on files of feeds: directions, times, decimal commas, encodings, and what it says about them."""

import tomllib

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from pipeline.cli.command import app
from pipeline.cli.init.look import look
from pipeline.config.graph import GraphConfig
from pipeline.config.loading import load_run
from pipeline.ingest import ingest
from tests.edge_lists import rows_of_edges


def seen(tmp_path, text, name="g.csv", **options):
    (tmp_path / name).write_bytes(text if isinstance(text, bytes) else text.encode())
    return look(GraphConfig(source=str(tmp_path / name), **options))


# What routers and maps write: the columns that are found.
ROADS = {
    "osm2pgrouting": ("gid,length_m,source,target,cost,reverse_cost,one_way,maxspeed_forward\n1,9,1,2,3.5,-3.5,1,50\n",
                      {"src": "source", "dst": "target", "weight": "cost", "oneway": "one_way",
                       "reverse_weight": "reverse_cost"}),
    "osm2pgrouting, all": ("gid,length,length_m,source,target,cost,reverse_cost,cost_s,reverse_cost_s,one_way,maxspeed_forward,"
                           "maxspeed_backward\n1,.01,9,1,2,.01,-.01,3.5,-3.5,1,50,30\n",
                           {"src": "source", "dst": "target", "weight": "cost_s", "oneway": "one_way",
                            "reverse_weight": "reverse_cost_s", "speed": None}),
    "pgRouting": ("id,source,target,length,cost,reverse_cost\n1,1,2,7,3.5,-1\n",
                  {"src": "source", "dst": "target", "weight": "cost", "reverse_weight": "reverse_cost"}),
    "OpenStreetMap": ("from,to,length,oneway,maxspeed\n1,2,10.5,yes,30\n2,3,9.25,-1,\n3,4,1.0,,50\n",
                      {"src": "from", "dst": "to", "weight": "length", "oneway": "oneway", "reverse_weight": None,
                       "speed": "maxspeed"}),
    "HERE": ("REF_IN_ID,NREF_IN_ID,DIR_TRAVEL,LENGTH\n1,2,F,10\n2,3,B,9\n",
             {"src": "REF_IN_ID", "dst": "NREF_IN_ID", "weight": "LENGTH", "oneway": "DIR_TRAVEL", "reverse_weight": None}),
    "OSMnx": ("u,v,key,osmid,oneway,reversed,length\n1,2,0,7,False,False,3.5\n2,1,0,7,False,True,3.5\n",
              {"src": "u", "dst": "v", "weight": "length", "oneway": None, "reverse_weight": None}),
    "reversible": ("u,v,oneway,length\n1,2,reversible,3\n", {"src": "u", "dst": "v", "weight": "length", "oneway": None}),
}  # fmt: skip


@pytest.mark.parametrize("program", ROADS)
def test_directions_are_found_by_name_and_values(program, tmp_path):
    text, columns = ROADS[program]
    found = seen(tmp_path, text)
    assert {role: getattr(found.graph.columns, role) for role in columns} == columns
    used = {name for name in columns.values() if name}
    assert set(found.unused) == set(text.split("\n")[0].split(",")) - used
    assert found.directed


def test_what_is_left_out_is_said(tmp_path):
    assert "each direction is a row" in seen(tmp_path, ROADS["OSMnx"][0]).notes[0]
    (unknown,) = seen(tmp_path, ROADS["reversible"][0]).notes
    assert "changes its direction by time; [graph.oneway] states what it means" in unknown
    (speed,) = seen(tmp_path, ROADS["OpenStreetMap"][0]).notes
    assert "rows without a speed get 50 km/h, the middle one of those that 2 of 3 rows state (guessed)" in speed
    (speed,) = seen(tmp_path, "u,v,length,maxspeed\n1,2,3,50\n2,3,4,fast\n").notes
    assert speed.startswith("'maxspeed' is not used: speed 'fast' is not a speed")
    (speed,) = seen(tmp_path, ROADS["OpenStreetMap"][0], columns={"weight": "length"}).notes
    assert "'maxspeed' is not read: for travel times" in speed
    assert "oneway" not in seen(tmp_path, ROADS["OpenStreetMap"][0], directed=False).reasons
    (speed,) = seen(tmp_path, ROADS["osm2pgrouting"][0]).notes
    assert speed.startswith("'maxspeed_forward' is not read: `speed` is one speed of a row, for both directions")


@pytest.mark.parametrize("oneway", [[True], [-1], [1.0], ["yes"]])
def test_directions_in_parquet(oneway, tmp_path):
    columns = {"source": [1], "target": [2], "cost": [1.5], "oneway": oneway, "reverse_cost": pa.array([None], "double")}
    pq.write_table(pa.table(columns), tmp_path / "g.parquet")
    found = look(GraphConfig(source=str(tmp_path / "g.parquet"))).graph.columns
    assert (found.weight, found.oneway, found.reverse_weight) == ("cost", "oneway", "reverse_cost")


@pytest.mark.parametrize("row", ["1767225600,7,8", "7,1767225600123,8", "7,8,20260131"])
@pytest.mark.parametrize("header", ["", "p,q,r\n"])
def test_times_that_are_not_called_so_are_no_ids(row, header, tmp_path):
    """Epochs and days come after other integers, wherever they are and whatever they are called."""
    columns = seen(tmp_path, header + f"{row}\n" * 5).graph.columns
    values = dict(zip("pqr" if header else "123", row.split(","), strict=True))
    assert (values[columns.src], values[columns.dst]) == ("7", "8")


LARGE = {  # rows of integers, and the columns of the ends
    "1288834974,1262304000,5": ("1", "2"),  # ids and a value: only one column is left that has no times
    "12,1288834974,5\n13,4000000000,6": ("1", "2"),  # ids beyond the times of today
    "1704067200,1704070800,7,8": ("3", "4"),  # begin, end and two ids
}


@pytest.mark.parametrize("rows", LARGE)
def test_large_ids_are_ids(rows, tmp_path):
    columns = seen(tmp_path, rows + "\n").graph.columns
    assert (columns.src, columns.dst) == LARGE[rows]


# text: keys of the configuration, the weights
NUMBERS = {
    "comma": ("a;b;weight\n1;2;0,5\n2;3;12\n", {"decimal": ","}, [0.5, 12.0]),
    "comma and points": ("a;b;weight\n1;2;1.234,5\n2;3;2\n", {"decimal": ",", "thousands": "."}, [1234.5, 2.0]),
    "commas for thousands": ('a,b,weight\n1,2,"1,234.5"\n2,3,2\n', {"thousands": ","}, [1234.5, 2.0]),
    "apostrophes": ("a;b;weight\n1;2;1'234\n2;3;2\n", {"thousands": "'"}, [1234, 2]),
    "usual": ("a;b;weight\n1;2;1.234\n2;3;2\n", {}, [1.234, 2.0]),
}


@pytest.mark.parametrize("form", NUMBERS)
def test_numbers_of_other_countries_are_found(form, tmp_path):
    text, keys, weights = NUMBERS[form]
    found = seen(tmp_path, text)
    graph = found.graph
    assert graph.columns.weight == "weight"
    assert {key: getattr(graph, key) for key in ("decimal", "thousands")} == {"decimal": ".", "thousands": None} | keys
    assert rows_of_edges(ingest(graph, tmp_path / "work")).to_pydict()["weight"] == weights
    assert bool(found.sample.written.why) == bool(keys)


def test_what_has_two_meanings_is_not_guessed(tmp_path):
    found = seen(tmp_path, "a;b;weight\n1;2;1,234\n2;3;2\n")
    assert found.graph.columns.weight is False
    assert "'weight' is read as text: '1,234' may be a decimal or thousands" in found.notes[0]


def test_texts_for_no_value_are_found(tmp_path):
    found = seen(tmp_path, "a,b,cost,reverse_cost\n1,2,3,NA\n2,3,4,5\n")
    assert found.graph.null == ("NA",)
    assert rows_of_edges(ingest(found.graph, tmp_path / "work")).to_pydict()["weight"] == [3, 4, 5]


@pytest.mark.parametrize("encoding", ["utf-16", "cp1252", "utf-8-sig"])
def test_encodings_are_found(encoding, tmp_path):
    found = seen(tmp_path, "who,whom\nKäthe,Zoë\n".encode(encoding))
    assert found.graph.encoding == (None if encoding == "utf-8-sig" else encoding)
    assert found.first == {"src": "Käthe", "dst": "Zoë"}
    assert len(found.notes) == (encoding != "utf-8-sig")


def test_the_configuration_reads_as_it_was_guessed(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    text = "id;von;nach;from;to;oneway;reverse_cost;cost\n1;x;y;5;7;FT;-1;0,5\n2;y;z;7;9;B;2,25;1\n"
    (tmp_path / "ways.csv").write_text(text)
    app(["init", "ways.csv"], result_action="return_value")
    said = capsys.readouterr().out
    assert "directions   oneway oneway (guessed: by its name), reverse_weight reverse_cost (guessed: by its name)" in said
    assert "written      decimal ',', thousands none: '2,25' is a number (guessed)" in said
    assert "not read     id (integer), von (text), nach (text)" in said
    stated = tomllib.loads((tmp_path / "ways.toml").read_text())["graph"]
    assert (stated["decimal"], stated["columns"]["oneway"]) == (",", "oneway")
    edges = rows_of_edges(ingest(load_run(tmp_path / "ways.toml").graph, tmp_path / "work")).to_pydict()
    assert edges == {"src": [5, 7, 9], "dst": [7, 9, 7], "weight": [0.5, 1.0, 2.25]}


def test_a_bad_row_is_said_and_hides_no_other(tmp_path):
    found = seen(tmp_path, "who,whom\n1,2\n3,\n" + "".join(f"5,{other}\n" for other in range(6, 16)))
    assert found.first == {"src": 1, "dst": 2}
    (note,) = found.notes
    assert "1 of the first 12 rows are bad: line 3: dst '' is not an integer" in note
    assert note.endswith("[reject] limit leaves such rows out")
