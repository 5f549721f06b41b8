"""How a command ends: its exit code and its last line, whatever the work did."""

import atexit
import logging
import os
import re
import signal
import sys
import threading
import time
from functools import partial
from tempfile import TemporaryFile

import pytest

from pipeline import signals
from pipeline.cli import ending
from pipeline.config.loading import run_config
from pipeline.errors import BadInput
from pipeline.progress.shown import Shown, Steps
from pipeline.run import run
from pipeline.runtime.threads import concurrently


def refused():
    raise BadInput("graph.csv", "is no edge", line=3)


def full():
    raise OSError(28, "No space left on device", "out")


def faulty():
    raise AssertionError("a bug at https://token@host/?signature")


def killed(_):
    os.kill(os.getpid(), signal.SIGTERM)
    time.sleep(10**6)


def killed_elsewhere():
    """The signal arrives in a thread that does not handle it, and so does not wake the main thread."""
    time.sleep(0.5)  # until that waits
    signal.pthread_kill(threading.get_ident(), signal.SIGTERM)
    time.sleep(10**6)


def logging_on():
    def log():
        while True:
            logging.getLogger().error("a file was removed")

    logging.getLogger().error("a file was removed")
    for _ in range(3):
        threading.Thread(target=log, daemon=True).start()
    os.kill(os.getpid(), signal.SIGINT)
    log()


def late():
    atexit.register(lambda: os.kill(os.getpid(), signal.SIGINT))


def hanging():
    atexit.register(time.sleep, 60)


def ended(work, monkeypatch):
    """The exit code and the lines on standard error of a forked command."""
    monkeypatch.setattr(ending, "PATIENCE", 1)
    with TemporaryFile("w+") as errors:  # not a pipe, which fills while this process does not run
        child = os.fork()
        if child == 0:
            try:
                atexit._clear()
                logging.root.handlers.clear()  # pytest's
                signal.signal(signal.SIGINT, signal.default_int_handler)
                os.dup2(errors.fileno(), 2)
                sys.stderr = os.fdopen(2, "w")
                ending.run_command("graphmill", work)
            finally:
                os._exit(99)
        status = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
        errors.seek(0)
        return status, errors.read().splitlines()


@pytest.mark.parametrize(
    ("work", "status", "lines"),
    [
        (lambda: None, 0, []),
        (lambda: sys.exit(2), 2, []),
        (lambda: sys.exit("usage"), 1, ["graphmill: usage"]),
        (refused, 1, ["graphmill: graph.csv: line 3: is no edge"]),
        (full, 1, ["graphmill: out: No space left on device"]),
        (partial(killed, 0), 143, ["graphmill: ended by SIGTERM"]),
        (killed_elsewhere, 143, ["graphmill: ended by SIGTERM"]),
        (partial(concurrently, killed, range(4), 4), 143, ["graphmill: ended by SIGTERM"]),
        (late, 0, []),
        (hanging, 0, []),
    ],
)
def test_a_command_ends_with_at_most_one_line(work, status, lines, monkeypatch):
    assert ended(work, monkeypatch) == (status, lines)


def hung_up():
    os.kill(os.getpid(), signal.SIGHUP)
    time.sleep(10**6)


def test_a_closed_terminal_ends_a_command_unless_nohup_ignores_it(monkeypatch):
    assert ended(hung_up, monkeypatch) == (129, ["graphmill: ended by SIGHUP"])
    monkeypatch.setattr(signals, "apart", lambda work: os.kill(os.getpid(), signal.SIGHUP))
    before = signal.signal(signal.SIGHUP, signal.SIG_IGN)
    try:
        assert ended(hung_up, monkeypatch) == (0, [])
    finally:
        signal.signal(signal.SIGHUP, before)


def test_nothing_is_logged_after_a_signal(monkeypatch):
    status, lines = ended(logging_on, monkeypatch)
    assert (status, lines[-1]) == (130, "graphmill: ended by SIGINT")
    assert "a file was removed" in lines


def test_a_bug_shows_its_traceback_before_the_line(monkeypatch):
    status, lines = ended(faulty, monkeypatch)
    assert status == 1 and lines[0].startswith("Traceback")
    assert lines[-2:] == [
        "AssertionError: a bug at https://***@host/?***",
        "graphmill: failed: AssertionError: a bug at https://***@host/?***",
    ]


def interrupted(output):
    """A run in which Ctrl-C arrives while the report is drawn."""

    def call(name, step, *args, **kwargs):
        if name == "report":
            os.kill(os.getpid(), signal.SIGINT)
            time.sleep(10**6)
        return step(*args, **kwargs)

    graph = {"source": str(output.parent / "graph.csv")}
    run(run_config("test", graph=graph, output=output, stages=["bfs"], backend="cpu"), call)


def test_ctrl_c_says_what_the_next_run_will_do(monkeypatch, tmp_path):
    (tmp_path / "graph.csv").write_text("src,dst\n1,2\n")
    status, lines = ended(partial(interrupted, tmp_path / "out"), monkeypatch)
    said = re.fullmatch("graphmill: ended by SIGINT; the next run keeps (.*) and does the rest", lines[-1])
    assert status == 130 and said
    again = run(run_config("test", graph={"source": str(tmp_path / "graph.csv")}, output=tmp_path / "out", stages=["bfs"]))
    reused = {name for name, step in again.facts["steps"].items() if step["reused"]}
    assert {"edges", "graph", "bfs", "proof-bfs"} <= reused <= {*said[1].split(", ")}


def test_a_run_that_was_published_when_the_signal_came_says_so():
    steps = Steps(Shown())
    for name in ("edges", "publish"):
        steps(name, bool)
    assert steps.outlook() == "the run is published"
