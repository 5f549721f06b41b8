"""A data engineer: a feed in object storage, a deployment on Prefect's server, a second night, and a browser that shows both."""

import re

import duckdb
import fsspec
import pytest

from tests.browser.chromium import BROWSER, NO_NETWORK, tab
from tests.flows.conftest import give_database
from tests.flows.processes import clean_environment, end, reserved_port
from tests.flows.terminal import PseudoTerminal, make_clone
from tests.pipeline.store.servers import object_storage

pytestmark = pytest.mark.nightly
PARTS = {"day=1/calls.csv": "who,whom,calls\nana,bob,3\nbob,cem,4\n", "day=2/calls.csv": "who,whom,calls\ncem,dora,5\n"}


@pytest.fixture(scope="module")
def storage():
    with object_storage() as variables:
        files = fsspec.filesystem("s3")
        files.mkdir("company")
        for name, text in PARTS.items():
            files.pipe_file(f"company/calls/{name}", text.encode())
        yield files, variables


@pytest.fixture(scope="module")
def shell(storage, tmp_path_factory):
    """A window in a clone, with Prefect's server and a worker."""
    clone = make_clone(tmp_path_factory.mktemp("clone"))
    home = clone / ".prefect"
    home.mkdir(mode=0o700)
    give_database(home / "prefect.db")
    environment = clean_environment(home) | storage[1] | {"PREFECT_SERVER_SERVICES_LATE_RUNS_AFTER_SECONDS": "3600"}
    del environment["PYTHONPATH"]
    with reserved_port() as port:
        window = PseudoTerminal(clone, environment, port)
        for heading in ("The environment of every terminal", "Server"):
            window.run(heading)
        yield window
        window.shell.kill()
        end(environment)


def words_of(profile, address, *steps):
    """What a page shows after the steps in it."""
    with tab(profile, *([NO_NETWORK] if address.startswith("file:") else [])) as page:
        page.open(address, 1400)
        for step in steps:
            page.until(step)
        return page.value("document.body.innerText")


def test_two_nights(storage, shell, tmp_path):
    files, _ = storage
    began = shell.type("graphmill init s3://company/calls --to mine --name calls --source ana --stages bfs,wcc --at 03:00")
    assert "2; the first one is shown" in began and "day (a partition's key)" in began
    assert "the graph is valid" in shell.type("graphmill check mine/calls.toml")
    assert "graphmill" in shell.type("python -m flows deploy mine/calls.deployment.yaml")
    worker = "setsid sh -c 'exec prefect worker start --pool graphmill --limit 1' > .prefect/worker.log 2>&1 &"
    shell.type(f"export PREFECT_WORKER_QUERY_SECONDS=1\n{worker}")
    out = shell.clone / "mine" / "out" / "calls"
    night = "python -m flows start social-network/calls"
    assert "\nsocial-network/calls: published" in shell.type(night)
    first = (out / "latest").resolve()
    query = f"SELECT vertex_name, distance FROM '{out}/latest/bfs/*.parquet' ORDER BY distance"
    assert duckdb.sql(query).fetchall() == [("ana", 0), ("bob", 1), ("cem", 2), ("dora", 3)]

    files.pipe_file("company/calls/day=2/calls.csv", b"who,whom,calls\ncem,dora,5\nana,dora,1\n")
    assert "\nsocial-network/calls: published" in shell.type(night)
    assert (out / "latest").resolve() != first
    assert duckdb.sql(query).fetchall() == [("ana", 0), ("bob", 1), ("dora", 1), ("cem", 2)]
    assert "~ source ana, vertex dora, distance" in shell.type("graphmill diff mine/out/calls")

    files.pipe_file("company/calls/day=2/calls.csv", b"who,whom,calls\ncem,,5\n")
    refused = shell.type(f"{night} || echo code $?")
    assert "company/calls/day=2/calls.csv: line 2: dst is empty; [reject] limit" in re.sub(r"\s+", " ", refused)
    assert "\ncode 1" in refused and duckdb.sql(query).fetchall()[2] == ("dora", 1)
    if BROWSER:
        report = words_of(tmp_path / "page", (out / "latest" / "report.html").resolve().as_uri())
        assert "Changes since the last run" in report and "dora" in report
        password = f"(localStorage.setItem('prefect-password', btoa('{shell.log('auth').strip()}')), location.reload(), true)"
        address = f"http://127.0.0.1:{shell.port}/artifacts"
        shown = words_of(tmp_path / "interface", address, password, "document.body?.innerText.includes('calls-summary')")
        assert "calls-summary" in shown
