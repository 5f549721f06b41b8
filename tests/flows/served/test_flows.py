"""The flows in this process, on one embedded server: what they publish, skip, retry and refuse."""

import json
import socket
import subprocess
import sys
import threading
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from urllib.parse import urlsplit

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from prefect.client.orchestration import get_client
from prefect.client.schemas.filters import FlowRunFilter, LogFilter
from prefect.client.schemas.sorting import FlowRunSort
from prefect.exceptions import ParameterTypeError
from prefect.settings import get_current_settings
from prefect.states import Failed

from flows.__main__ import NAMES
from flows.analytics import FLOWS, reachability, road_network, social_network
from flows.artifacts import key
from flows.tasks import is_transient
from kernels.gpu.devices import device_count
from pipeline.config.loading import load_run
from pipeline.config.run import STAGES
from pipeline.errors import BadConfig, BadInput, BadSource, Busy, ProofFailed
from pipeline.progress import shown
from pipeline.run import run as run_steps
from pipeline.runtime.backend import choose
from pipeline.steps.publication.publish import open_run
from pipeline.store.index.folder import find_index
from pipeline.store.workspace import workspace
from pipeline.tables import files as tables
from tests.flows.networks import CROSSINGS, road_run, roads, social_run, votes_run
from tests.flows.processes import alive, clean_environment, eventually, flow_process
from tests.strangers import exposed

pytestmark = pytest.mark.usefixtures("prefect")
STEPS = {
    "edges",
    "graph",
    "report",
    "reachability_index",
    *STAGES,
    "forest",
    "vertices",
    "arcs",
    *(f"proof-{table}" for table in STAGES),
}


def task_runs(state):
    """Number of attempts of each task of a flow's run that has ended. Prefect records them some time after it."""
    with get_client(sync_client=True) as client:
        runs = client.read_task_runs(flow_run_filter=FlowRunFilter(id={"any_": [state.state_details.flow_run_id]}))
    return {run.name: run.run_count for run in runs if run.state and run.state.is_final()}


def artifacts(prefix):
    with get_client(sync_client=True) as client:
        found = client.request("POST", "/artifacts/latest/filter", json={}).json()
    return {artifact["key"]: artifact for artifact in found if artifact["key"].startswith(prefix)}


def same_tables(one, other):
    """Whether all files of two runs are equal but for the reports, which name their runs."""
    first, second = ({name: entry for name, entry in run.manifest.files.items() if "report." not in name} for run in (one, other))
    return first == second


@pytest.fixture(scope="module")
def road(prefect, tmp_path_factory):
    run = road_run(tmp_path_factory.mktemp("road"), "small-roads")
    return run, road_network(str(run), return_state=True)


def test_a_road_network_becomes_proved_tables(road):
    run, state = road
    published = open_run(run.parent / "out-small-roads" / "latest")
    assert published.path == state.result().path
    assert {name: table["rows"] for name, table in published.facts["tables"].items() if name != "coordinates"} == {
        "bfs": 2 * CROSSINGS, "sssp": 2 * CROSSINGS, "mst": CROSSINGS - 1, "wcc": CROSSINGS, "scc": CROSSINGS,
        "pagerank": CROSSINGS, "reachability_labels": CROSSINGS, "forest": CROSSINGS, "vertices": CROSSINGS,
        "arcs": len(roads().splitlines()) - 1,
    }  # fmt: skip
    assert set(published.facts["proofs"]) == set(STAGES)
    assert tables.read(published.path / "coordinates").num_rows == CROSSINGS


def test_tasks_are_named_after_their_steps(road):
    _, state = road
    names = {"edges", "graph", "forest", "vertices", "arcs", "report", "publish", "artifacts", *STAGES}
    expected = dict.fromkeys(names | {f"proof-{stage}" for stage in STAGES}, 1)
    assert eventually(lambda: task_runs(state) == expected), task_runs(state)


def test_a_run_is_named_after_its_file(road):
    with get_client(sync_client=True) as client:
        assert client.read_flow_run(road[1].state_details.flow_run_id).name == "small-roads"


def test_the_artifacts_show_the_run(road):
    _, state = road
    published = state.result()
    shown = artifacts("small-roads")
    assert set(shown) == {key("small-roads", what) for what in ("summary", "report", *published.facts["tables"])}
    assert shown["small-roads-report"]["type"] == "markdown"  # what another host's browser can show
    assert shown["small-roads-report"]["data"] == (published.path / "report.md").read_text()
    assert "](data:image/png;base64," in shown["small-roads-report"]["data"]
    assert f"{CROSSINGS:,} vertices" in shown["small-roads-summary"]["data"]
    order = [("source", "ascending"), ("distance", "descending"), ("vertex", "ascending")]
    far = tables.read(published.path / "sssp").sort_by(order)
    rows = shown["small-roads-sssp"]["data"]
    rows = json.loads(rows) if isinstance(rows, str) else rows
    assert len(rows) == 10 and [int(row["vertex"]) for row in rows][:5] == far["vertex"].to_pylist()[:5]


def test_a_second_run_only_publishes(road, caplog):
    run, state = road
    first = state.result()
    assert {name: step["reused"] for name, step in first.facts["steps"].items()} == dict.fromkeys(STEPS, False)
    again = road_network(str(run))
    assert again.path != first.path
    assert {name: step["reused"] for name, step in again.facts["steps"].items()} == dict.fromkeys(STEPS, True)
    assert same_tables(again, first)
    lines = [record.getMessage() for record in caplog.records]
    for step in STEPS:
        assert (
            lines.count(
                f"{step}: started" if step not in {"edges", "graph", "reachability_index"} else f"{step}: still valid, skipped"
            )
            == 1
        )
        assert f"{step}: still valid, skipped" in lines


def test_a_stage_of_a_user_is_a_task_and_an_artifact_that_claims_no_proof(prefect, tmp_path):
    stage = '[[custom]]\nname = "numbers"\nfile = "numbers.py"\ncolumns = { number = "int64" }'
    (tmp_path / "numbers.py").write_text("def solve(graph, options):\n    return {'number': graph.ids * 2}\n")
    state = social_network(str(social_run(tmp_path, "own", f'stages = ["wcc"]\n{stage}')), return_state=True)
    assert tables.read(state.result().path / "numbers").slice(1, 1).to_pylist() == [{"vertex": 1, "number": 2}]
    assert eventually(lambda: task_runs(state).get("custom-numbers") == 1), task_runs(state)
    made = artifacts("own")
    assert "Its layout is proved; every answer of the other stages proved; numbers: not proved." in made["own-summary"]["data"]
    assert "numbers" in made["own-report"]["data"] and "own-numbers" in made
    (tmp_path / "numbers.py").write_text("def solve(graph, options):\n    return {'number': graph.idz}\n")
    failed = social_network(str(tmp_path / "own.toml"), return_state=True)
    assert failed.is_failed() and "numbers.py: line 2: AttributeError: " in failed.message
    assert task_runs(failed).get("custom-numbers", 1) == 1  # a wrong program is not tried again


def test_prefect_shows_how_far_a_task_is(road, monkeypatch):
    """The lines are logged by another thread than the task's, and name it all the same."""
    monkeypatch.setattr(shown, "LOG_EVERY", 0.01)
    logged, sentence, step = set(), shown._Running.sentence, shown.Shown.step

    def noted(running, now):
        logged.add(running.progress.name)
        return sentence(running, now)

    @contextmanager
    def long(shown_by, name, *expected):
        """The steps that are looked for take until a line of them is logged."""
        with step(shown_by, name, *expected):
            assert name not in {"sssp", "publish"} or eventually(lambda: name in logged)
            yield

    monkeypatch.setattr(shown._Running, "sentence", noted)
    monkeypatch.setattr(shown.Shown, "step", long)
    state = road_network(str(road[0]), sources=[2, 3, 5], return_state=True)
    of_run = LogFilter(flow_run_id={"any_": [state.state_details.flow_run_id]})

    def lines():
        logs, page = [], None
        with get_client(sync_client=True) as client:
            while page is None or page:  # the server returns at most 200 lines, and a slow run has more
                asked = {"logs": of_run.model_dump(mode="json"), "offset": len(logs)}
                page = client.request("POST", "/logs/filter", json=asked).json()
                logs += page
        return {line["message"].split(":")[0] for line in logs if line["name"] == shown.__name__ and line["task_run_id"]}

    assert eventually(lambda: {"sssp", "publish"} <= lines())


def test_sources_replace_those_of_the_file(road):
    run, _ = road
    published = road_network(str(run), sources=[7])
    assert set(tables.read(published.path / "bfs")["source"].to_pylist()) == {7}
    assert not published.facts["steps"]["bfs"]["reused"]
    assert published.facts["steps"]["graph"]["reused"]
    assert published.facts["published_as"] == "manual" != (run.parent / "out-small-roads" / "latest").readlink().name
    assert (run.parent / "out-small-roads" / "manual").readlink().name == published.path.name


def test_a_social_network_becomes_proved_tables(tmp_path):
    published = social_network(str(social_run(tmp_path)))
    assert set(published.facts["proofs"]) == set(STAGES)
    assert set(tables.read(published.path / "wcc")["labels"].to_pylist()) == {0, 200}
    hops = {row["vertex"]: row["distance"] for row in tables.read(published.path / "bfs").to_pylist()}
    assert (hops[0], hops[39], hops[107], hops[200]) == (0, 1, 69, None)


@pytest.fixture(scope="module")
def votes(prefect, tmp_path_factory):
    run = votes_run(tmp_path_factory.mktemp("votes"))
    return run, reachability(str(run), return_state=True)


def test_pairs_are_answered_from_a_proved_index(votes):
    _, state = votes
    published = state.result()
    assert set(published.facts["proofs"]) == {"wcc", "reachability"}
    assert set(published.facts["tables"]) == {"wcc", "vertices", "arcs", "reachability_labels", "reached"}
    assert find_index(published.path).facts["components"] == 4
    assert [row["reachable"] for row in tables.read(published.path / "reached").to_pylist()] == [True, True, False, False]
    assert eventually(lambda: task_runs(state).get("reached") == 1)
    shown = artifacts("votes")
    assert set(shown) == {
        f"votes-{what}" for what in ("summary", "report", "wcc", "vertices", "arcs", "reachability-labels", "reached")
    }
    assert r"| reachability\_labels | 6 | certificate |" in shown["votes-summary"]["data"]
    assert "| reached | 4 | by the proved index, searches checked |" in shown["votes-summary"]["data"]


def test_the_index_is_built_again_only_if_the_graph_has_changed(votes):
    run, state = votes
    again = reachability(str(run))
    assert all(step["reused"] for step in again.facts["steps"].values())
    assert same_tables(again, state.result())
    other = run.parent / "other.parquet"
    pq.write_table(pa.table({"src": [4], "dst": [3]}), other)
    asked = reachability(str(run), pairs=str(other), witness=True)
    assert {name for name, step in asked.facts["steps"].items() if not step["reused"]} == {"reached", "paths", "report"}
    assert tables.read(asked.path / "paths")["path"].to_pylist() == [[4, 2, 3]]
    assert tables.read(asked.path / "reached").to_pylist() == [{"src": 4, "dst": 3, "reachable": True, "decided": "same"}]


def test_an_unknown_vertex_fails_the_flow_at_once_and_publishes_nothing(votes):
    run, _ = votes
    before = (run.parent / "out-votes" / "latest").readlink()
    other = run.parent / "unknown.parquet"
    pq.write_table(pa.table({"src": [4], "dst": [77]}), other)
    state = reachability(str(run), pairs=str(other), return_state=True)
    with pytest.raises(BadInput, match=r"unknown\.parquet: row 0: dst 77 is not in the graph"):
        state.result()
    assert (run.parent / "out-votes" / "latest").readlink() == before


def test_the_reachability_flow_refuses_a_run_without_pairs(tmp_path):
    with pytest.raises(BadConfig, match="has no pairs"):
        reachability(str(social_run(tmp_path)))


def test_a_flow_and_the_command_execute_the_same_steps(tmp_path):
    run = road_run(tmp_path, settings='stages = ["wcc", "bfs"]')
    by_flow, by_command = road_network(str(run)), run_steps(load_run(run))
    assert all(step["reused"] for step in by_command.facts["steps"].values())
    assert list(by_command.facts["steps"]) == list(by_flow.facts["steps"])


@pytest.mark.parametrize("name", [name for name in NAMES if name != "graph-changes"])
def test_every_flow_runs_every_stage_that_its_file_requests(name, tmp_path):
    run = votes_run(tmp_path, stages=reversed(STAGES))
    published = FLOWS[name](str(run))
    assert list(published.facts["proofs"]) == list(STAGES)
    assert "reached" in published.facts["tables"]


def test_the_backend_is_recorded_and_a_parameter_replaces_the_files(tmp_path):
    run = votes_run(tmp_path)
    assert road_network(str(run)).facts["backend"] == choose("auto")
    assert road_network(str(run), backend="cpu").facts["backend"] == "cpu"


@pytest.mark.skipif(device_count() > 0, reason="there is a GPU")
def test_a_missing_gpu_fails_the_flow_at_once(tmp_path):
    with pytest.raises(BadConfig, match="a GPU is requested"):
        road_network(str(road_run(tmp_path)), backend="gpu")
    assert not (tmp_path / "out-roads").exists()


def test_only_the_stages_of_the_file_run(tmp_path):
    published = road_network(str(road_run(tmp_path, settings='stages = ["wcc", "bfs"]')))
    assert set(published.facts["proofs"]) == {"wcc", "bfs"}


@pytest.mark.parametrize(
    ("spoil", "error"),
    [
        (lambda text: text.replace("a 1 2 ", "a 1 999 ", 1), BadInput),
        (lambda text: text.replace("a 1 2 ", "a 1 2 -", 1), BadInput),
    ],
)
def test_bad_input_fails_at_once_and_publishes_nothing(tmp_path, spoil, error):
    run = road_run(tmp_path)
    (tmp_path / "roads.gr").write_text(spoil(roads()))
    state = road_network(str(run), return_state=True)
    assert state.is_failed()
    with pytest.raises(error, match=r"roads\.gr: line 2: "):
        state.result()
    assert eventually(lambda: task_runs(state) == {"edges": 1})
    assert not list(tmp_path.glob("out-roads/runs/*")) and not (tmp_path / "out-roads" / "latest").exists()
    assert not list(tmp_path.glob("out-roads/steps/*"))


def test_an_unknown_source_fails_before_anything_is_published(tmp_path):
    with pytest.raises(BadSource, match="999"):
        road_network(str(road_run(tmp_path)), sources=[999])
    assert not list(tmp_path.glob("out-roads/runs/*"))


def test_a_bad_configuration_and_a_busy_folder_fail_the_flow(tmp_path):
    with pytest.raises(BadConfig, match=r"missing\.toml"):
        road_network(str(tmp_path / "missing.toml"))
    with pytest.raises(ParameterTypeError, match=r"sources\.0"):
        road_network(str(road_run(tmp_path)), sources=[1.0])
    with workspace(tmp_path / "out-roads"), pytest.raises(Busy):
        road_network(str(road_run(tmp_path)))


class Faltering(BaseHTTPRequestHandler):
    """Answers the first requests for the file, HEAD and GET, with 503, and then serves it."""

    asked = 0

    def do_GET(self):
        type(self).asked += 1
        if type(self).asked <= 2:
            self.send_error(503)
            return
        body = roads().encode()
        self.send_response(200)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    do_HEAD = do_GET

    def log_message(self, *_):
        pass


def test_a_transient_error_is_retried(tmp_path):
    with ThreadingHTTPServer(("127.0.0.1", 0), Faltering) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        run = road_run(tmp_path, source=f"http://127.0.0.1:{server.server_port}/roads.gr")
        state = road_network(str(run), return_state=True)
        server.shutdown()
    assert state.is_completed()
    assert eventually(lambda: task_runs(state).get("edges") == 2)
    assert open_run(tmp_path / "out-roads" / "latest").facts["tables"]["wcc"]["rows"] == CROSSINGS


def test_an_error_that_the_user_can_fix_ends_the_command_with_one_message(tmp_path):
    run = road_run(tmp_path)
    (tmp_path / "roads.gr").write_text("p sp 2 1\na 1 3 5\n")
    environment = clean_environment(tmp_path) | {"PREFECT_API_URL": get_current_settings().api.url}
    process = flow_process(environment, tmp_path, "road-network", run)
    output, _ = process.communicate()
    assert process.returncode == 1
    assert output.count(f"\nflows: {tmp_path / 'roads.gr'}: line 2: ") == 1
    assert not (tmp_path / "out-roads" / "latest").exists()
    assert not alive(environment)


def test_what_strangers_can_use_is_found():
    """Prefect's own embedded server, which these tests use, is open to everyone."""
    faults = {fault.partition(": ")[2] for fault in exposed({("127.0.0.1", urlsplit(get_current_settings().api.url).port)})}
    assert faults >= {"GET api/admin/version", "POST logs/filter", "POST flow_runs/", "origin *", "stream events/out"}


@pytest.mark.parametrize(
    ("error", "again"),
    [
        (OSError(5, "Input/output error"), True),
        (ConnectionResetError(), True),
        (TimeoutError(), True),
        (BadInput("file", "reason"), False),
        (ProofFailed("reason"), False),
        (MemoryError(), False),
        (AssertionError(), False),
    ],
    ids=lambda value: type(value).__name__,
)
def test_which_errors_are_retried(error, again):
    assert is_transient(None, None, Failed(data=error)) is again


def test_keys_of_artifacts_are_valid_in_prefect():
    assert key("USA road (NY).v2", "bfs") == "usa-road-ny-v2-bfs"
    assert key("Straße", "bfs") == "stra-e-bfs"
    assert key("道路", "bfs") == "bfs"


@pytest.mark.parametrize(
    ("command", "status"),
    [(("-m", "flows", "road-network"), 143), (("-c", "import sys, flows.analytics as f; f.road_network(sys.argv[1])"), -15)],
    ids=["our handler", "the handler of Prefect"],
)
def test_a_run_that_a_signal_ends_is_reported_as_crashed(command, status, tmp_path):
    """At once, though its thread still waits for the source."""
    environment = clean_environment(tmp_path) | {"PREFECT_API_URL": get_current_settings().api.url}
    with socket.create_server(("127.0.0.1", 0)) as silent:
        run = road_run(tmp_path, source=f"http://127.0.0.1:{silent.getsockname()[1]}/roads.gr")
        with subprocess.Popen(
            [sys.executable, *command, run], env=environment, cwd=tmp_path, stderr=subprocess.DEVNULL
        ) as process:
            connection, _ = silent.accept()
            process.terminate()
            assert process.wait() == status
        connection.close()
    assert not (tmp_path / "out-roads").exists()
    with get_client(sync_client=True) as client:
        (ended,) = client.read_flow_runs(sort=FlowRunSort.EXPECTED_START_TIME_DESC, limit=1)
        assert ended.state.is_crashed()
        tasks = FlowRunFilter(id={"any_": [ended.id]})
        # Tasks' states are events, which Prefect's server may lose while its database is locked: the task may stay "Running".
        assert [task.state.is_completed() for task in client.read_task_runs(flow_run_filter=tasks)] in ([], [False])
