"""The trace of a run: valid events that nest on each thread, every step, and the seconds of the steps' manifests."""

import gzip
import json
import os
from collections import defaultdict

import pytest

from kernels import spans
from pipeline.changes import change
from pipeline.cli.tracing import traced
from pipeline.config.loading import run_config
from pipeline.errors import BadConfig, BadInput
from pipeline.run import run
from pipeline.store import manifest


def events_of(file):
    content = gzip.decompress(file.read_bytes()) if file.suffix == ".gz" else file.read_bytes()
    events = json.loads(content)["traceEvents"]
    return [event for event in events if event["ph"] == "X"], [event for event in events if event["ph"] == "M"]


def require_nested(events):
    """On each thread a span begins when the one around it has begun, and ends before that ends; whole nanoseconds."""
    threads = defaultdict(list)
    for event in events:
        begin, duration = round(event["ts"] * 1000), round(event["dur"] * 1000)
        assert begin >= 0 and duration >= 0
        threads[event["pid"], event["tid"]].append((begin, begin + duration))
    for of_thread in threads.values():
        around = []
        for begin, end in sorted(of_thread, key=lambda span: (span[0], -span[1])):
            while around and around[-1] <= begin:
                around.pop()
            assert not around or end <= around[-1]
            around.append(end)


@pytest.fixture
def configured(tmp_path):
    (tmp_path / "g.csv").write_text("src,dst,weight\n" + "".join(f"{v},{v * 7 % 300 + 1},{v % 9}\n" for v in range(1, 301)))

    def config(**more):
        stages = ["bfs", "sssp", "wcc"]
        return run_config(
            "test", graph={"source": str(tmp_path / "g.csv")}, output=tmp_path / "out", stages=stages, backend="cpu", **more
        )

    return config


@pytest.mark.parametrize("name", ["t.json", "t.json.gz"])
def test_a_run(configured, tmp_path, name):
    with traced(tmp_path / name):
        run(configured(closeness={}))
    assert not spans.recording() and [path.name for path in tmp_path.glob("t.*")] == [name]
    events, names = events_of(tmp_path / name)
    require_nested(events)
    kinds = defaultdict(lambda: defaultdict(list))
    for event in events:
        kinds[event["cat"]][event["name"]].append(event["dur"] / 1e6)
    proofs = {"proof-bfs", "proof-sssp", "proof-wcc"}
    assert {"edges", "graph", "arcs", "bfs", "sssp", "wcc", *proofs, "vertices", "closeness", "report", "publish"} <= set(
        kinds["step"]
    )
    count = 0
    for folder in (tmp_path / "out" / "steps").iterdir():
        if manifest.file_of(folder).exists():
            made = manifest.read(folder).manifest
            around = "closeness" if made.step.startswith("hierarchy") else made.step
            (seconds,), (of_step,) = kinds["make"][f"make {made.step}"], kinds["step"][around]
            assert seconds - 1e-6 <= made.seconds <= of_step + 1e-6  # which each begin a little earlier and end later
            count += 1
    assert count >= 12
    assert {"solve bfs", "solve sssp", "solve wcc"} <= set(kinds["solve"])
    assert {"prove graph", "prove bfs", "prove sssp", "prove wcc"} <= set(kinds["proof"])
    assert {"read source", "read rows", "digest files"} <= set(kinds["read"]) and "write rows" in kinds["write"]
    assert {event["pid"] for event in events} == {os.getpid()}
    assert {(event["pid"], event["tid"]) for event in events} == {
        (event["pid"], event["tid"]) for event in names if event["name"] == "thread_name"
    }


def test_a_run_of_changes_shows_the_parts_of_its_graph(configured, tmp_path):
    run(configured())
    (tmp_path / "c.csv").write_text("op,src,dst,weight\ninsert,1,400,2\n")
    with traced(tmp_path / "t.json"):
        change(tmp_path / "out", tmp_path / "c.csv")
    events, _ = events_of(tmp_path / "t.json")
    require_nested(events)
    (whole,) = (event for event in events if event["name"] == "make graph")
    parts = [event for event in events if event["tid"] == whole["tid"] and event["cat"] in ("read", "solve", "proof")]
    parts = [event["name"] for event in sorted(parts, key=lambda event: event["ts"]) if event["ts"] > whole["ts"]]
    assert [name for name in parts if name.split()[0] not in ("digest", "check")][:4] == [
        "open graph", "find edges", "merge changes", "prove graph",
    ]  # fmt: skip
    assert any(event["name"] == "read changes" for event in events)


def test_a_run_that_changes_nothing(configured, tmp_path):
    run(configured())
    with traced(tmp_path / "t.json"):
        run(configured())
    events, _ = events_of(tmp_path / "t.json")
    require_nested(events)
    names = {event["name"] for event in events}
    assert {"check edges", "check graph", "check bfs", "check proof-bfs"} <= names
    assert not {"make edges", "make graph", "make bfs", "solve bfs", "prove bfs"} & names


def test_a_failed_run_and_one_without_a_trace(configured, tmp_path):
    run(configured())
    (tmp_path / "g.csv").write_text("src,dst\n1,x y\n2,-\n,3\n")
    with pytest.raises(BadInput), traced(tmp_path / "t.json"):
        run(configured())
    events, _ = events_of(tmp_path / "t.json")
    assert [event["name"] for event in events if event["cat"] == "step"] == ["edges"]
    with spans.span("nobody sees this", "step"), traced(tmp_path / "u.json"):
        pass
    assert events_of(tmp_path / "u.json") == ([], [])


@pytest.mark.parametrize(("file", "words"), [("t.txt", "must end in .json or .json.gz"), ("no/t.json", "is .*no a folder")])
def test_files_that_cannot_be_written_are_refused_before_the_run(tmp_path, file, words):
    with pytest.raises(BadConfig, match=words), traced(tmp_path / file):
        raise AssertionError
    assert not [*tmp_path.iterdir()]
