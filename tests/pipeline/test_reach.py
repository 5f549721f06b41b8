"""Reachability queries from a stored index: answers, refused input, refused outputs and memory."""

from __future__ import annotations

import fcntl
import json
import os
import shutil
import subprocess
import sys
from pathlib import Path
from uuid import uuid4

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from kernels.registry import BY_NAME
from pipeline.config.graph import GraphConfig
from pipeline.config.layout import LayoutConfig
from pipeline.config.loading import run_config
from pipeline.config.reachability import QueriesConfig, ReachabilityConfig
from pipeline.config.run import STAGES, RunConfig
from pipeline.errors import BadConfig, BadInput, Damaged, ProofFailed, TooLarge
from pipeline.ingest import ingest
from pipeline.run import run
from pipeline.steps.index import build_index
from pipeline.steps.layout import lay_out
from pipeline.steps.pairs import BATCH
from pipeline.steps.publish import Results, publish
from pipeline.steps.reach import reach, reach_into
from pipeline.steps.runtime import Runtime
from pipeline.steps.stages import run_stage, tabulate_index
from pipeline.steps.verify import prove
from pipeline.store.index import FORMAT, find_index
from pipeline.store.manifest import check, make, read
from pipeline.tables import files as tables
from tests.oracles import paths

ROOT = Path(__file__).parent.parent.parent

GRAPHMILL = str(Path(sys.executable).parent / "graphmill")
WORDS = {"same", "filter", "positive cut", "search"}


def write_pairs(path: Path, src: object, dst: object, **options: object) -> str:
    pq.write_table(pa.table({"src": src, "dst": dst}), path, **options)
    return str(path)


def layered(path: Path, layers: int, width: int, seed: int = 0) -> str:
    """Write two random arcs per vertex from each layer to the next; ids have gaps."""
    random = np.random.default_rng(seed)
    src = np.repeat(np.arange((layers - 1) * width), 2)
    dst = (src // width + 1) * width + random.integers(0, width, len(src))
    pq.write_table(pa.table({"src": src * 3 + 1, "dst": dst * 3 + 1}), path)
    return str(path)


@pytest.fixture(scope="module")
def votes(tmp_path_factory) -> Path:
    """A run with an index over the directed social network wiki-Vote."""
    output = tmp_path_factory.mktemp("votes")
    run(RunConfig(graph=GraphConfig(source=str(ROOT / "data" / "wiki-Vote.txt.gz")), output=output, stages=["reachability"]))
    return output


def edges_of_votes() -> pd.DataFrame:
    return pd.read_csv(ROOT / "data" / "wiki-Vote.txt.gz", sep="\t", comment="#", names=["src", "dst"])


@pytest.fixture(scope="module")
def small(tmp_path_factory) -> tuple[Path, list[int], set[tuple[int, int]]]:
    """A run over a layered graph with a cycle, its ids, and all pairs (src, dst) where src reaches dst."""
    from tests.graphs import EdgeList

    folder = tmp_path_factory.mktemp("small")
    source = layered(folder / "arcs.parquet", 12, 8)
    arcs = pq.read_table(source).to_pylist()
    arcs += [{"src": 100, "dst": 31}, {"src": 1000, "dst": 1001}]
    pq.write_table(pa.Table.from_pylist(arcs), source)
    edges = EdgeList("layered", tuple((arc["src"], arc["dst"]) for arc in arcs))
    run(RunConfig(graph=GraphConfig(source=source), output=folder / "out", stages=["reachability"], oracle=True))
    closure = {(vertex, other) for vertex in edges.ids for other in paths(edges, vertex, weighted=False)[0]}
    return folder / "out", edges.ids, closure


@pytest.mark.parametrize("kind", [pa.int64(), pa.int32(), pa.uint64(), pa.int16()], ids=str)
def test_all_pairs_are_answered_in_their_order(small, kind, tmp_path):
    output, ids, closure = small
    pairs = np.random.default_rng(1).permutation([(src, dst) for src in ids for dst in ids])
    columns = [pa.array(column, pa.int64()).cast(kind) for column in pairs.T]
    answers = reach_into(output, write_pairs(tmp_path / "pairs.parquet", *columns), tmp_path / "out", oracle=True)
    table = tables.read(answers.path).to_pydict()
    assert list(zip(table["src"], table["dst"], strict=True)) == [tuple(pair) for pair in pairs.tolist()]
    assert table["reachable"] == [tuple(pair) in closure for pair in pairs.tolist()]
    assert set(table["decided"]) <= WORDS
    assert all(by == "same" for src, dst, by in zip(table["src"], table["dst"], table["decided"], strict=True) if src == dst)
    facts = answers.facts
    assert (facts["rows"], facts["reachable"], facts["unknown"]) == (len(pairs), len(closure), 0)
    assert facts["decided"] == {word: table["decided"].count(word) for word in WORDS}
    assert facts["oracle"] == 1000
    check(answers)


def test_ids_far_apart_are_found(tmp_path):
    pq.write_table(pa.table({"src": [5, 2**62, 7 * 10**9], "dst": [2**62, 7 * 10**9, 11]}), tmp_path / "arcs.parquet")
    run(RunConfig(graph=GraphConfig(source=str(tmp_path / "arcs.parquet")), output=tmp_path / "out", stages=["reachability"]))
    pairs = write_pairs(tmp_path / "pairs.parquet", [5, 2**62, 11, 5, -(2**63)], [11, 5, 11, 6, 2**63 - 1])
    answers = tables.read(reach_into(tmp_path / "out", pairs, tmp_path / "answers", unknown="null").path)
    assert answers["reachable"].to_pylist() == [True, False, True, None, None]


@pytest.mark.parametrize("method", ["tree", "dfs"])
def test_labels_follow_the_configuration_of_the_run(method, tmp_path):
    source = layered(tmp_path / "arcs.parquet", 6, 5)
    asked = {"dimensions": 5, "seed": 2**64 - 1, "method": method}
    config = run_config("test", graph={"source": source}, output=tmp_path / "out", stages=STAGES, reachability=asked)
    published = run(config)
    labels = tables.read(published.path / "reachability_labels")
    expected = ["vertex", "labels", "level", *(f"{name}_{number}" for number in range(5) for name in ("low", "post"))]
    assert labels.column_names == expected
    described = published.facts["tables"]["reachability_labels"]["columns"]
    assert [column["name"] for column in described] == expected
    assert asked.items() <= find_index(tmp_path / "out" / "latest" / "reachability_index").facts.items()
    again = run(config)
    assert again.facts["steps"]["reachability_index"]["reused"]
    other = run(config.model_copy(update={"reachability": ReachabilityConfig(dimensions=5, seed=1, method=method)}))
    assert not other.facts["steps"]["reachability_index"]["reused"]


def test_a_published_index_is_the_steps_and_answers_alone(votes, tmp_path):
    index = find_index(votes / "latest")
    assert index.digest == find_index(votes / "steps" / "reachability_index").digest
    assert find_index(votes).path == index.path
    for file in index.manifest.files:
        assert (index.path / file).samefile(votes / "steps" / "reachability_index" / file)
    random = np.random.default_rng(2)
    ids = np.unique(edges_of_votes().to_numpy())
    pairs = write_pairs(tmp_path / "pairs.parquet", *random.choice(ids, (2, 50_000)))
    moved = tmp_path / "elsewhere"
    moved.mkdir()
    for file in index.path.iterdir():
        (moved / file.name).write_bytes(file.read_bytes())
    answers = [reach(find_index(path), pairs, tmp_path / f"out-{number}") for number, path in enumerate((votes, moved))]
    assert answers[0].manifest.files == answers[1].manifest.files
    assert answers[0].digest == answers[1].digest


def test_answers_to_the_same_pairs_are_reused(votes, tmp_path):
    first, second = write_pairs(tmp_path / "a.parquet", [3, 3], [6, 4]), write_pairs(tmp_path / "b.parquet", [3], [3])
    assert not reach_into(votes, first, tmp_path / "out").reused
    assert reach_into(votes, first, tmp_path / "out").reused
    assert not reach_into(votes, second, tmp_path / "out").reused
    assert tables.read(tmp_path / "out").to_pylist() == [{"src": 3, "dst": 3, "reachable": True, "decided": "same"}]
    assert sorted(path.name for path in tmp_path.iterdir()) == ["a.parquet", "b.parquet", "out"]


def test_an_empty_file_of_pairs_has_an_empty_answer(votes, tmp_path):
    pairs = write_pairs(tmp_path / "none.parquet", pa.array([], pa.int64()), pa.array([], pa.int64()))
    answers = reach_into(votes, pairs, tmp_path / "out", oracle=True)
    assert answers.facts["rows"] == 0
    assert pd.read_parquet(answers.path / "part-00000.parquet").columns.tolist() == ["src", "dst", "reachable", "decided"]


def test_an_index_that_cannot_fit_is_refused_with_both_numbers(tmp_path):
    graph = lay_out(
        ingest(GraphConfig(source=layered(tmp_path / "a.parquet", 30, 40)), tmp_path), LayoutConfig(), Runtime(tmp_path)
    )
    with pytest.raises(
        TooLarge, match=r"1,192 vertices .* in 1,000,000,000 dim.* takes up to [\d,]{9,} MiB .* and [\d,]+ MiB are free"
    ):
        build_index(graph, ReachabilityConfig(dimensions=10**9), Runtime(tmp_path))
    assert not (tmp_path / "reachability_index").exists()
    assert build_index(graph, ReachabilityConfig(), Runtime(tmp_path)).facts["bytes_needed"] < 2**24


@pytest.mark.parametrize("name", ["low", "post", "first", "height", "reaches", "node", "rows_by_id", "children-indices"])
def test_a_wrong_index_is_neither_proved_nor_published(name, tmp_path):
    graph = lay_out(
        ingest(GraphConfig(source=layered(tmp_path / "a.parquet", 30, 40)), tmp_path), LayoutConfig(), Runtime(tmp_path)
    )
    true = build_index(graph, ReachabilityConfig(), Runtime(tmp_path))

    def write(folder: Path) -> dict:
        for file in true.manifest.files:
            (folder / file).write_bytes((true.path / file).read_bytes())
        array = np.load(folder / f"{name}.npy")
        np.save(folder / f"{name}.npy", array[..., ::-1].copy())
        return true.facts

    wrong = make(true.path, "reachability_index", {"graph": graph.digest, "wrong": name}, {}, write)
    answer = tabulate_index(graph, BY_NAME["reachability"], wrong, Runtime(tmp_path))
    with pytest.raises(ProofFailed):
        prove(graph, answer, False, Runtime(tmp_path))
    assert not (tmp_path / "proof-reachability").exists()
    edges = read(tmp_path / "edges")
    with pytest.raises(ProofFailed):
        publish(tmp_path / "out", Results("wrong", edges, graph, [answer], []))


def test_answers_of_another_index_are_not_published(tmp_path):
    pairs = write_pairs(tmp_path / "pairs.parquet", [1], [4])
    graph = lay_out(
        ingest(GraphConfig(source=layered(tmp_path / "a.parquet", 3, 4)), tmp_path), LayoutConfig(), Runtime(tmp_path)
    )
    other = reach(build_index(graph, ReachabilityConfig(seed=1), Runtime(tmp_path / "other")), pairs, tmp_path / "reached")
    answer = run_stage(graph, "reachability", (), Runtime(tmp_path))
    proof = prove(graph, answer, False, Runtime(tmp_path))
    with pytest.raises(ProofFailed, match="another index"):
        publish(tmp_path / "out", Results("name", read(tmp_path / "edges"), graph, [answer], [proof], reached=other))
    (tmp_path / "reachability_index").rename(tmp_path / "gone")
    (tmp_path / "other" / "reachability_index").rename(tmp_path / "reachability_index")
    with pytest.raises(Damaged, match="is not the index that"):
        publish(tmp_path / "out", Results("name", read(tmp_path / "edges"), graph, [answer], [proof]))


@pytest.mark.parametrize("unknown", [0, 99_999_999, -1, 2**63 - 1, -(2**63)])
@pytest.mark.parametrize("column", ["src", "dst"])
def test_an_unknown_vertex_is_an_error_or_null(votes, unknown, column, tmp_path):
    ends = {"src": [3, 6, 3], "dst": [6, 3, 3]}
    ends[column][1] = unknown
    pairs = write_pairs(tmp_path / "pairs.parquet", **ends)
    with pytest.raises(BadInput, match=rf"pairs\.parquet: row 1: {column} {unknown} is not in the graph"):
        reach_into(votes, pairs, tmp_path / "out")
    assert not (tmp_path / "out").exists()
    answers = reach_into(votes, pairs, tmp_path / "out", unknown="null", oracle=True)
    assert [(row["reachable"], row["decided"]) for row in tables.read(answers.path).to_pylist()] == [
        (True, "same"), (None, None), (True, "same"),
    ]  # fmt: skip
    assert answers.facts["unknown"] == 1


def test_the_first_row_with_an_unknown_vertex_is_named(votes, tmp_path):
    pairs = write_pairs(tmp_path / "pairs.parquet", [3, 3, 1, 1], [6, 0, 6, 0])
    with pytest.raises(BadInput, match="row 1: dst 0 is not in the graph"):
        reach_into(votes, pairs, tmp_path / "out")


def test_the_row_of_an_unknown_vertex_counts_from_the_first_of_the_file(votes, tmp_path):
    src = np.full(BATCH + 10, 3)
    src[BATCH + 7] = 1
    pairs = write_pairs(tmp_path / "pairs.parquet", src, np.full(len(src), 6), row_group_size=1000)
    with pytest.raises(BadInput, match=f"row {BATCH + 7}: src 1 is not in the graph"):
        reach_into(votes, pairs, tmp_path / "out")
    assert list(tmp_path.iterdir()) == [tmp_path / "pairs.parquet"]


@pytest.mark.parametrize(
    ("columns", "words"),
    [
        ({"src": [1, 2]}, "no columns 'dst'"),
        ({"a": [1], "b": [2]}, "no columns 'src'"),
        ({"src": ["3"], "dst": [6]}, "column 'src' is string, not an integer type"),
        ({"src": [3], "dst": [6.0]}, "column 'dst' is double, not an integer type"),
        ({"src": [3, None], "dst": [6, 6]}, "row 1: src is null"),
        ({"src": [3, 3, 3], "dst": [6, 6, None]}, "row 2: dst is null"),
        ({"src": np.array([3, 2**63], np.uint64), "dst": [6, 6]}, "row 1: src 9223372036854775808 is not in 0"),
    ],
)
@pytest.mark.parametrize("unknown", ["error", "null"])
def test_bad_pairs_are_refused(votes, columns, words, unknown, tmp_path):
    pq.write_table(pa.table(columns), tmp_path / "pairs.parquet")
    with pytest.raises(BadInput, match=words):
        reach_into(votes, str(tmp_path / "pairs.parquet"), tmp_path / "out", unknown=unknown)
    assert not (tmp_path / "out").exists()


@pytest.mark.parametrize("keep", [0, 100, -8, -400])
def test_a_truncated_or_changed_file_of_pairs_is_refused(votes, keep, tmp_path):
    path = tmp_path / "pairs.parquet"
    write_pairs(path, np.full(1000, 3), np.arange(1000) * 0 + 6, write_page_checksum=True, use_dictionary=False)
    content = bytearray(path.read_bytes())
    content[60] ^= 1
    path.write_bytes(content if keep == -400 else content[:keep])
    with pytest.raises(BadInput, match=r"pairs\.parquet: is not a complete Parquet file"):
        reach_into(votes, str(path), tmp_path / "out")
    assert not (tmp_path / "out").exists()


@pytest.mark.parametrize("pairs", ["missing.parquet", ".", "https://example.org/pairs.parquet", "text.csv"])
def test_a_missing_file_of_pairs_is_refused(votes, pairs, tmp_path):
    (tmp_path / "text.csv").write_text("src,dst\n3,6\n")
    with pytest.raises(BadInput, match=pairs):
        reach_into(votes, pairs if "://" in pairs else str(tmp_path / pairs), tmp_path / "out")


def test_a_folder_that_is_not_ours_is_not_replaced(votes, tmp_path):
    pairs = write_pairs(tmp_path / "pairs.parquet", [3], [6])
    (tmp_path / "mine").mkdir()
    (tmp_path / "mine" / "letter").write_text("dear")
    (tmp_path / "file").write_text("dear")
    (tmp_path / "link").symlink_to(tmp_path / "empty")
    (tmp_path / "empty").mkdir()
    for name in ("mine", "file", "link"):
        with pytest.raises(BadConfig, match="would be replaced"):
            reach_into(votes, pairs, tmp_path / name)
    with pytest.raises(BadConfig, match="would be replaced"):
        reach_into(votes, pairs, votes / "steps" / "reachability_index")
    assert (tmp_path / "mine" / "letter").read_text() == (tmp_path / "file").read_text() == "dear"
    assert reach_into(votes, pairs, tmp_path / "empty").facts["rows"] == 1


@pytest.mark.parametrize("place", [".", "reachability_labels/answers", "reachability_index/more/answers"])
def test_answers_are_not_written_into_a_run(small, place, tmp_path):
    pairs = write_pairs(tmp_path / "pairs.parquet", [1], [4])
    latest = small[0] / "latest"
    with pytest.raises(BadConfig, match=r"answers: is inside .*, the folder of a (run|reachability_index), which nothing may be"):
        reach_into(latest, pairs, latest / place / "answers")
    check(read(latest.resolve()))


def test_answers_are_not_written_to_a_url(small, tmp_path, monkeypatch):
    pairs = write_pairs(tmp_path / "pairs.parquet", [1], [4])
    monkeypatch.chdir(tmp_path)
    with pytest.raises(BadConfig, match="is a URL; it must be a folder of this machine"):
        reach_into(small[0], pairs, Path("s3://bucket/answers"))
    assert list(tmp_path.iterdir()) == [tmp_path / "pairs.parquet"]


def test_what_a_killed_call_left_is_removed_by_the_next(small, tmp_path):
    pairs = write_pairs(tmp_path / "pairs.parquet", [1], [4])
    names = (f".out-{'a1' * 8}", ".out-files-a1_b2c3d", ".out-files-projects", f".more-{'a1' * 8}")
    left, attempts, mine, other = (tmp_path / name for name in names)
    for folder in (left, attempts, mine, other):
        folder.mkdir()
        (folder / ("part-00000.parquet" if folder != attempts else uuid4().hex)).write_text("half")
    (mine / "letter").write_text("dear")
    at_work = os.open(tmp_path, os.O_RDONLY)
    fcntl.flock(at_work, fcntl.LOCK_SH)
    reach_into(small[0], pairs, tmp_path / "out")
    assert left.exists() and attempts.exists(), "they may belong to another call that is still running"
    os.close(at_work)
    assert reach_into(small[0], pairs, tmp_path / "out").reused
    assert sorted(path.name for path in tmp_path.iterdir()) == [other.name, mine.name, "out", "pairs.parquet"]


def test_a_late_file_of_a_lost_worker_does_not_fail_the_call(small, tmp_path, monkeypatch):
    remove = os.rmdir

    def remove_too_late(path, **options):
        if "files-" in str(path):
            (Path(path) / uuid4().hex).write_text("half")
        remove(path, **options)

    pairs = write_pairs(tmp_path / "pairs.parquet", [1], [4])
    with monkeypatch.context() as patched:
        patched.setattr(os, "rmdir", remove_too_late)
        answers = reach_into(small[0], pairs, tmp_path / "out")
    check(answers)
    assert len(list(tmp_path.glob(".*"))) == 1
    assert reach_into(small[0], pairs, tmp_path / "out").reused
    assert not list(tmp_path.glob(".*"))


def test_the_index_of_another_graph_does_not_answer_for_a_run(votes, small, tmp_path):
    pairs = write_pairs(tmp_path / "pairs.parquet", [1], [4])
    moved = shutil.copytree((small[0] / "latest").resolve(), tmp_path / "run")
    assert find_index(moved).facts["vertices"] == len(small[1])
    shutil.rmtree(moved / "reachability_index")
    with pytest.raises(Damaged, match=r"reachability_index/manifest\.json: missing"):
        find_index(moved)
    copied(votes, moved / "reachability_index")
    with pytest.raises(Damaged, match=r"reachability_index: is not the index that .*run was published with"):
        reach_into(moved, pairs, tmp_path / "out")


def copied(votes: Path, folder: Path) -> Path:
    folder.mkdir()
    for file in (votes / "latest" / "reachability_index").iterdir():
        (folder / file.name).write_bytes(file.read_bytes())
    return folder


@pytest.mark.parametrize("file", ["low.npy", "node.npy", "reaches.npy", "ids.npy", "manifest.json"])
@pytest.mark.parametrize("harm", ["change", "cut", "remove"])
def test_a_damaged_index_answers_nothing(votes, file, harm, tmp_path):
    index = copied(votes, tmp_path / "index")
    content = bytearray((index / file).read_bytes())
    if harm == "remove":
        (index / file).unlink()
    elif harm == "cut":
        (index / file).write_bytes(content[:-5])
    else:
        content[len(content) * 2 // 3] ^= 1
        (index / file).write_bytes(content)
    with pytest.raises(Damaged, match=file):
        reach_into(index, write_pairs(tmp_path / "pairs.parquet", [3], [6]), tmp_path / "out")
    assert not (tmp_path / "out").exists()


def test_an_index_is_read_by_other_code_of_the_same_format_only(votes, tmp_path):
    from dataclasses import asdict

    from pipeline.store import manifest

    index = copied(votes, tmp_path / "index")
    content = asdict(manifest.read(index).manifest) | {"code": "0" * 64}
    manifest.seal(index, content)
    assert find_index(index).facts["format"] == FORMAT
    manifest.seal(index, content | {"facts": content["facts"] | {"format": FORMAT + 1}})
    with pytest.raises(BadConfig, match=f"has format {FORMAT + 1}, this version reads {FORMAT}"):
        find_index(index)


def test_a_folder_without_an_index_is_explained(votes, tmp_path):
    plain = run(RunConfig(graph=GraphConfig(source=layered(tmp_path / "a.parquet", 3, 3)), output=tmp_path / "o", stages=["wcc"]))
    with pytest.raises(BadConfig, match="has no index"):
        find_index(plain.path)
    with pytest.raises(BadConfig, match="not a reachability index, but the folder of step graph"):
        find_index(votes / "steps" / "graph")
    with pytest.raises(BadConfig, match="nowhere: no such folder"):
        find_index(tmp_path / "nowhere")
    with pytest.raises(Damaged, match="no readable manifest"):
        find_index(votes / "steps")


def test_the_oracle_finds_a_false_answer(votes, tmp_path):
    """The labels were changed after the proof, and the manifest was sealed again."""
    from dataclasses import asdict

    from pipeline.store import manifest

    index = copied(votes, tmp_path / "index")
    level = np.load(index / "level.npy")
    np.save(index / "level.npy", level[::-1].copy())
    original = manifest.read(index).manifest
    (index / "manifest.json").unlink()
    manifest.seal(index, asdict(original) | {"files": {name: asdict(entry) for name, entry in manifest.entries(index).items()}})
    arcs = edges_of_votes().iloc[:2000]
    pairs = write_pairs(tmp_path / "pairs.parquet", arcs.src.to_numpy(), arcs.dst.to_numpy())
    with pytest.raises(ProofFailed, match="differs from the result of a search"):
        reach_into(index, pairs, tmp_path / "out", oracle=True)
    assert not (tmp_path / "out").exists()


def test_a_run_answers_its_pairs(tmp_path):
    source = layered(tmp_path / "arcs.parquet", 5, 4)
    pairs = write_pairs(tmp_path / "pairs.parquet", [1, 1], [1, 49])
    text = f'output = "out"\nstages = ["reachability"]\n[graph]\nsource = "{source}"\n[queries]\npairs = "pairs.parquet"\n'
    (tmp_path / "run.toml").write_text(text)
    done = subprocess.run([GRAPHMILL, "run", tmp_path / "run.toml"], capture_output=True, text=True, check=False, cwd="/")
    assert done.returncode == 0, done.stderr
    assert "2 pairs: " in done.stdout
    latest = tmp_path / "out" / "latest"
    assert tables.read(latest / "reached")["src"].to_pylist() == [1, 1]
    facts = json.loads((latest / "manifest.json").read_text())["facts"]
    assert facts["tables"]["reached"]["rows"] == facts["reached"]["rows"] == 2
    assert tables.read(latest / "reached").equals(tables.read(reach_into(latest, pairs, tmp_path / "alone").path))
    with pytest.raises(BadConfig, match="queries need stage reachability"):
        run_config("test", graph={"source": source}, output="out", stages=["wcc"], queries=QueriesConfig(pairs=pairs))


def test_the_command_reach(votes, tmp_path):
    pairs = write_pairs(tmp_path / "pairs.parquet", [3, 6, 4], [6, 3, 3])
    command = [GRAPHMILL, "reach", votes / "latest", pairs, "--out", tmp_path / "out"]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert "3 pairs: 3 reachable; decided by same 2, filter 0, positive cut 1, search 0" in done.stdout
    assert pd.read_parquet(done.stdout.split()[-1]).reachable.tolist() == [True] * 3
    again = subprocess.run(command, capture_output=True, text=True, check=False)
    assert "skipped" in again.stderr and again.stdout == done.stdout
    for arguments, words in (
        (["--unknown", "nil"], "unknown"),
        (["--backend", "tpu"], "backend"),
        (["--oracle", "--unknown", "null", "--no-such"], "no-such"),
    ):
        refused = subprocess.run([*command, *arguments], capture_output=True, text=True, check=False)
        assert refused.returncode in (1, 2) and words in refused.stdout + refused.stderr
        assert "Traceback" not in refused.stderr


CHILD = """
import json, sys
from pathlib import Path
from pipeline.steps.reach import reach
from pipeline.store.index import FORMAT, find_index
from tests.memory import peak_bytes
index = find_index(Path(sys.argv[1]))
reach(index, sys.argv[2], Path(sys.argv[3]) / "small")
before = peak_bytes()
answers = reach(index, sys.argv[4], Path(sys.argv[3]) / "large")
print(json.dumps({"rows": answers.facts["rows"], "grown": peak_bytes() - before}))
"""


@pytest.mark.parametrize("row_groups", ["small", "one"])
def test_eight_million_pairs_need_no_more_memory_than_three(votes, row_groups, tmp_path):
    ids = np.unique(edges_of_votes().to_numpy())
    for name, count in (("a", 3 * BATCH), ("b", 8 * BATCH)):
        src, dst = np.random.default_rng(3).choice(ids, (2, count))
        size = 100_000 if row_groups == "small" else count
        write_pairs(tmp_path / f"{name}.parquet", src, dst, row_group_size=size, use_dictionary=False)
    arguments = [votes / "latest", tmp_path / "a.parquet", tmp_path, tmp_path / "b.parquet"]
    child = subprocess.run([sys.executable, "-c", CHILD, *map(str, arguments)], cwd=ROOT, check=True, capture_output=True)
    found = json.loads(child.stdout)
    assert found["rows"] == 8 * BATCH
    print(f"{found['grown'] / 2**20:.0f} MiB more")
    assert found["grown"] < 64 * 2**20  # the ids of the other five million pairs take 84 MB
