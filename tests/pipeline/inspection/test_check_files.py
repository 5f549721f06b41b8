"""`check` and `run` give the same verdict about every file that a run reads, in the same words."""

from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from pipeline.config.loading import PATHS, load_run
from pipeline.errors import GraphmillError
from pipeline.inspection.check import check
from pipeline.run import run
from tests.pipeline.typed.keys import KEYS

FILE = """
output = "out"
backend = "cpu"
stages = ["bfs", "pagerank", "reachability", "max_flow", "betweenness", "edge_betweenness"]
sources = "starts.txt"
[graph]
source = "roads.csv"
coordinates = "places.csv"
nodes = "nodes.csv"
[max_flow]
pairs = "flow.parquet"
[queries]
pairs = "asked.parquet"
[pagerank]
seeds = "shops.txt"
[betweenness]
sources = "stations.txt"
[edge_betweenness]
sources = "stops.txt"
[nearest]
facilities = "hospitals.csv"
[isochrones]
thresholds = [5]
sources = "schools.txt"
sums = ["people"]
[closeness]
sources = "crossings.parquet"
[flows]
pairs = "trips.parquet"
[[custom]]
name = "numbers"
file = "numbers.py"
columns = { number = "int64" }
"""
ELSEWHERE = {"changes.arrivals", "cluster.tls_ca", "cluster.tls_cert", "cluster.tls_key"}  # files that a run does not read
PAIRS = {"queries.pairs": "asked.parquet", "max_flow.pairs": "flow.parquet", "flows.pairs": "trips.parquet"}
VERTICES = {"nearest.facilities": "hospitals.csv", "isochrones.sources": "schools.txt", "sources": "starts.txt"}
VERTICES |= {"pagerank.seeds": "shops.txt", "betweenness.sources": "stations.txt", "edge_betweenness.sources": "stops.txt"}
PARQUET = {"closeness.sources": "crossings.parquet"}
TABLES = {"graph.source": "roads.csv", "graph.coordinates": "places.csv", "graph.nodes": "nodes.csv"}
PROGRAMS = {"custom.file": "numbers.py"}
NAMES = PAIRS | VERTICES | PARQUET | TABLES | PROGRAMS


def write_all(folder: Path) -> Path:
    (folder / "roads.csv").write_text("src,dst,weight\n1,2,3\n2,3,1\n3,1,4\n")
    (folder / "places.csv").write_text("vertex,x,y\n1,8.1,53\n2,8.2,53\n3,8.3,53\n")
    (folder / "nodes.csv").write_text("vertex,people\n1,5\n2,7.5\n3,\n")
    for name in VERTICES.values():
        (folder / name).write_text("1\n2\n")
    for name in PAIRS.values():
        pq.write_table(pa.table({"src": [1, 2], "dst": [3, 1]}), folder / name)
    pq.write_table(pa.table({"id": [1, 3]}), folder / "crossings.parquet")
    (folder / "numbers.py").write_text("def solve(graph, options):\n    return {'number': graph.ids}\n")
    (folder / "run.toml").write_text(FILE)
    return folder / "run.toml"


def wrong_pairs(path: Path, fault: str) -> None:
    rows = {
        "unknown": {"src": [1, 77], "dst": [3, 99]},
        "null": {"src": [1, None], "dst": [3, 3]},
        "other column": {"from": [1], "dst": [3]},
        "text": {"src": ["1"], "dst": ["2"]},
    }
    pq.write_table(pa.table(rows[fault]), path)


BROKEN = {
    "unknown": "1\n77\n",
    "bytes": b"\x00\xff\x00",
    "table": "name,lat,lon\nX,53,8\n",
    "empty": "",
    "word": "1\nvertex two\n",
}
ROWS = {
    "graph.source": {"word": "src,dst\n1,x\n", "empty": ""},
    "graph.coordinates": {"word": "vertex,x,y\n1,a,b\n", "other column": "q,x,y\n1,2,3\n"},
    "graph.nodes": {
        "twice": "vertex,people\n1,2\n1,3\n", "no numbers": "vertex,people\n1,x\n", "other column": "vertex,person\n1,2\n",
        "infinite": "vertex,people\n1,1e308\n2,1e308\n3,1e308\n", "nan": "vertex,people\n1,nan\n2,0.5\n3,1\n",
    },
    "custom.file": {"word": "def solve(graph, options)\n    pass\n", "empty": "", "bytes": b"def solve(a, b):\n \xff\n"},
}  # fmt: skip
FAULTS = [
    *((key, "missing") for key in NAMES),
    *((key, "folder") for key in NAMES if key != "sources"),
    *((key, fault) for key in PAIRS for fault in ("unknown", "null", "other column", "text", "truncated")),
    *((key, fault) for key in VERTICES for fault in BROKEN),
    *((key, fault) for key in PARQUET for fault in ("unknown", "truncated")),
    *((key, fault) for key in TABLES | PROGRAMS for fault in ROWS[key]),
    ("max_flow.pairs", "same"),
]


def break_file(path: Path, key: str, fault: str) -> None:
    if fault in ("missing", "folder"):
        path.unlink()
        if fault == "folder":
            path.mkdir()
    elif fault == "truncated":
        path.write_bytes(path.read_bytes()[:-9])
    elif fault == "same":
        pq.write_table(pa.table({"src": [2], "dst": [2]}), path)
    elif key in PAIRS:
        wrong_pairs(path, fault)
    elif key in PARQUET:
        pq.write_table(pa.table({"id": [1, 77]}), path)
    else:
        content = ROWS[key][fault] if key in ROWS else BROKEN[fault]
        path.write_bytes(content if isinstance(content, bytes) else content.encode())


def verdict(file: Path, how: object) -> tuple[str, str]:
    try:
        how(load_run(file))  # type: ignore[operator]
    except GraphmillError as error:
        return type(error).__name__, str(error)
    return "accepted", ""


def test_every_key_that_names_a_file_is_among_the_kinds():
    of_files = {key for key in KEYS if key.rpartition(".")[2] in PATHS}
    assert of_files - ELSEWHERE == set(NAMES)


def test_right_files_are_accepted(tmp_path):
    file = write_all(tmp_path)
    assert verdict(file, check) == verdict(file, run) == ("accepted", "")
    stated = {key: Path(name).name for key, name in (NAMES | {"sources": ""}).items()}
    read = {one.key: (Path(one.file).name, one.rows) for one in check(load_run(file)).files}
    assert read.pop("isochrones.sums") == ("nodes.csv", 2)  # of three vertices
    stated["custom.numbers"] = stated.pop("custom.file")
    assert {key: name for key, (name, _) in read.items()} == stated
    assert {key: rows for key, (_, rows) in read.items() if rows != 2} == {
        "graph.source": 3, "graph.coordinates": 3, "graph.nodes": 3, "custom.numbers": None
    }  # fmt: skip


@pytest.mark.parametrize(("key", "fault"), FAULTS)
def test_a_check_refuses_what_a_run_refuses(key, fault, tmp_path):
    file = write_all(tmp_path)
    break_file(tmp_path / NAMES[key], key, fault)
    checked = verdict(file, check)
    assert checked == verdict(file, run)
    assert checked[0] != "accepted" and "\n" not in checked[1]


def test_unknown_vertices_that_are_allowed_are_accepted(tmp_path):
    file = write_all(tmp_path)
    file.write_text(FILE.replace('pairs = "asked.parquet"', 'pairs = "asked.parquet"\nunknown = "null"'))
    wrong_pairs(tmp_path / "asked.parquet", "unknown")
    assert verdict(file, check) == verdict(file, run) == ("accepted", "")


@pytest.mark.parametrize("unknown", ["src", "dst", None])
def test_names_in_pairs_are_checked_as_they_are_read(unknown, tmp_path):
    (tmp_path / "people.csv").write_text("src,dst\nana,ben\nben,cy\n")
    text = 'output = "out"\nstages = ["reachability"]\nbackend = "cpu"\n[graph]\nsource = "people.csv"\n'
    (tmp_path / "run.toml").write_text(text + '[queries]\npairs = "asked.parquet"\n[flows]\npairs = "asked.parquet"\n')
    rows = {"src": ["ana", "ben"], "dst": ["cy", "ana"]}
    if unknown:
        rows[unknown] = ["ana", "dora"]
    pq.write_table(pa.table(rows), tmp_path / "asked.parquet")
    checked = verdict(tmp_path / "run.toml", check)
    assert checked == verdict(tmp_path / "run.toml", run)
    assert checked[0] == ("BadInput" if unknown else "accepted") and ("dora" in checked[1]) == bool(unknown)
