"""Server and worker, stopped at random moments in every way and started again: no run stays, and none waits for ever."""

import random
import time
from datetime import timedelta

import pytest
from prefect.client.orchestration import get_client
from prefect.settings import PREFECT_API_AUTH_STRING, PREFECT_API_URL, temporary_settings

from flows.automations import lost_runs, set_up
from flows.runs import watch_again
from tests.counts import NIGHTLY, first_of_the_day
from tests.flows.conftest import give_database
from tests.flows.networks import road_run
from tests.flows.processes import alive, clean_environment, end, eventually, reserved_port
from tests.flows.terminal import PAGE, Terminal, make_clone
from tests.project.docs import below

MOMENTS = ("Scheduled", "Submitting", "Running")  # the stop is some time after the run has had this state
LONGEST = 5.0  # seconds until then
POOL, NAME = "graphmill", "road-network/nightly"
WAYS = ("at once", "cancelled", "killed")
ROUNDS = range(50) if NIGHTLY else (first_of_the_day(len(WAYS)),)


@pytest.fixture(scope="module")
def terminal(tmp_path_factory):
    clone = make_clone(tmp_path_factory.mktemp("clone"))
    deployments = (clone / "prefect.yaml").read_text().split("\n\n  - name: ")
    (clone / "prefect.yaml").write_text(f"{deployments[0]}\n")  # one is deployed faster than four
    road_run(clone / "conf" / "runs", "new-york", settings='stages = ["bfs"]')
    home = clone / ".prefect"
    home.mkdir(mode=0o700)
    give_database(home / "prefect.db")
    patience = {"PREFECT_SERVER_SERVICES_CANCELLATION_CLEANUP_CANCELLING_TIMEOUT_SECONDS": "20"}  # Prefect's default is 300
    environment = clean_environment(home) | {"COLUMNS": "200"} | patience
    del environment["PYTHONPATH"]
    with reserved_port() as port:
        shell = Terminal(clone, environment, port)
        shell.run("The environment of every terminal")
        url = f"http://127.0.0.1:{port}/api"
        with temporary_settings({PREFECT_API_URL: url, PREFECT_API_AUTH_STRING: shell.log("auth").strip()}):
            try:
                start(shell)
                yield shell
            finally:
                end(environment)


def start(terminal):
    """As the page has it; but a run is lost after seconds."""
    terminal.run("Server")
    terminal.run("Work pool, deployments, worker")
    with get_client(sync_client=True) as client:
        set_up(client, lost_runs(POOL, timedelta(seconds=30)))
        watch_again(client, POOL)


def run_now():
    with get_client(sync_client=True) as client:
        return client.create_flow_run_from_deployment(client.read_deployment_by_name(NAME).id).id


def state_of(run):
    with get_client(sync_client=True) as client:
        return client.read_flow_run(run).state


@pytest.mark.sampled
@pytest.mark.parametrize("number", ROUNDS)
def test_after_a_stop_at_any_moment_every_run_ends_and_the_next_is_published(terminal, number):
    way, moment, wait = WAYS[number % len(WAYS)], random.choice(MOMENTS), random.uniform(0, LONGEST)
    run = run_now()
    assert eventually(lambda: MOMENTS.index(moment) == 0 or state_of(run).name == moment or state_of(run).is_final())
    time.sleep(wait)
    how = f"{way} {wait:.1f} s after {moment}, when it was {state_of(run).name}"
    print(how)
    if way == "cancelled":
        terminal.type(f"prefect flow-run cancel {run} || true")
    if way == "killed":  # as by a power cut
        end(terminal.environment)
        terminal.__post_init__()
        terminal.run("The environment of every terminal")
    else:
        terminal.type(below(PAGE, "Stop", "bash")[-1])
    assert eventually(lambda: [one for one in alive(terminal.environment) if one.pid != terminal.shell.pid] == []), how
    start(terminal)
    following = run_now()
    assert eventually(lambda: state_of(run).is_final(), 600), (how, state_of(run))
    with get_client(sync_client=True) as client:
        set_up(client, lost_runs(POOL))  # on a busy machine the next run may take longer than the seconds of `start`
    assert eventually(lambda: state_of(following).is_final(), 600), (how, state_of(following))
    assert state_of(following).is_completed(), (how, state_of(following))
    with get_client(sync_client=True) as client:
        assert client.read_deployment_by_name(NAME).global_concurrency_limit.active_slots == 0, how
