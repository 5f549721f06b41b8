"""Numbers that a table can have break no report, chart, map, manifest, artifact or JSON: the largest, the smallest, NaN, ..."""

import ast
import json
import os
import re

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from pipeline.config.loading import run_config
from pipeline.run import run
from pipeline.store.facts.run import RunFacts
from tests.pipeline.report.pictures import ROOT
from tests.pipeline.runs.commands import graphmill

STAGES = [
    "bfs", "sssp", "mst", "wcc", "scc", "pagerank", "reachability", "betweenness", "edge_betweenness", "communities",
    "closure", "max_flow", "cores", "cdlp", "triangles", "lcc",
]  # fmt: skip
BETWEEN = {"betweenness", "edge_betweenness"}
LEAST, MOST = 5e-324, 1.7976931348623157e308
COUNT = 6


def strict(text):
    def refuse(constant):
        raise AssertionError(f"{constant} is not JSON")

    return json.loads(text, parse_constant=refuse)


def made(folder, out="out", weights=None, stages=STAGES, nodes=None, places=None, products=True):
    """A run over a path of five arcs and a shortcut, with every form of table that these weights allow."""
    folder.mkdir(exist_ok=True)
    edges = {"src": [0, 1, 2, 3, 0, 4], "dst": [1, 2, 3, 4, 4, 5]} | ({} if weights is None else {"weight": weights})
    files = {"source": pa.table(edges)}
    files |= {"nodes": pa.table({"vertex": range(COUNT), **nodes})} if nodes else {}
    files |= {"coordinates": pa.table({"vertex": range(COUNT), "x": places[0], "y": places[1]})} if places else {}
    for name, table in files.items():
        pq.write_table(table, folder / f"{name}.parquet")
    pq.write_table(pa.table({"src": [1, 2], "dst": [4, 1]}), folder / "pairs.parquet")
    (folder / "facilities.csv").write_text("facility\n0\n3\n")
    pairs, asked = {"pairs": str(folder / "pairs.parquet")}, {}
    if products:
        asked = {"nearest": {"facilities": str(folder / "facilities.csv")}, "isochrones": {"thresholds": [1]}, "flows": {}}
    asked |= {"max_flow": pairs} if "max_flow" in stages else {}
    asked |= {"queries": pairs} if "reachability" in stages else {}
    graph = {name: str(folder / f"{name}.parquet") for name in files} | {"directed": True}
    return run(run_config("test", graph=graph, output=folder / out, stages=stages, backend="cpu", **asked))


def require_readable(published):
    """Every JSON of a run is strict, and its page has no number that its script could not read."""
    for path in [*published.path.rglob("*.json"), *published.path.glob("*/_manifest.json")]:
        strict(path.read_text())
    page = (published.path / "report.html").read_text()
    for found in re.findall(r'<script type="application/json"[^>]*>(.*?)</script>', page, re.DOTALL):
        strict(found)


@pytest.mark.parametrize(
    ("weights", "left_out"),
    [
        (pa.array([3e38] * 6, pa.float32()), set()),
        (pa.array([MOST] * 6), {"sssp", *BETWEEN}),  # a distance would be refused
        (pa.array([MOST / 4] * 6), set()),
        (pa.array([LEAST] * 6), set()),
        (pa.array([1e-45] * 6, pa.float32()), set()),
        (pa.array([-0.0] * 6), BETWEEN),
        (pa.array([LEAST, MOST, 1, 0, 2**53 + 1.0, 1e-310]), BETWEEN | {"max_flow"}),
        (pa.array([2**63 - 1] * 6), BETWEEN | {"sssp", "max_flow"}),
        (pa.array([2**60] * 6), BETWEEN | {"max_flow"}),
    ],
    ids=lambda value: f"{value.type}-{value[0]}" if isinstance(value, pa.Array) else "",
)
def test_weights_of_any_size_are_reported(tmp_path, weights, left_out):
    stages = [stage for stage in STAGES if stage not in left_out]
    published = made(tmp_path, weights=weights, stages=stages, products="sssp" in stages)
    require_readable(published)
    assert set(stages) <= RunFacts.of(published).proofs.keys()


def test_a_total_beyond_the_largest_float_is_stated(tmp_path):
    published = made(tmp_path, weights=pa.array([MOST / 2] * 6), stages=["mst"], products=False)
    assert "of total weight beyond 1.8e308, the largest float64" in (published.path / "report.html").read_text()
    assert "mst: total weight" not in published.facts["figures"] and "mst: trees" in published.facts["figures"]


def test_a_total_of_small_floats_is_not_rounded_to_their_type(tmp_path):
    published = made(tmp_path, weights=pa.array([2**24, 1, 1, 1, 1, 1], pa.float32()), stages=["mst"], products=False)
    assert published.facts["figures"]["mst: total weight"] == 5
    published = made(tmp_path, "more", pa.array([2**24, 1, 1, 1, 2**24, 2**24], pa.float32()), ["mst"], products=False)
    assert published.facts["figures"]["mst: total weight"] == 2**25 + 3


@pytest.mark.parametrize("step", [5e-324, 1e-320, 1e-310, 3e-308, 1e-300, 1e-14, 0.0, -0.0, -1e-311, -18.0])
@pytest.mark.parametrize("also", ["x", "xy"])
def test_coordinates_may_differ_by_any_number(tmp_path, step, also):
    across = [number * step for number in range(COUNT)]
    published = made(tmp_path, stages=["bfs", "mst"], places=(across, across if also == "xy" else [1.5] * COUNT), products=False)
    require_readable(published)
    assert (published.path / "report.html").read_text().count('class="map"') == 2


STRANGE = [float("nan"), float("inf"), -float("inf"), -0.0, LEAST, MOST]


@pytest.fixture(scope="module")
def strange(tmp_path_factory):
    """Two runs of one link, with columns of numbers that JSON lacks, which differ."""
    folder = tmp_path_factory.mktemp("strange")
    for values in (STRANGE, STRANGE[::-1]):
        integers = pa.array([2**63 - 1, -(2**63), 0, 1, 2, None])
        published = made(
            folder, weights=pa.array([1.5] * 6), stages=["wcc"], products=False,
            nodes={"double": values, "single": pa.array(values, pa.float32()), "long": integers,
                   "list": pa.array([2**64 - 1] * COUNT, pa.uint64())},
        )  # fmt: skip
    return folder / "out", published


def test_the_json_of_a_difference_is_strict(strange):
    output, published = strange
    previous = min((output / "runs").iterdir())
    said = graphmill("diff", previous, published.path, "--json", "--examples", "9")
    assert said.returncode == 0, said.stderr
    found = strict(said.stdout)["tables"]["vertices"]
    assert found["largest"]["double"] == "Infinity"
    assert found["examples"]["changed"][0]["double"] == ["NaN", MOST]
    assert found["examples"]["changed"][1]["double"] == ["Infinity", LEAST]
    assert "by up to infinity" in graphmill("diff", previous, published.path).stdout


def test_pages_and_artifacts_show_numbers_that_json_lacks(strange, monkeypatch, tmp_path):
    _, published = strange
    require_readable(published)
    monkeypatch.setitem(os.environ, "PREFECT_HOME", str(tmp_path))
    from flows import artifacts

    sent = {}
    monkeypatch.setattr(artifacts, "create_table_artifact", lambda rows, key, description: sent.update({key: rows}))
    monkeypatch.setattr(artifacts, "create_markdown_artifact", lambda *_, **__: None)
    artifacts.show(published)
    rows = strict(json.dumps(sent["source-vertices"]))
    assert [row["double"] for row in rows] == [MOST, LEAST, -0.0, "-Infinity", "Infinity", "NaN"]


def test_all_json_of_numbers_is_written_strictly():
    """Only modules without numbers of users call `json.dumps` in its lax form."""
    lax = set()
    for path in [*(ROOT / "pipeline").rglob("*.py"), *(ROOT / "flows").rglob("*.py")]:
        calls = [node for node in ast.walk(ast.parse(path.read_text())) if isinstance(node, ast.Call)]
        named = [call for call in calls if ast.unparse(call.func) in ("json.dumps", "json.dump")]
        lax |= {path.name for call in named if "allow_nan" not in {option.arg for option in call.keywords}}
    assert lax <= {
        "changes.py", "connection.py", "digests.py", "files.py", "history.py", "manifest.py", "points.py", "reference.py",
        "remote.py", "sha256.py",
    }  # fmt: skip
