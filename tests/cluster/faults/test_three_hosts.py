"""The commands of section "Several hosts" of docs/clusters.md on three virtual hosts; one is disconnected during a run."""

import shutil
from collections.abc import Callable

import pytest

from pipeline.steps.publication.publish import open_run
from pipeline.tables import files as tables
from tests.cluster.faults import three as example
from tests.cluster.faults.three import (
    DEADLINE,
    NEW_YORK,
    PAGE,
    ROME,
    SECTION,
    Three,
    certify,
    files,
    when,
    without_a_cluster,
    writing,
)
from tests.cluster.hosts import three_hosts, why_not
from tests.flows.networks import CROSSINGS, road_run
from tests.flows.processes import ROOT, clean_environment
from tests.flows.terminal import Terminal, make_clone


def nightly(test: Callable[..., None]) -> Callable[..., None]:
    """Mark a test as too slow to run for every change."""
    return pytest.mark.nightly(pytest.mark.timeout(3600)(test))


@pytest.fixture(scope="module")
def started(tmp_path_factory):
    if reason := why_not():
        pytest.skip(reason)
    folder = tmp_path_factory.mktemp("three")
    with three_hosts(folder, clean_environment(folder)) as hosts:
        yield Three(hosts, folder)


@pytest.fixture
def three(started):
    """All three hosts connected, whatever the previous test did."""
    started.repair()
    return started


def test_a_client_without_a_certificate_of_the_authority_is_refused(three):
    assert [host.listens_on() for host in three.hosts] == [{host.address, "127.0.0.1"} for host in three.hosts]
    scheduler, ca = f"{three.first.address}:8786", three.first.folder / "ca.pem"
    asked = three.second.start(f"openssl s_client -tls1_2 -connect {scheduler} -CAfile {ca} -verify_return_error", ROOT)
    assert asked.wait() == 1
    assert "Verify return code: 0 (ok)" in three.second.log() and "alert handshake failure" in three.second.log()

    stranger = three.folder / "stranger"
    stranger.mkdir()
    certify(three.folder / "other authority", {three.first.address: stranger})
    refused = three.begin("refused", ROME, ["wcc"], 0, tls=stranger)
    assert refused.ended() == 1
    assert f"no scheduler answers at tls://{scheduler}" in refused.log.read_text()


def test_tables_are_right_even_if_the_host_of_a_shard_is_disconnected(three):
    for attempt in range(5):  # a busy machine may stop this process until the tables are written
        found = three.begin(f"shards-{attempt}", ROME, ["sssp"], 8, shards=3)
        if three.cut_off_third_during(found):
            break
    when(lambda: "all ranks start again" in found.log.read_text(), found)
    assert found.ended() == 0
    assert files(found.output) == without_a_cluster(found)


@nightly
def test_tables_are_right_even_if_a_host_that_writes_them_is_disconnected(three):
    found = three.begin("many", NEW_YORK, ["bfs"], 30)
    when(lambda: writing(three.third), found)
    three.cut_off(three.third)
    when(lambda: "Remove worker" in three.first.log(), found)
    assert found.ended() == 0
    assert files(found.output) == without_a_cluster(found)


@nightly
def test_a_reconnected_host_works_again(three):
    found = three.begin("back", ROME, ["wcc", "mst"], 0, shards=2)
    assert found.ended() == 0
    assert files(found.output) == without_a_cluster(found)


@nightly
@pytest.mark.parametrize("shards", [0, 3])
def test_the_loss_of_all_workers_is_one_error(shards, three):
    found = three.begin(f"lost-{shards}", NEW_YORK, ["bfs"], 30, shards)
    when(lambda: "graph: " in found.log.read_text(), found)
    three.cut_off(three.first)
    assert found.ended() == 1
    last = found.log.read_text().splitlines()[-1]
    assert last == f"graphmill: cluster: the scheduler tls://10.0.0.5:8786 had no worker for {DEADLINE} s"
    assert not (found.output / "latest").exists()


@nightly
def test_a_deployment_runs_on_the_hosts(three, tmp_path):
    clone = make_clone(tmp_path / "clone")
    shutil.copytree(ROOT / "conf", clone / "conf")  # the deployments are checked with their runs
    settings = three.cluster(three.first.folder, shards=2)
    road_run(clone / "conf" / "runs", "new-york-on-hosts", settings=settings)
    environment = clean_environment(clone / ".prefect") | {"PREFECT_WORKER_QUERY_SECONDS": "1"}
    del environment["PYTHONPATH"]  # the deployments must find the clone themselves
    terminal = Terminal(clone, environment, within=("ip", "netns", "exec", three.first.name))
    for heading in ("The environment of every terminal", "Server", "Work pool, deployments, worker"):
        terminal.run(heading)
    terminal.run(SECTION, "console", PAGE)
    published = open_run(clone / "conf" / "runs" / "out-new-york-on-hosts" / "latest")
    assert tables.read(published.path / "wcc").num_rows == CROSSINGS
    assert published.facts["steps"]["wcc"]["shards"] == 2
    terminal.run("Stop")
    terminal.shell.stdin.close()
    assert terminal.shell.wait() == 0


@nightly
def test_all_stages_of_a_graph_of_which_no_host_holds_a_half(three):
    example.example(three)
