"""`graphmill init`: what it finds in a file, and files that a run, an editor and a deployment can use."""

import gzip
import json
import re
import shlex
import tomllib
from datetime import datetime
from pathlib import Path

import jsonschema
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
import yaml

from pipeline.cli.command import app
from pipeline.cli.init.look import look
from pipeline.config.graph import GraphConfig
from pipeline.config.loading import load_run, run_config
from pipeline.config.reference import ROOT, RUN_SCHEMA, header, tables
from pipeline.errors import BadConfig, BadInput
from pipeline.run import run

TABLES = {  # content, and source, target, weight, header and delimiter that are found
    "from,to,length\n1,2,5\n": ("from", "to", "length", True, None),
    "since;who;whom;minutes\n2020;1;2;3.5\n": ("who", "whom", "minutes", True, ";"),
    "from\tto\tname\n1\t2\tx\n": ("from", "to", False, True, "\t"),
    "1,2,7\n3,4,8\n": ("1", "2", False, False, None),
    "1|2\n3|4\n": ("1", "2", False, False, "|"),
    "whom,who\n1,2\n": ("who", "whom", False, True, None),
    "first,second,score\n1,2,0.5\n": ("first", "second", False, True, None),  # whether a score is a weight, only the user knows
    "created_at,follower,followee,w\n2026-01-01,a,b,3\n": ("follower", "followee", "w", True, None),
    "date,user_id,friend_id,since\n2026-01-01,a,b,2020\n": ("user_id", "friend_id", False, True, None),
    "2026-01-01,ann,bob,1.5\n2026-01-02,bob,cy,2\n": ("2", "3", False, False, None),
    "Year,p,q\n1999,1,2\n": ("p", "q", False, True, None),
    "weight,p,q\n5,7,8\n": ("p", "q", "weight", True, None),
    "2020.5,7,8\n1999.25,8,9\n": ("2", "3", False, False, None),
    "\ufeffFrom ID,To,Distance\n1,2,0.5\n": ("From ID", "To", "Distance", True, None),
}


@pytest.mark.parametrize("content", TABLES)
def test_columns_header_and_delimiter_are_found(content, tmp_path):
    (tmp_path / "table.csv").write_text(content, encoding="utf-8")
    seen = look(GraphConfig(source=str(tmp_path / "table.csv")))
    graph, columns = seen.graph, seen.graph.columns
    assert (columns.src, columns.dst, columns.weight, graph.header, graph.delimiter) == TABLES[content]
    assert seen.first["src"] in (1, 2, 7, "a", "ann") and seen.format == "csv"


MOMENTS = [
    "2026-01-31", "2026/1/3", "31.12.2026", "12/31/99", "2026-01", "2026-01-31T08:15:00Z", "2026-01-31 08:15:00.1+01:00", "08:15",
    "1 Jan 2026", "January 3, 2026", "Mon Feb 2 10:00:00 2026", "20260131", "1767225600", "1767225600123", "2026-01-31 8:15 pm",
]  # fmt: skip
IDS = ["1.2.3.4", "10:20:30:40", "A-2026", "2026", "00-11-22", "may", "2026-13-45", "1767225600"]


@pytest.mark.parametrize("text", MOMENTS)
def test_dates_and_times_are_no_ids(text, tmp_path):
    """Wherever their column is, and whatever it is called; integers only if their column's name agrees."""
    path, file = tmp_path / "table.csv", "created_at;p;q"
    for order in ("0 1 2", "1 0 2", "1 2 0"):
        rows = [file.split(";"), [text, "x1", "x2"], [text, "x3", "x4"]]
        path.write_text("".join(";".join(row[int(place)] for place in order.split()) + "\n" for row in rows))
        seen = look(GraphConfig(source=str(path)))
        assert (seen.graph.columns.src, seen.graph.columns.dst, seen.unused) == ("p", "q", {"created_at": "date"})
        assert set(seen.reasons) == {"src", "dst"}


@pytest.mark.parametrize("text", IDS)
def test_ids_that_resemble_dates_are_ids(text, tmp_path):
    (tmp_path / "table.csv").write_text(f"p;q\n{text};{text}\n")
    seen = look(GraphConfig(source=str(tmp_path / "table.csv"), ids="string"))
    assert (seen.graph.columns.src, seen.graph.columns.dst) == ("p", "q")


def test_thousands_of_rows_decide_what_a_column_has(tmp_path):
    late = "".join("2026-01-01,7,8\n" if row < 3000 else "soon,7,8\n" for row in range(4000))
    (tmp_path / "table.csv").write_text("when,p,q\n" + late)
    assert look(GraphConfig(source=str(tmp_path / "table.csv"))).sample.kinds["when"] == "text"


def test_dates_in_parquet_are_no_ids(tmp_path):
    day = datetime(2026, 1, 31, 8, 15)
    for values in (pa.array([day]), pa.array([day.date()]), pa.array(["2026-01-31"]), pa.array([1767225600]), pa.array([True]),
                   pa.array([[1]]), pa.array(["31.01.2026"]).dictionary_encode()):  # fmt: skip
        pq.write_table(pa.table({"updated": values, "p": ["a"], "q": ["b"]}), tmp_path / "table.parquet")
        seen = look(GraphConfig(source=str(tmp_path / "table.parquet")))
        assert (seen.graph.columns.src, seen.graph.columns.dst, list(seen.unused)) == ("p", "q", ["updated"])


def test_what_is_stated_is_believed(tmp_path):
    (tmp_path / "table.txt").write_text("who,whom,a,b\n1,2,3,4\n")
    columns = {"src": "a", "weight": "whom"}
    seen = look(GraphConfig(source=str(tmp_path / "table.txt"), columns=columns, directed=False))
    assert (seen.graph.columns.src, seen.graph.columns.dst, seen.graph.columns.weight) == ("a", "b", "whom")
    assert seen.stated and not seen.directed and seen.first == {"src": 3, "dst": 4, "weight": 2}


def test_other_formats_are_found_as_runs_find_them(tmp_path):
    (tmp_path / "a.gr.gz").write_bytes(gzip.compress(b"p sp 2 1\na 1 2 7\n"))
    seen = look(GraphConfig(source=str(tmp_path / "a.gr.gz")))
    assert (seen.format, seen.compressed, seen.sample, seen.first) == ("dimacs", True, None, {"src": 1, "dst": 2, "weight": 7})
    pq.write_table(pa.table({"note": ["x"], "to": [2], "from": [1], "km": [1.5]}), tmp_path / "b.parquet")
    seen = look(GraphConfig(source=str(tmp_path / "b.parquet")))
    assert seen.first == {"src": 1, "dst": 2, "weight": 1.5}


@pytest.mark.parametrize("content", [b"", b"\0\1\2", b"hello world\n", b"name,amount\nx,1.5\n"])
def test_what_is_not_a_graph_is_refused(content, tmp_path):
    (tmp_path / "file").write_bytes(content)
    with pytest.raises(BadInput, match="file: "):
        look(GraphConfig(source=str(tmp_path / "file")))


def init(*arguments):
    app(["init", *map(str, arguments)], result_action="return_value")


@pytest.fixture
def people(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    Path("data").mkdir()
    Path("data/people of 2024.csv").write_text("since;who;whom;minutes\n2020;1;2;3.5\n")
    init(
        "data/people of 2024.csv", "--to", "my", "--at", "3:05", "--timezone", "Europe/Berlin", "--stages", "bfs,wcc", "--keep", 9
    )
    return tmp_path / "my" / "people-of-2024.toml", capsys.readouterr().out


def test_the_configuration_is_valid_complete_and_commented(people):
    path, said = people
    config = load_run(path)
    assert config.output == path.parent / "out" / "people-of-2024"
    assert Path(config.graph.source) == path.parents[1] / "data" / "people of 2024.csv"
    assert (config.stages, config.keep, config.graph.title) == (("bfs", "wcc"), 9, "people of 2024")
    assert (config.graph.columns.weight, config.graph.delimiter) == ("minutes", ";")
    text = path.read_text()
    schema = json.loads((ROOT / RUN_SCHEMA).read_text())
    jsonschema.validate(tomllib.loads(text), schema)
    named = (path.parent / re.match("#:schema (.*)", text)[1]).resolve()
    assert named == ROOT / RUN_SCHEMA
    assert all(header(name) in text for name, _ in tables() if name)
    assert (
        "edges        from who to whom (guessed: src by its name, dst by its name)" in said
        and "not read     since (date)" in said
        and "first edge   src 1, dst 2, weight 3.5" in said
    )
    assert f"graphmill check {path}" in said


def test_every_example_in_it_can_be_uncommented(people):
    path, _ = people
    path.write_text(re.sub(r"^# (?=\w+ = |\[[\w.]+\]$)", "", path.read_text(), flags=re.MULTILINE))
    assert run_config("all of it", **tomllib.loads(path.read_text())).keep == 9  # though some have no effect beside others


def test_the_deployment_has_the_form_of_the_projects(people):
    path, _ = people
    own = yaml.safe_load(path.with_suffix(".deployment.yaml").read_text())
    projects = yaml.safe_load((ROOT / "prefect.yaml").read_text())
    assert {key: own[key] for key in ("build", "pull")} == {key: projects[key] for key in ("build", "pull")}
    (entry,) = own["deployments"]
    assert entry["parameters"] == {"run": str(path)} and entry["name"] == "people-of-2024"
    assert entry["schedules"] == [{"cron": "5 3 * * *", "timezone": "Europe/Berlin", "slug": "nightly"}]
    assert {key: entry[key] for key in ("work_pool", "concurrency_limit")} == {
        key: projects["deployments"][0][key] for key in ("work_pool", "concurrency_limit")
    }


HOSTILE = (
    'people\npublish_to = "memory:\\u002F\\u002Fevil"\nkeep = 1 #', "a\r[cluster]", 'quote"s', "it's", "back\\slash\\u0041",
    "tab\t", "\x1b[31mred", "\x7f", "\u2028x", "\u202egnp", "-x", "a: b", "{{ x }}", "# x", "*x", "$(touch owned)", "a b; ls",
)  # fmt: skip
YAML_WORDS = ("yes", "no", "on", "OFF", "null", "true", "2024", "1_000", "0x1f", "1e3", "12:30", "2024-01-01")


@pytest.mark.parametrize("name", [*HOSTILE, *YAML_WORDS])
@pytest.mark.parametrize("option", [False, True])
def test_a_name_is_one_value_wherever_it_is_written(name, option, tmp_path, monkeypatch, capsys):
    """The name of the file, or one that is given, as well as those of columns and folders."""
    monkeypatch.chdir(tmp_path)
    file = Path("people.csv" if option else f"{name}.csv")
    file.write_text("src,dst\n1,2\n")
    init(f"./{file}", "--to", f"./to {name}", *([f"--name={name}"] if option else []))
    said = capsys.readouterr().out
    (path,) = Path(f"to {name}").glob("*.toml")
    stated = tomllib.loads(path.read_text())
    assert stated.keys() == {"output", "graph"} and stated["graph"]["name"] == (name if option else name.split(".")[0])
    config = load_run(path)
    assert Path(config.graph.source).samefile(file) and config.output.is_relative_to(tmp_path)
    (entry,) = yaml.safe_load(path.with_suffix(".deployment.yaml").read_text())["deployments"]
    assert entry["name"] == path.stem and Path(entry["parameters"]["run"]).samefile(path)
    commands = said[said.index("next:") :]
    words = shlex.split(commands)
    assert {words[3], words[6], words[9]} == {entry["parameters"]["run"]} and words[7] == "graphmill" and len(words) == 15
    assert said[: said.index("wrote")].replace("\n", "").isprintable()


def test_names_of_columns_are_values(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    columns = ['a"\nkeep = 1', "b\\u0022\t", "\x1b[2J"]
    pq.write_table(pa.table({name: [1] for name in columns}), "g.parquet")
    init("g.parquet", "--src", columns[0], "--dst", columns[1], "--weight", columns[2])
    assert tomllib.loads(Path("g.toml").read_text())["graph"]["columns"] == dict(
        zip(("src", "dst", "weight"), columns, strict=True)
    )
    assert capsys.readouterr().out.replace("\n", "").isprintable()


def test_all_paths_are_relative_to_the_written_file(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    for name, text in {"g": "src,dst\n1,2\n", "n": "vertex,age\n1,2\n", "c": "vertex,x,y\n1,2,3\n"}.items():
        Path(f"{name}.csv").write_text(text)
    init("g.csv", "--nodes", "n.csv", "--coordinates", "c.csv", "--to", "my")
    graph = load_run(Path("my/g.toml")).graph
    assert [Path(file).name for file in (graph.source, graph.nodes, graph.coordinates) if Path(file).is_file()] == [
        "g.csv",
        "n.csv",
        "c.csv",
    ]


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["data/people of 2024.csv", "--to", "my"], "people-of-2024.toml: already exists"),
        (["my/people-of-2024.toml"], "is a configuration"),
        (["data/people of 2024.csv", "--at", "24:00"], "--at 24:00: is not a time of day"),
        (["data/people of 2024.csv", "--timezone", "Mars"], "--timezone Mars: is not a time zone"),
        (["data/nothing.csv"], "nothing.csv: no such file"),
    ],
)
def test_a_wrong_request_writes_nothing(people, arguments, words):
    before = sorted(Path().rglob("*"))
    with pytest.raises((BadConfig, BadInput), match=re.escape(words)):
        init(*arguments)
    assert sorted(Path().rglob("*")) == before


@pytest.mark.parametrize(
    ("edges", "more", "named"), [("ana,bob", (), True), ("1,2", (), False), ("1,2", ("--ids", "string"), True)]
)
def test_a_graph_whose_ids_are_strings_has_names(tmp_path, monkeypatch, capsys, edges, more, named):
    monkeypatch.chdir(tmp_path)
    Path("g.csv").write_text(f"src,dst\n{edges}\n")
    init("g.csv", *more)
    assert load_run(Path("g.toml")).named is named
    assert ("ids          text: `named = true`" in capsys.readouterr().out) is named
    published = run(load_run(Path("g.toml"), stages=("wcc",)))
    assert ("labels_name" in pq.read_schema(published.path / "wcc" / "part-00000.parquet").names) is named


@pytest.mark.parametrize(("directed", "repeated"), [(True, 1), (False, 3)])
@pytest.mark.parametrize("ids", ["123", "abc"])
def test_parallel_rows_are_counted(directed, repeated, ids, tmp_path):
    one, two, three = ids
    rows = [(one, two), (two, one), (one, two), (two, two), (one, three), (three, one)]
    (tmp_path / "g.csv").write_text("src,dst\n" + "".join(f"{src},{dst}\n" for src, dst in rows))
    notes = look(GraphConfig(source=str(tmp_path / "g.csv"), directed=directed)).notes
    assert notes == (
        f"{repeated} of the first 6 edges have the ends of an earlier one; the lightest of such edges stays, unless --parallel "
        "states another rule",
    )
    assert look(GraphConfig(source=str(tmp_path / "g.csv"), directed=directed, parallel="count")).notes == ()
