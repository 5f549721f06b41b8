"""Every command of docs/operations.md, in its order, in one shell, in a clone: server, worker, deployments, runs, the end."""

import socket

import httpx
import pytest
import yaml

import flows
from flows.__main__ import NAMES
from pipeline.steps.publish import open_run
from pipeline.tables import files as tables
from tests.flows.networks import CROSSINGS, road_run, social_run, votes_run
from tests.flows.processes import ROOT, alive, clean_environment, end, eventually
from tests.flows.terminal import Terminal, make_clone
from tests.strangers import exposed, listening


def tracebacks(log: str) -> list[str]:
    """Tracebacks in a log, except for a locked database, which Prefect's SQLite reports on a busy machine; its client retries."""
    return [part for part in log.split("Traceback (most recent call last):")[1:] if "database is locked" not in part]


@pytest.fixture(scope="module")
def terminal(tmp_path_factory):
    clone = make_clone(tmp_path_factory.mktemp("clone"))
    road_run(clone / "conf" / "runs", "new-york")
    social_run(clone / "conf" / "runs", "facebook")
    votes_run(clone / "conf" / "runs", "wiki-vote")
    (clone / "data").mkdir()
    (clone / "data" / "wiki-Vote-pairs.parquet").symlink_to(clone / "conf" / "runs" / "pairs.parquet")
    with socket.create_server(("127.0.0.1", 0)) as free:
        port = free.getsockname()[1]
    home = clone / ".prefect"
    environment = clean_environment(home) | {"COLUMNS": "200"}
    del environment["PYTHONPATH"]  # the deployments must find the clone themselves
    yield Terminal(clone, environment, port)
    end(environment)


def test_the_commands_of_the_page_run_in_order(terminal):
    terminal.run("The environment of every terminal")
    assert (terminal.clone / ".prefect" / "auth").stat().st_mode & 0o777 == 0o600

    terminal.run("Server")
    url = f"http://127.0.0.1:{terminal.port}/api"
    user, password = terminal.log("auth").strip().split(":")
    assert httpx.get(f"{url}/admin/version").status_code == 401
    allowed = httpx.post(f"{url}/flows/filter", json={}, auth=(user, password))
    assert allowed.status_code == 403 and "CSRF" in allowed.text

    assert "graphmill" in terminal.run("Work pool, deployments, worker")
    assert eventually(lambda: "started" in terminal.log("worker.log"))

    terminal.run("Run now")
    road = open_run(terminal.clone / "conf" / "runs" / "out-new-york" / "latest")
    assert tables.read(road.path / "wcc").num_rows == CROSSINGS
    social = open_run(terminal.clone / "conf" / "runs" / "out-facebook" / "latest")
    assert set(tables.read(social.path / "bfs")["source"].to_pylist()) == {0, 107}
    votes = open_run(terminal.clone / "conf" / "runs" / "out-wiki-vote" / "latest")
    assert tables.read(votes.path / "reached")["reachable"].to_pylist() == [True, True, False, False]
    assert not exposed(listening(alive(terminal.environment)))

    seen = terminal.run("Inspect runs")
    assert "road-network/nightly" in seen and "social-network/nightly" in seen and "reachability/nightly" in seen
    assert "new-york-summary" in seen
    assert "reachability: started" in seen and "run: published as" in seen
    assert "SCHEDULED" in seen

    terminal.run("Stop")
    assert not tracebacks(terminal.log("worker.log") + terminal.log("server.log"))
    terminal.run("Upgrade")
    terminal.shell.stdin.close()
    assert terminal.shell.wait(timeout=30) == 0
    assert eventually(lambda: not alive(terminal.environment))


def test_every_flow_is_deployed_on_a_schedule():
    content = yaml.safe_load((ROOT / "prefect.yaml").read_text())
    assert {deployment["entrypoint"] for deployment in content["deployments"]} == {
        f"flows/analytics.py:{name.replace('-', '_')}" for name in NAMES
    }
    for deployment in content["deployments"]:
        assert (ROOT / deployment["parameters"]["run"]).is_file()
        assert deployment["concurrency_limit"] == {"limit": 1, "collision_strategy": "ENQUEUE"}
        assert deployment["work_pool"]["name"] == "graphmill"
        (schedule,) = deployment["schedules"]
        assert schedule["cron"] and schedule["timezone"]
        assert deployment["work_pool"]["job_variables"]["env"].items() <= flows.DEFAULTS.items()
