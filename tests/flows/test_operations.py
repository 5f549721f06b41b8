"""Every command of docs/operations.md, in its order, in one shell, in a clone: server, worker, deployments, runs, the end."""

import re
import shutil
import socket

import httpx
import pytest
import yaml

import flows
from flows.__main__ import NAMES
from pipeline.steps.publication.publish import open_run
from pipeline.store.facts.run import RunFacts
from pipeline.tables import files as tables
from tests.browser.chromium import BROWSER, tab
from tests.flows.conftest import give_database
from tests.flows.networks import CROSSINGS, road_run, social_run, votes_run
from tests.flows.processes import ROOT, alive, clean_environment, end, eventually, reserved_port
from tests.flows.receivers import webhook
from tests.flows.terminal import PAGE, PseudoTerminal, Terminal, make_clone
from tests.project.docs import below
from tests.strangers import exposed, listening

PATIENCE = 240.0  # seconds for one answer, on a busy machine
TUTORIAL, CUSTOM = ROOT / "docs" / "tutorial.md", ROOT / "docs" / "custom-stages.md"


def tracebacks(log: str) -> list[str]:
    """Tracebacks in a log, except for a locked database, which Prefect's SQLite reports on a busy machine; its client retries."""
    return [part for part in log.split("Traceback (most recent call last):")[1:] if "database is locked" not in part]


@pytest.fixture(scope="module")
def terminal(tmp_path_factory):
    clone = make_clone(tmp_path_factory.mktemp("clone"))
    road_run(clone / "conf" / "runs", "new-york", settings='stages = ["bfs", "wcc"]')  # test_processes.py runs all stages
    social_run(clone / "conf" / "runs", "facebook", 'stages = ["bfs"]')
    votes_run(clone / "conf" / "runs", "wiki-vote")
    social_run(
        clone / "conf" / "runs", "facebook-changes", 'stages = ["bfs"]\n[changes]\narrivals = "../../data/facebook-changes"'
    )
    shutil.copytree(ROOT / "data" / "facebook-changes", clone / "data" / "facebook-changes")
    (clone / "data" / "wiki-Vote-pairs.parquet").symlink_to(clone / "conf" / "runs" / "pairs.parquet")
    home = clone / ".prefect"
    home.mkdir(mode=0o700)
    give_database(home / "prefect.db")
    # On a busy machine a run may begin late, which would be reported, too.
    environment = clean_environment(home) | {"COLUMNS": "200", "PREFECT_SERVER_SERVICES_LATE_RUNS_AFTER_SECONDS": "3600"}
    del environment["PYTHONPATH"]  # the deployments must find the clone themselves
    with webhook() as (address, received), reserved_port() as port:
        shell = Terminal(clone, environment, port, replaced=(("https://chat.example.org/hooks/graphmill", address),))
        shell.received = received
        yield shell
        end(environment)


@pytest.fixture(scope="module")
def api(terminal):
    """Ask the server as its own clients do: a method, a path, and perhaps content."""

    def ask(method, path, **content):
        auth = tuple(terminal.log("auth").strip().split(":"))
        return httpx.request(method, f"http://127.0.0.1:{terminal.port}/api/{path}", auth=auth, timeout=PATIENCE, **content)

    return ask


def latest(terminal, name):
    return open_run(terminal.clone / "conf" / "runs" / f"out-{name}" / "latest")


@pytest.fixture(scope="module")
def deployed(terminal):
    """What the commands print that start the server, deploy the flows and start the worker."""
    terminal.run("The environment of every terminal")
    terminal.run("Server")
    printed = terminal.run("Work pool, deployments, worker")
    assert eventually(lambda: "started" in terminal.log("worker.log"))
    terminal.run("Notifications")
    return printed


def test_the_server_is_protected_and_flows_are_deployed(terminal, deployed, api):
    assert (terminal.clone / ".prefect" / "auth").stat().st_mode & 0o777 == 0o600
    assert httpx.get(f"http://127.0.0.1:{terminal.port}/api/admin/version", timeout=PATIENCE).status_code == 401
    allowed = api("POST", "flows/filter", json={})
    assert allowed.status_code == 403 and "CSRF" in allowed.text
    assert "graphmill" in deployed


@pytest.mark.usefixtures("deployed")
def test_runs_started_now_are_published_and_shown(terminal):
    printed = terminal.run("Run now")
    for line in ("backend: cpu", "wcc: started", "publish: started", "run: published as", "road-network/nightly: published"):
        assert f"{line}" in printed
    assert tables.read(latest(terminal, "new-york").path / "wcc").num_rows == CROSSINGS
    assert set(tables.read(latest(terminal, "facebook").path / "bfs")["source"].to_pylist()) == {0, 107}
    assert tables.read(latest(terminal, "wiki-vote").path / "reached")["reachable"].to_pylist() == [True, True, False, False]
    assert not exposed(listening(alive(terminal.environment)))
    terminal.run("Nightly changes")
    changed = RunFacts.of(latest(terminal, "facebook-changes"))
    assert changed.graph.state.file == "2026-07-02.csv" and changed.changes.tables["bfs"].changed
    # A run's process sends its last lines after its end is reported.
    shown = []
    assert eventually(lambda: shown.append(terminal.run("Inspect runs")) or "run: published as" in shown[-1])
    seen = shown[-1]
    assert "road-network/nightly" in seen and "social-network/nightly" in seen and "reachability/nightly" in seen
    assert "new-york-summary" in seen
    assert "bfs: started" in seen
    assert "SCHEDULED" in seen
    assert not tracebacks(terminal.log("worker.log") + terminal.log("server.log"))


@pytest.fixture
def user(terminal, deployed):
    """A new user at a terminal of their own, in the same clone, with the server and the worker of the operator."""
    window = PseudoTerminal(terminal.clone, terminal.environment, terminal.port, replaced=terminal.replaced)
    window.run("The environment of every terminal")
    yield window
    window.shell.kill()  # an interactive shell ignores SIGTERM
    window.shell.wait()


def reported(terminal, window, block):
    """Type lines whose run fails; what they print, and its notification.

    Prefect drops an event whose record SQLite refused four times in a row, as it does on a busy machine. Then the last line,
    which starts the run, is typed again.
    """
    for typed in (block, *[block.strip().splitlines()[-1]] * 3):
        before = len(terminal.received)
        printed = window.type(typed)
        if eventually(lambda before=before: len(terminal.received) > before, 60):
            return printed, terminal.received[-1]
    return pytest.fail(f"no notification:\n{printed}")


@pytest.mark.nightly
def test_a_new_user_gets_a_graph_every_night(terminal, user, api, tmp_path):
    """The tutorial, typed; the report in a browser; a failing night, its notification, and the recovery's."""
    user.run("1. The file", page=TUTORIAL)
    found = user.run("2. Look at it", page=TUTORIAL)
    for line in (line for line in below(TUTORIAL, "2. Look at it", "text")[0].splitlines() if line):
        assert line in found
    assert "the graph is valid" in found

    ran = user.run("3. Run it", page=TUTORIAL)
    assert "6 vertices, 5 arcs; every answer proved" in ran and "1 run, " in ran
    assert "[0.0, 12.0, 19.0, 23.5, None, None]" in ran
    mine = terminal.clone / "mine" / "out" / "people"
    report = (mine / "latest" / "report.html").resolve()
    if BROWSER:
        with tab(tmp_path / "profile") as page:
            page.open(report.as_uri(), 1400)
            seen = page.value("document.body.innerText")
        assert "6 vertices, 5 arcs" in seen and "Proofs" in seen and "ana" in seen

    assert "every answer proved" in user.run("4. Guard it", page=TUTORIAL)
    first = (mine / "latest").readlink()
    nightly = user.run("5. Every night", page=TUTORIAL)
    assert "graphmill: failures: is set up" in nightly
    assert "social-network/people: published" in nightly
    assert (mine / "latest").readlink() != first
    deployed = api("GET", "deployments/name/social-network/people").json()
    assert [schedule["schedule"]["cron"] for schedule in deployed["schedules"] if schedule["active"]] == ["15 2 * * *"]

    good, blocks = (mine / "latest").readlink(), below(TUTORIAL, "6. A bad night", "bash")
    printed, news = reported(terminal, user, blocks[0])
    last = printed.strip().split("\n")[-2:]
    assert last[1] == "exit code 1" and last[0].startswith("flows: social-network/people: Failed: "), last
    assert "mine/people.csv: line 7: " in last[0]
    assert (mine / "latest").readlink() == good
    assert news["subject"] == "graphmill: social-network/people: Failed"
    assert "mine/people.csv: line 7: " in news["body"] and "/runs/flow-run/" in news["text"]

    printed, news = reported(terminal, user, blocks[1])
    refused = printed.strip().split("\n")[-2:]
    assert refused[1] == "exit code 1" and "Refused: " in refused[0] and "min_arcs" in refused[0], refused
    assert (mine / "latest").readlink() == good
    assert news["subject"] == "graphmill: social-network/people: Refused"

    before = len(terminal.received)
    for block in (blocks[2], "python -m flows start social-network/people"):  # of two good nights only the first is news
        assert user.type(block).strip().endswith("\nsocial-network/people: published")
    assert eventually(lambda: len(terminal.received) == before + 1)
    assert terminal.received[-1]["subject"] == "graphmill: social-network/people: runs again"
    good = (mine / "latest").readlink()
    compared = user.run("7. Only what has changed", page=TUTORIAL)
    assert (mine / "latest").readlink() != good and (mine / "latest" / "sssp_changes").is_dir()
    assert "~ source ana, vertex ben, distance" in compared


@pytest.mark.nightly
def test_a_stage_of_a_users_own_is_published_every_night(terminal, user, api):
    """docs/custom-stages.md, typed; tests/project/test_docs.py types what is only printed."""
    user.run("From an idea to a table", page=CUSTOM)
    assert "social-network/tasks: published" in user.run("Every night", page=CUSTOM)
    published = open_run(terminal.clone / "mine" / "out" / "tasks" / "latest")
    assert published.facts["custom"]["rounds"]["proved"] == "proved by the user's certificate"
    deployed = api("GET", "deployments/name/social-network/tasks").json()
    assert [schedule["active"] for schedule in deployed["schedules"]] == [True]


@pytest.mark.usefixtures("deployed")
def test_a_failed_run_is_reported_with_its_reason_and_a_cancelled_one_is_not(terminal, api):
    before = len(terminal.received)
    for typed, words in (
        ("road-network/nigthly", "no such deployment; there are graph-changes/nightly, "),
        ("road-network/nightly backend=tpu", "backend: Input should be 'auto', 'cpu' or 'gpu' (got 'tpu')"),
        ("social-network/nightly sorces=[1]", "sorces is not a parameter of social-network; "),
    ):
        printed = terminal.type(f"python -m flows start {typed} || echo code $?")
        assert printed.startswith(f"flows: {typed.split()[0]}: {words}") and printed.endswith("\ncode 1\n"), printed
    printed, news = reported(terminal, terminal, "python -m flows start road-network/nightly run=missing.toml || echo code $?")
    assert not [path for path in (terminal.clone / ".prefect" / "storage").rglob("*") if path.is_file()]
    last = printed.splitlines()[-2:]
    assert last[1] == "code 1" and last[0].startswith("flows: road-network/nightly: Failed: ") and "missing.toml: " in last[0]
    assert news["subject"] == "graphmill: road-network/nightly: Failed"
    assert "missing.toml: " in news["body"] and "/runs/flow-run/" in news["text"]
    with socket.create_server(("127.0.0.1", 0)) as silent:
        run = road_run(terminal.clone / "conf" / "runs", "silent", f"http://127.0.0.1:{silent.getsockname()[1]}/roads.gr")
        printed = terminal.type(f"prefect deployment run road-network/nightly -p run={run}")
        running = re.search(r"UUID: (\S+)", printed)[1]
        silent.accept()
        assert api("GET", f"flow_runs/{running}").json()["state"]["name"] == "Running"
        # On a busy machine SQLite may refuse a request, and a command that fails would end the shell.
        printed = terminal.type(f"for _ in 1 2 3; do prefect flow-run cancel {running} && break; done")
        assert eventually(lambda: api("GET", f"flow_runs/{running}").json()["state"]["name"] == "Cancelled"), printed
    assert {received["subject"] for received in terminal.received[before:]} == {news["subject"]}


@pytest.mark.usefixtures("deployed")
def test_what_the_file_no_longer_has_is_removed_or_named(terminal, api):
    whole = (terminal.clone / "prefect.yaml").read_text()
    common, *entries = whole.split("\n  - name: nightly\n")
    first = re.sub(r"    schedules:\n      - .*\n", "", entries[0])
    (terminal.clone / "less.yaml").write_text(f"{common}\n  - name: nightly\n{first}")
    (terminal.clone / "other.yaml").write_text(whole.replace("slug: nightly", "slug: other"))

    def schedules():
        found = api("GET", "deployments/name/road-network/nightly").json()["schedules"]
        return [schedule["slug"] for schedule in found if schedule["active"]]

    assert schedules() == ["nightly"]
    printed = terminal.type("python -m flows deploy less.yaml")
    assert "road-network/nightly: its schedule " in printed and "is no longer in less.yaml, and is removed" in printed
    assert "social-network/nightly: is not in less.yaml, and stays with its schedules; `prefect deployment delete " in printed
    assert schedules() == []
    terminal.type("python -m flows deploy other.yaml")
    assert schedules() == ["other"]
    terminal.type("python -m flows deploy")
    assert schedules() == ["nightly"]


@pytest.mark.usefixtures("deployed")
def test_after_stop_upgrade_and_restart_a_scheduled_run_is_executed(terminal, api):
    terminal.run("Stop")
    terminal.run("Upgrade")
    assert "[Server](#server) and [Work pool, deployments, worker](#work-pool-deployments-worker)" in PAGE.read_text()
    terminal.run("Server")
    assert api("GET", "work_pools/graphmill").json()["is_paused"]
    terminal.run("Work pool, deployments, worker")
    assert not api("GET", "work_pools/graphmill").json()["is_paused"]
    published = terminal.clone / "conf" / "runs" / "out-new-york" / "latest"
    before = published.resolve()
    terminal.type("prefect deployment run road-network/nightly")  # a scheduled run, as those of the night
    assert eventually(lambda: published.exists() and published.resolve() != before)
    terminal.run("Stop")
    terminal.shell.stdin.close()
    assert terminal.shell.wait() == 0
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
