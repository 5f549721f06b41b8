"""Which link of the output folder a run is published under, what its manifest says of it, and what may not replace what."""

import datetime as dt
import errno
import json
import os

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from pipeline.changes import change
from pipeline.config.loading import load_run, run_config
from pipeline.errors import BadConfig, Refused
from pipeline.run import run
from pipeline.steps.publication.target import target_of
from pipeline.store import manifest
from pipeline.store.facts.run import RunFacts

ROADS = "from,to,km\n1,2,5\n2,3,1\n3,1,4\n3,4,1\n"
CONFIG = 'output = "out"\nstages = ["bfs", "wcc"]\nsources = [1]\nbackend = "cpu"\n[graph]\nsource = "roads.csv"\n'
COLUMNS = '[graph.columns]\nsrc = "from"\ndst = "to"\nweight = "km"\n'


@pytest.fixture
def nightly(tmp_path):
    (tmp_path / "roads.csv").write_text(ROADS)
    (tmp_path / "nightly.toml").write_text(CONFIG + COLUMNS)
    return tmp_path / "nightly.toml"


def links(folder):
    """The links of an output folder, each with the id of its run."""
    return {path.name: path.readlink().name for path in (folder / "out").iterdir() if path.is_symlink()}


def published(config):
    return run(config).path.name


def test_latest_stays_the_result_of_one_configuration(nightly, caplog):
    folder = nightly.parent
    first = published(load_run(nightly))
    assert links(folder) == {"latest": first}
    manual = published(load_run(nightly, sources=(2,)))
    assert links(folder) == {"latest": first, "manual": manual}
    assert "latest stays as it is: this run differs from it in sources. This run will be manual" in caplog.text
    fewer = published(load_run(nightly, stages=("wcc",)))
    assert links(folder) == {"latest": first, "manual": fewer}
    (folder / "weekly.toml").write_text(CONFIG.replace('"bfs", ', "").replace("sources = [1]\n", "") + COLUMNS)
    weekly = published(load_run(folder / "weekly.toml"))
    assert links(folder) == {"latest": first, "manual": fewer, "weekly": weekly}
    direct = {"source": str(folder / "roads.csv"), "columns": {"src": "from", "dst": "to"}}
    options = published(run_config("options", output=folder / "out", graph=direct, stages=["bfs", "wcc"], sources=[1]))
    assert links(folder) == {"latest": first, "manual": options, "weekly": weekly}

    asked = published(load_run(nightly, sources=(2,), publish_as="latest"))
    assert links(folder)["latest"] == asked
    more = published(load_run(nightly, sources=(2,), stages=("bfs", "wcc", "scc")))
    assert links(folder)["latest"] == more  # nothing of `latest` is lost
    nightly.write_text(CONFIG.replace('"wcc"', '"scc"') + COLUMNS)
    second = published(load_run(nightly, backend="cpu"))  # the same file, though it says something else now
    assert links(folder) == {"latest": second, "manual": options, "weekly": weekly}
    other = published(load_run(nightly, publish_as="what-if"))
    assert links(folder) == {"latest": second, "manual": options, "weekly": weekly, "what-if": other}


CORRECTED = {  # by options; each differs from what `latest` has
    "sources": {"sources": [3]},
    "stages": {"stages": ["wcc"]},
    "columns": {"graph": {"columns": {"src": "to", "dst": "from", "weight": "km"}}},
    "direction": {"graph": {"directed": False}},
    "a product": {"closeness": {}},
}


@pytest.mark.parametrize("corrected", CORRECTED)
def test_a_corrected_command_moves_latest_unless_a_file_made_it(corrected, nightly):
    folder = nightly.parent
    graph = {"source": str(folder / "roads.csv"), "columns": {"src": "from", "dst": "to"}}
    asked = {"output": folder / "out", "graph": graph, "stages": ["bfs", "wcc"], "sources": [1], "backend": "cpu"}
    change = CORRECTED[corrected]
    second = asked | change | {"graph": graph | change.get("graph", {})}
    published(run_config("options", **asked))
    moved = published(run_config("options", **second))
    assert links(folder) == {"latest": moved}
    of_file = published(load_run(nightly))
    assert links(folder) == {"latest": of_file}
    beside = published(run_config("options", **second))
    assert links(folder) == {"latest": of_file, "manual": beside}


def test_the_same_parameters_every_night_keep_latest(nightly):
    for _ in range(2):
        newest = published(load_run(nightly, sources=(2,)))
        assert links(nightly.parent) == {"latest": newest}


@pytest.mark.parametrize("name", ["runs", "steps", "a/b", "..", "-x", ""])
def test_a_bad_name_of_a_link_is_refused(nightly, name):
    with pytest.raises(BadConfig, match="publish_as: must consist of"):
        load_run(nightly, publish_as=name)


def test_what_is_not_a_link_of_a_run_is_not_replaced(nightly):
    (nightly.parent / "out").mkdir()
    (nightly.parent / "out" / "mine").write_text("dear")
    with pytest.raises(BadConfig, match="mine: is not a link that a run made"):
        run(load_run(nightly, publish_as="mine"))
    assert (nightly.parent / "out" / "mine").read_text() == "dear"
    assert not list((nightly.parent / "out" / "steps").iterdir())


def test_keep_counts_the_runs_of_one_link(nightly, monkeypatch):
    monkeypatch.setattr("pipeline.steps.publication.retention.READABLE", dt.timedelta(-1))
    first = published(load_run(nightly, keep=1))
    manual = [published(load_run(nightly, keep=1, sources=(source,))) for source in (2, 3)]
    kept = {path.name for path in (nightly.parent / "out" / "runs").iterdir()}
    assert kept == {first, manual[1]}
    second = published(load_run(nightly, keep=1))
    assert {path.name for path in (nightly.parent / "out" / "runs").iterdir()} == {second, manual[1]}


def test_the_manifest_names_source_configuration_and_versions_without_secrets(nightly):
    found = run(load_run(nightly, sources=(3, 1)))
    facts = RunFacts.of(found)
    assert facts.published_as == "latest"
    assert facts.configuration.file == "nightly"
    assert facts.configuration.changed == ["sources"]
    columns = facts.configuration.values["graph"]["columns"]
    assert {role: columns[role] for role in ("src", "dst", "weight")} == {"src": "from", "dst": "to", "weight": "km"}
    assert facts.configuration.values["stages"] == ["bfs", "wcc"]
    assert facts.input.source.path == str(nightly.parent / "roads.csv")
    assert len(facts.input.source.sha256) == 64
    assert facts.input.sources == [1, 3]
    assert {"graphmill", "python", "numpy"} <= set(facts.versions)
    secret = {"source": "https://token@host/g.csv?signature=swordfish"}
    values = target_of(run_config("options", output=nightly.parent / "other", graph=secret)).configuration.values
    assert "swordfish" not in json.dumps(values) and "token" not in json.dumps(values)


def test_the_report_shows_its_run_and_marks_earlier_figures(nightly):
    first = run(load_run(nightly))
    page = (first.path / "report.html").read_text()
    assert f"Run {first.path.name}, published " in page and "their times are marked" not in page
    assert str(nightly.parent / "out" / "latest") in page
    second = run(load_run(nightly))
    page = (second.path / "report.html").read_text()
    assert f"Run {second.path.name}, published " in page
    assert "It made 0 of its " in page and page.count('<span class="when">made 20') >= 4
    third = run(load_run(nightly, sources=(2,)))
    page = (third.path / "report.html").read_text()
    assert str(nightly.parent / "out" / "manual") in page
    assert "There is no run before this one." in page  # of this name


LIMITS = {
    "min_vertices = 5": "expect.min_vertices: the graph has 4 vertices, the minimum is 5",
    "max_vertices = 3": "expect.max_vertices: the graph has 4 vertices, the maximum is 3",
    "min_arcs = 5": "expect.min_arcs: the graph has 4 arcs, the minimum is 5",
    "max_arcs = 3": "expect.max_arcs: the graph has 4 arcs, the maximum is 3",
    "columns = ['km', 'nmae']": "expect.columns: .*roads.csv has no column 'nmae' among 'from', 'km', 'to'",
}


@pytest.mark.parametrize("limit", LIMITS)
def test_an_unexpected_graph_is_refused_and_latest_stays(limit, nightly):
    first = published(load_run(nightly))
    nightly.write_text(f"{CONFIG}{COLUMNS}[expect]\n{limit}\n")
    with pytest.raises(Refused, match=f"^{LIMITS[limit]}.*nothing is published, and latest stays {first}$"):
        run(load_run(nightly))
    assert links(nightly.parent) == {"latest": first}


def test_a_result_within_its_limits_is_published(nightly):
    limits = "min_vertices = 4\nmax_vertices = 4\nmin_arcs = 4\nmax_arcs = 4\nmax_change = 0.1\ncolumns = ['km', 'to']\n"
    nightly.write_text(f"{CONFIG}{COLUMNS}[expect]\n{limits}")
    assert published(load_run(nightly)) == links(nightly.parent)["latest"]


def test_a_change_beyond_the_limit_is_refused(nightly):
    nightly.write_text(f"{CONFIG}{COLUMNS}[expect]\nmax_change = 0.25\n")
    first = published(load_run(nightly))
    (nightly.parent / "roads.csv").write_text(ROADS + "1,4,1\n")
    assert published(load_run(nightly)) != first  # 5 arcs after 4 are 25 %
    (nightly.parent / "roads.csv").write_text(ROADS + "1,5,1\n4,1,7\n2,4,1\n")
    with pytest.raises(
        Refused, match=r"expect\.max_change: the graph has 7 arcs after 5: a change of 40\.0%, the maximum is 25\.0%"
    ):
        run(load_run(nightly))
    (nightly.parent / "roads.csv").write_text(ROADS)
    run(load_run(nightly))


def test_an_empty_feed_does_not_replace_a_result(nightly):
    (nightly.parent / "roads.csv").write_text("from,to,km\n")
    nightly.write_text(CONFIG.replace("sources = [1]\n", "") + COLUMNS)
    published(load_run(nightly))  # an empty result is not refused if nothing was there
    (nightly.parent / "roads.csv").write_text(ROADS)
    full = published(load_run(nightly))
    (nightly.parent / "roads.csv").write_text("from,to,km\n")
    with pytest.raises(Refused, match=f"expect.empty: the graph has no vertices, the previous one had 4; .* stays {full}$"):
        run(load_run(nightly))
    assert links(nightly.parent) == {"latest": full}
    nightly.write_text(nightly.read_text() + "[expect]\nempty = true\n")
    assert published(load_run(nightly)) == links(nightly.parent)["latest"] != full


def test_an_empty_file_of_pairs_does_not_replace_answers(nightly):
    text = CONFIG.replace('["bfs", "wcc"]', '["reachability"]').replace("sources = [1]\n", "")
    nightly.write_text(text + COLUMNS + '[queries]\npairs = "pairs.parquet"\n')
    pq.write_table(pa.table({"src": [1], "dst": [4]}), nightly.parent / "pairs.parquet")
    first = published(load_run(nightly))
    pq.write_table(pa.table({"src": pa.array([], pa.int64()), "dst": pa.array([], pa.int64())}), nightly.parent / "pairs.parquet")
    with pytest.raises(Refused, match=r"expect\.empty: table reached has no rows, the previous one had 1"):
        run(load_run(nightly))
    assert links(nightly.parent) == {"latest": first}


def test_paths_of_options_mean_the_same_in_another_folder(nightly, monkeypatch):
    folder, lists = nightly.parent, nightly.parent / "lists"
    lists.mkdir()
    (lists / "places.csv").write_text("1\n")
    runs = []
    for here, up in ((lists, ".."), (folder, ".")):
        monkeypatch.chdir(here)
        asked = {"nearest": {"facilities": f"{up}/lists/places.csv"}, "output": folder / "out", "stages": ["wcc"]}
        graph = {"source": f"{up}/roads.csv", "columns": {"src": "from", "dst": "to", "weight": "km"}}
        runs.append(published(run_config("options", graph=graph, **asked)))
        assert links(folder) == {"latest": runs[-1]}
    monkeypatch.chdir("/")
    (folder / "changes.csv").write_text("op,src,dst,weight\ninsert,1,77,5\n")
    changed = change(folder / "out", folder / "changes.csv")
    assert RunFacts.of(changed).tables["nearest"].rows == RunFacts.of(changed).graph.vertices


def test_a_table_that_cannot_be_flushed_is_not_published(nightly, monkeypatch):
    """The files of tables are flushed while the report is drawn; the disk may report an error only once."""
    first, flushed, true = published(load_run(nightly)), [], manifest.flush

    def failing(path):
        flushed.append(path)
        if path.parent.name == "wcc":
            raise OSError(errno.EIO, os.strerror(errno.EIO), str(path))
        true(path)

    monkeypatch.setattr(manifest, "flush", failing)
    with pytest.raises(OSError, match="Input/output error"):
        run(load_run(nightly))
    tables = {nightly.parent / "out" / "steps" / name / "part-00000.parquet" for name in ("bfs", "wcc", "vertices")}
    assert {*flushed} <= tables and links(nightly.parent) == {"latest": first}
