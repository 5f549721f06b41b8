"""`python -m flows` as a person or cron starts it: from any folder, with Prefect's embedded server, ended in every way."""

import signal
import socket
import sqlite3
import subprocess
import sys
import threading
import time
from contextlib import closing
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest

from pipeline.config.loading import load_run
from pipeline.config.run import STAGES
from pipeline.run import run as run_steps
from pipeline.steps.publication.publish import open_run
from tests.counts import of_the_day
from tests.flows.networks import road_run, roads, social_run
from tests.flows.processes import alive, await_stop, clean_environment, end, eventually, flow_process, stopping_at
from tests.flows.receivers import served
from tests.strangers import exposed, listening

# Every connection and look-up of every Python process of a run goes through this hook.
AUDIT = """
import os, sys
LOOPBACK = ("127.0.0.1", "::1", "localhost", "", None, b"127.0.0.1", b"localhost")
def hook(event, arguments):
    if event in ("socket.connect", "socket.bind", "socket.sendto") and isinstance(arguments[1], tuple):
        host = arguments[1][0]
    elif event == "socket.getaddrinfo":
        host = arguments[0]
    else:
        return
    if host not in LOOPBACK:
        with open(os.environ["AUDIT_FILE"], "a") as file:
            file.write(f"{event} {host!r} in {sys.argv}\\n")
sys.addaudithook(hook)
with open(os.environ["AUDIT_FILE"], "a"):
    pass
"""


OF_A_RUN = (("flow_run", "id"), ("task_run", "flow_run_id"), ("log", "flow_run_id"), ("artifact", "flow_run_id"))
OTHER = "the database of the server with the deployments"


@pytest.fixture(scope="module")
def home(tmp_path_factory):
    """One state folder of Prefect for the flows here; its first run makes the database."""
    return tmp_path_factory.mktemp("prefect-home")


@pytest.fixture(scope="module")
def audited(home, tmp_path_factory):
    folder = tmp_path_factory.mktemp("audit")
    (folder / "sitecustomize.py").write_text(AUDIT)
    return clean_environment(home, folder) | {"AUDIT_FILE": str(folder / "audit.txt")}, folder / "audit.txt"


@pytest.fixture
def environment(home):
    made = clean_environment(home)
    yield made
    end(made)


@pytest.fixture(scope="module")
def both(audited, tmp_path_factory):
    """Both flows in one process, started in a folder that is not the project's; its output, and what it left behind."""
    environment, _ = audited
    folder = tmp_path_factory.mktemp("elsewhere")
    (Path(environment["PREFECT_HOME"]) / "prefect.db").write_text(OTHER)
    seen: set[tuple[str, int]] = set()
    faults: list[str] = []
    looked = threading.Event()

    class Roads(BaseHTTPRequestHandler):
        """Serves the roads after the listening sockets were looked at, so that the flows do not end before."""

        def do_GET(self):
            looked.wait()
            self.send_response(200)
            self.send_header("Content-Length", str(len(roads())))
            self.end_headers()
            if self.command == "GET":
                self.wfile.write(roads().encode())

        do_HEAD = do_GET

        def log_message(self, *_):
            pass

    def watch():
        try:
            while process.poll() is None:
                if fresh := listening(alive(environment)) - seen:
                    seen.update(fresh)
                    faults.extend(exposed(fresh))
                    looked.set()
                time.sleep(1)  # looking at every process of the machine takes a while
        finally:
            looked.set()

    with served(ThreadingHTTPServer(("127.0.0.1", 0), Roads)) as port:
        run = road_run(folder, source=f"http://127.0.0.1:{port}/roads.gr")
        process = flow_process(environment, folder, "road-network", run, "social-network", social_run(folder))
        watching = threading.Thread(target=watch)
        watching.start()
        output, _ = process.communicate()
        watching.join()
    assert process.returncode == 0, output
    left = alive(environment)
    end(environment)
    return folder, output, (seen, faults), left


def test_both_flows_publish_from_any_folder_into_a_fresh_home(both):
    folder, output, _, _ = both
    for name in ("roads", "people"):
        published = open_run(folder / f"out-{name}" / "latest")
        assert set(published.facts["proofs"]) == set(STAGES)
        assert str(folder / f"out-{name}" / "latest" / "bfs") in output


def test_the_terminal_shows_when_a_step_starts_and_how_long_it_took(both):
    _, output, _, _ = both
    for step in ("edges", "graph", "bfs", "proof-bfs", "report"):
        assert output.count(f" - {step}: started") == 2
        assert output.count(f"| pipeline.store.manifest - {step}: ") == 2
    assert "Finished in state Completed()" in output and "Traceback" not in output and "ERROR" not in output


def test_nothing_is_left_when_the_flows_end(both):
    assert not both[3]


def test_only_the_flow_itself_can_use_its_embedded_server(both, home):
    listeners, faults = both[2]
    assert len(listeners) == 1 and not faults
    assert (home / "prefect.db").read_text() == OTHER  # deployments are in a server's database, not in this one
    assert (home / "embedded.db").stat().st_mode & 0o777 == 0o600


def test_a_run_connects_to_loopback_only(both, audited):
    environment, record = audited
    assert record.read_text() == ""  # the file is there, so the hook was loaded
    look_up = "import socket; socket.getaddrinfo('192.0.2.1', 80)"
    subprocess.run([sys.executable, "-c", look_up], env=environment, check=True)
    assert "192.0.2.1" in record.read_text()


def test_no_result_is_kept(both, environment, home, tmp_path):
    """Not even the exception of a run that failed."""
    process = flow_process(environment, tmp_path, "road-network", "missing.toml")
    output, _ = process.communicate()
    assert process.returncode == 1 and "flows: missing.toml: No such file" in output
    assert not [path for path in (home / "storage").rglob("*") if path.is_file()]


@pytest.mark.sampled
@pytest.mark.parametrize("name", of_the_day(("SIGTERM", "SIGINT")))
def test_an_ended_flow_leaves_no_process_and_no_half_written_step(both, environment, tmp_path, name):
    with socket.create_server(("127.0.0.1", 0)) as silent:  # takes the request for the graph, and never answers
        run = road_run(tmp_path, source=f"http://127.0.0.1:{silent.getsockname()[1]}/roads.gr")
        # Prefect's server says with a traceback that it was interrupted, if it was recording.
        quiet = environment | {"PREFECT_SERVER_LOGGING_LEVEL": "CRITICAL"}
        process = flow_process(quiet, tmp_path, "road-network", run)
        for line in process.stdout:
            if "edges: started" in line:
                break
        assert len(alive(environment)) > 1
        process.send_signal(signal.Signals[name])
        output = process.stdout.read()
        assert process.wait() == 128 + signal.Signals[name]
    last = f"flows: ended by {name}; no step is finished, so the next run starts with the source"
    assert f"\n{output}".endswith(f"\n{last}\n") and "Traceback" not in output and "---" not in output, output
    assert eventually(lambda: not alive(environment))
    assert not (tmp_path / "out-roads").exists()


def test_old_runs_are_removed_from_the_embedded_database(both, environment, home, tmp_path):
    with closing(sqlite3.connect(home / "embedded.db")) as database:
        (old,) = database.execute("SELECT id FROM flow_run WHERE state_type = 'COMPLETED' LIMIT 1").fetchone()
        database.execute("UPDATE flow_run SET end_time = datetime(end_time, '-31 days') WHERE id = ?", (old,))
        database.commit()
        counts = [f"SELECT count(*) FROM {table} WHERE {key} = ?" for table, key in OF_A_RUN]
        assert all(database.execute(count, (old,)).fetchone()[0] for count in counts)
        with socket.create_server(("127.0.0.1", 0)) as silent:
            run = road_run(tmp_path, source=f"http://127.0.0.1:{silent.getsockname()[1]}/roads.gr")
            process = flow_process(environment, tmp_path, "road-network", run)
            assert eventually(lambda: not any(database.execute(count, (old,)).fetchone()[0] for count in counts))
            process.terminate()
            process.communicate()
        assert database.execute("SELECT count(*) FROM flow_run WHERE state_type = 'COMPLETED'").fetchone()[0]  # younger ones stay


def test_an_embedded_database_gives_unused_space_back(tmp_path):
    from flows.embedded import WORTH_SHRINKING, shrink

    shrink(tmp_path / "none.db")
    assert not (tmp_path / "none.db").exists()
    with closing(sqlite3.connect(tmp_path / "embedded.db")) as database:
        database.execute("CREATE TABLE kept (content BLOB)")
        for rows, size in ((1, 1000), (30, 2**20)):
            database.executemany("INSERT INTO kept VALUES (?)", [(bytes(size),)] * rows)
        database.commit()
    before = (tmp_path / "embedded.db").stat().st_size
    shrink(tmp_path / "embedded.db")
    assert (tmp_path / "embedded.db").stat().st_size == before > WORTH_SHRINKING
    with closing(sqlite3.connect(tmp_path / "embedded.db")) as database:
        database.execute("DELETE FROM kept WHERE length(content) > 1000")
        database.commit()
        database.execute("BEGIN IMMEDIATE")
        shrink(tmp_path / "embedded.db")  # another flow uses it
        assert (tmp_path / "embedded.db").stat().st_size == before
    shrink(tmp_path / "embedded.db")
    assert (tmp_path / "embedded.db").stat().st_size < before // 100
    with closing(sqlite3.connect(tmp_path / "embedded.db")) as database:
        assert database.execute("SELECT count(*) FROM kept").fetchone() == (1,)


def test_a_flow_killed_half_way_resumes(both, environment, tmp_path):
    run = road_run(tmp_path, settings='stages = ["bfs"]')
    process = flow_process(environment | stopping_at(tmp_path, "bfs: started"), tmp_path, "road-network", run)
    await_stop(process, "bfs: started")
    assert len(alive(environment)) > 1
    process.kill()
    process.wait()
    process.stdout.close()
    assert eventually(lambda: not alive(environment))
    assert not (tmp_path / "out-roads" / "latest").exists()
    assert not list((tmp_path / "out-roads" / "runs").glob("*"))
    published = run_steps(load_run(run))  # which the next flow executes, too
    reused = {step for step, did in published.facts["steps"].items() if did["reused"]}
    assert reused >= {"edges", "graph"} and not reused & {"bfs", "report"}


@pytest.mark.parametrize("arguments", [[], ["road-network"], ["rail-network", "run.toml"]])
def test_a_wrong_command_line_shows_the_usage(environment, tmp_path, arguments):
    process = flow_process(environment, tmp_path, *arguments)
    output, _ = process.communicate()
    assert process.returncode == 1 and output.startswith("usage: python -m flows ")
