"""`graphmill.open`: the graph of every kind of target is that of its file, stays valid, and what is no graph is refused."""

import csv
import gzip
import json
import shutil
import subprocess
import sys
from importlib import import_module

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import graphmill
from pipeline.changes import change
from pipeline.config.loading import run_config
from pipeline.config.run import workplace
from pipeline.run import run
from pipeline.store.workspace import workspace
from tests.project.test_layout import ROOT

ROADS = "src,dst,weight\n3,1,4\n1,2,5\n2,3,1\n1,9,7\n1,2,8\n9,9,2\n"
OTHERS = "src,dst,weight\n" + "".join(f"{n},{n * n % 31 + 40},{n}\n" for n in range(1, 30))
PEOPLE = 'who;whom;kg\nana;bob;3\nbob;"Zoë, dr";2.5\n12;ana;9\n'
COLUMNS = {"src": "who", "dst": "whom", "weight": "kg"}


@pytest.fixture(autouse=True)
def cache(tmp_path, monkeypatch):
    """Where graphs of files are kept."""
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    return tmp_path / "cache"


def arcs_in(text, undirected=False, delimiter=","):
    """The arcs of an edge list, by a reader of its own: the lightest of parallel ones, no self-loops."""
    arcs = {}
    for src, dst, weight in [*csv.reader(text.splitlines(), delimiter=delimiter)][1:]:
        for arc in ((src, dst), (dst, src))[: 1 + undirected]:
            if src != dst:
                arcs[arc] = min(float(weight), arcs.get(arc, float("inf")))
    return arcs


def arcs_of(opened, side="out"):
    """The arcs of a graph by the ids of its source, of either side."""
    csr, ids = getattr(opened.graph, side), list(map(str, opened.ids().tolist()))
    near = np.repeat(np.arange(len(ids)), np.diff(csr.offsets)).tolist()
    weights = [1.0] * len(near) if csr.weights is None else csr.weights.tolist()
    ends = [(ids[one], ids[other]) for one, other in zip(near, csr.indices.tolist(), strict=True)]
    arcs = dict(zip(ends if side == "out" else [end[::-1] for end in ends], map(float, weights), strict=True))
    assert len(arcs) == len(near)
    return arcs


def require_graph(opened, arcs):
    opened.graph.validate()
    assert arcs_of(opened) == arcs_of(opened, "into") == arcs


def written(folder, text=ROADS, name="roads.csv"):
    (folder / name).write_text(text, encoding="utf-8")
    return folder / name


def published(folder, text=ROADS, **graph):
    source = {"source": str(written(folder, text)), **graph}
    return run(run_config("test", graph=source, output=folder / "out", stages=["wcc"], backend="cpu")).path


@pytest.mark.parametrize("name", ["out", "out/latest", "run"])
def test_the_graph_of_a_run(tmp_path, name):
    path = published(tmp_path)
    opened = graphmill.open(path if name == "run" else tmp_path / name)
    require_graph(opened, arcs_in(ROADS))
    assert opened.ids(opened.rows([9, 1])).tolist() == [9, 1]


def test_the_graph_of_runs_with_an_output_url(tmp_path):
    """They work in a folder of this machine, and a graph file at a URL is read."""
    written(tmp_path)
    source, output = (f"file://{tmp_path}/{name}" for name in ("roads.csv", "out"))
    run(run_config("test", graph={"source": source}, output=output, stages=["wcc"], backend="cpu"))
    for target in (output, source):
        require_graph(graphmill.open(target), arcs_in(ROADS))


def test_the_graph_of_a_run_with_its_changes(tmp_path):
    """New names have new numbers, and other lists of names before."""
    published(tmp_path, PEOPLE, columns=COLUMNS, delimiter=";")
    rows = "op;src;dst;weight\ninsert;abe;ana;1\ndelete;12;ana;\n"
    change(tmp_path / "out", str(written(tmp_path, rows, "changes.csv")), backend="cpu")
    left = arcs_in(PEOPLE, delimiter=";") | {("abe", "ana"): 1.0}
    del left["12", "ana"]
    require_graph(graphmill.open(str(tmp_path / "out")), left)


def write_parquet(path):
    src, dst, weight = zip(*(map(int, line.split(",")) for line in ROADS.split()[1:]), strict=True)
    pq.write_table(pa.table({"src": src, "dst": dst, "weight": weight}), path)


WRITERS = {
    "roads.csv": lambda path: path.write_text(ROADS),
    "roads.tsv.gz": lambda path: path.write_bytes(gzip.compress(ROADS.replace(",", "\t").encode())),
    "roads.parquet": write_parquet,
    "roads.gr": lambda path: path.write_text(
        "p sp 9 6\n" + "".join(f"a {line.replace(',', ' ')}\n" for line in ROADS.split()[1:])
    ),
}


@pytest.mark.parametrize("name", WRITERS)
def test_the_graph_of_a_file(tmp_path, name):
    WRITERS[name](tmp_path / name)
    opened = graphmill.open(tmp_path / name, src=None)
    if name == "roads.gr":  # which declares its vertices
        assert opened.graph.num_vertices == 9
    require_graph(opened, arcs_in(ROADS))


def test_options_are_those_of_a_graph_and_its_layout(tmp_path):
    file = written(tmp_path, PEOPLE)
    opened = graphmill.open(file, **COLUMNS, delimiter=";", directed=False, layout={"shards": 3, "order": "source"})
    require_graph(opened, arcs_in(PEOPLE, undirected=True, delimiter=";"))
    assert opened.graph.symmetric and not opened.graph.directed
    assert opened.ids().tolist() == ["12", "Zoë, dr", "ana", "bob"]  # in the order of the source: of their bytes
    unweighted = graphmill.open(file, columns={"src": "who"}, dst="whom", weight=False, delimiter=";")
    assert unweighted.graph.out.weights is None


def test_bad_rows_are_left_out_only_if_the_user_says_so(tmp_path):
    file = written(tmp_path, ROADS + "5,x,1\n")
    with pytest.raises(graphmill.GraphmillError, match=r"roads\.csv: line 8: "):
        graphmill.open(file)
    opened = graphmill.open(file, reject={"limit": 1})
    require_graph(opened, arcs_in(ROADS))
    assert repr(opened).endswith("; rejected rows of the source: 1>")


@pytest.mark.parametrize(
    "content",
    ['graph = "graph.toml"\nstages = ["bfs"]\nsources = [3]\n', '[graph]\nsource = "roads.csv"\n', 'source = "roads.csv"\n'],
    ids=["run", "table", "graph"],
)
def test_the_graph_of_a_configuration(tmp_path, content):
    written(tmp_path)
    written(tmp_path, 'source = "roads.csv"\ndirected = false\n', "graph.toml")
    opened = graphmill.open(written(tmp_path, content, "run.toml"))
    require_graph(opened, arcs_in(ROADS, undirected="graph.toml" in content))
    require_graph(graphmill.open(tmp_path / "run.toml", directed=False), arcs_in(ROADS, undirected=True))


def test_a_file_is_read_again_only_if_it_has_changed(tmp_path, caplog):
    file = written(tmp_path)
    first = graphmill.open(file)
    with caplog.at_level("INFO"):
        require_graph(graphmill.open(file), arcs_in(ROADS))
    assert {"edges: still valid, skipped", "graph: still valid, skipped"} <= {record.message for record in caplog.records}
    written(tmp_path, OTHERS)
    require_graph(graphmill.open(file), arcs_in(OTHERS))
    require_graph(first, arcs_in(ROADS))


def test_a_graph_outlives_its_files(tmp_path, cache):
    opened = graphmill.open(written(tmp_path))
    of_run = graphmill.open(published(tmp_path))
    shutil.rmtree(cache)
    shutil.rmtree(tmp_path / "out")
    for one in (opened, of_run):
        require_graph(one, arcs_in(ROADS))


def test_a_file_whose_folder_another_process_holds(tmp_path):
    """What is read then is private, and removed at once."""
    file = written(tmp_path)
    with workspace(workplace(str(file))):
        require_graph(graphmill.open(file), arcs_in(ROADS))
        opened = graphmill.open(file)
    require_graph(opened, arcs_in(ROADS))


def replaced_before(monkeypatch, place, replace, times=1):
    """Call `replace` before the first calls of a function."""
    module, name = place.rsplit(".", 1)
    real, left = getattr(import_module(module), name), [replace] * times

    def called(*arguments):
        if left:
            left.pop()()
        return real(*arguments)

    monkeypatch.setattr(place, called)


ALIKE = ROADS.replace("9", "7").replace(",5", ",6")  # in all lengths and types


@pytest.mark.parametrize("text", [ALIKE, OTHERS], ids=["alike", "other"])
@pytest.mark.parametrize(
    "place", ["graphmill.opening._opened", "pipeline.store.graph._open_stored", "graphmill.opening.open_names"]
)
def test_a_run_that_is_replaced_meanwhile(tmp_path, monkeypatch, place, text):
    """The graph is that of one run, never of parts of both: vertices are mapped before arcs, and these before names."""
    first = published(tmp_path)
    opened = graphmill.open(tmp_path / "out")
    replaced_before(monkeypatch, place, lambda: published(tmp_path, text))
    require_graph(graphmill.open(tmp_path / "out"), arcs_in(text))
    require_graph(opened, arcs_in(ROADS))
    with pytest.raises(graphmill.GraphmillError, match="is not there, or a later run has replaced it; name the graph's file"):
        graphmill.open(first)


def test_a_run_that_is_replaced_whenever_it_is_read(tmp_path, monkeypatch):
    published(tmp_path)
    texts = [ALIKE, OTHERS]
    replaced_before(monkeypatch, "graphmill.opening._opened", lambda: published(tmp_path, texts.pop(0)), times=2)
    with pytest.raises(graphmill.GraphmillError, match="was replaced or written while it was read, and again"):
        graphmill.open(tmp_path / "out")


def lose(folder, name):
    path = published(folder)
    shutil.rmtree(folder / "out" / "steps" / name)
    return path


def damage(folder, name):
    path = published(folder)
    with (folder / "out" / "steps" / name).open("r+b") as file:
        file.seek(-1, 2)
        file.write(b"\x55")
    return path


def empty_folder(folder):
    (folder / "roads").mkdir()
    return folder / "roads"


def folder_of_a_first_run_that_failed(folder):
    with pytest.raises(graphmill.GraphmillError, match="line 2"):
        published(folder, "src,dst,weight\n1,2,x\n")
    (folder / "out" / "runs").mkdir(parents=True)
    return folder / "out"


@pytest.mark.parametrize(
    ("target", "options", "message"),
    [
        (lambda folder: folder / "missing.csv", {}, r"missing\.csv: no such file"),
        (lambda folder: folder / "missing.toml", {}, r"missing\.toml: No such file"),
        (empty_folder, {}, r"roads: no such run; name an output folder, its `latest`, or a folder in its `runs`"),
        (folder_of_a_first_run_that_failed, {}, r"out: no such run; this folder has runs, but no `latest`"),
        (lambda folder: lose(folder, "graph"), {}, r"steps/graph: is not there, or a later run has replaced it"),
        (lambda folder: lose(folder, "edges"), {}, r"steps/edges: is not there, or a later run has replaced it"),
        (lambda folder: damage(folder, "graph/vertices.arrow"), {}, r"vertices\.arrow: its BLAKE3 digest differs"),
        (lambda folder: published(folder).parents[1] / "steps" / "graph", {}, "is not a published run, but the folder of step"),
        (published, {"directed": False}, r"options: graph\.directed: has no effect: .* is the folder of a run"),
        (published, {"backend": "tpu"}, r"options: backend: Input should be 'auto', 'cpu' or 'gpu' \(got tpu\)"),
        (written, {"source": "x.csv"}, r"options: source: is the target"),
        (written, {"form": "csv"}, r"options: graph\.form: unknown key; did you mean 'format'"),
        (written, {"layout": {"windw": 3}}, r"options: layout\.windw: unknown key; did you mean 'window'"),
        (written, {"layout": "degree"}, r"options: layout: must be a dictionary \(got 'degree'\)"),
        (written, {"layout": {}, "reject": {"limt": 1}}, r"options: reject\.limt: unknown key; did you mean 'limit'"),
        (written, {"src": "from"}, r"roads\.csv: line 1: no column 'from' among 'src', 'dst', 'weight'"),
        (lambda folder: written(folder, ROADS + "5,x,1\n"), {}, r"roads\.csv: line 8: "),
        (lambda folder: written(folder, json.dumps({}), "a.gml"), {}, r"a\.gml: "),
    ],
)
def test_what_is_no_graph_is_refused(tmp_path, target, options, message):
    with pytest.raises(graphmill.GraphmillError, match=message):
        graphmill.open(target(tmp_path), **{"backend": "cpu"} | options)


def test_a_run_opens_where_the_cache_is_not_writable(tmp_path, monkeypatch):
    path = published(tmp_path)
    monkeypatch.setenv("XDG_CACHE_HOME", "/dev/null")
    require_graph(graphmill.open(path), arcs_in(ROADS))
    with pytest.raises(graphmill.GraphmillError, match="/dev/null/graphmill: is not writable"):
        graphmill.open(tmp_path / "roads.csv")


THREADS = """
import signal
import sys
from concurrent.futures import ThreadPoolExecutor

import graphmill
from pipeline.signals import ENDING

handlers = [signal.getsignal(number) for number in ENDING]
with ThreadPoolExecutor(4) as threads:
    assert {opened.graph.num_arcs for opened in threads.map(graphmill.open, sys.argv[1:] * 4)} == {4}
assert [signal.getsignal(number) for number in ENDING] == handlers
"""


def test_threads_open_at_the_same_time_and_nothing_is_printed(tmp_path):
    """In a process of its own: other tests may have set up the logging of this one."""
    targets = map(str, [written(tmp_path), published(tmp_path)])
    done = subprocess.run([sys.executable, "-c", THREADS, *targets], cwd=ROOT, check=False, capture_output=True, text=True)
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")
