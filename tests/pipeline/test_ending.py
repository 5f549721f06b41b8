"""How a command ends: its exit code and its last line, whatever the work did."""

import atexit
import os
import signal
import sys
import time
from contextlib import suppress

import pytest

from pipeline import ending
from pipeline.errors import BadInput


def refused():
    raise BadInput("graph.csv", "is no edge", line=3)


def full():
    raise OSError(28, "No space left on device", "out")


def faulty():
    raise AssertionError("a bug at https://token@host/?signature")


def swallowed():
    with suppress(KeyboardInterrupt):
        os.kill(os.getpid(), signal.SIGTERM)
        time.sleep(10)


def wrapped():
    try:
        os.kill(os.getpid(), signal.SIGINT)
        time.sleep(10)
    except KeyboardInterrupt as error:
        raise RuntimeError("a library's own") from error


class Broken:
    def __del__(self):
        raise AttributeError("interrupted while it was made")


def half_made():
    with suppress(KeyboardInterrupt):
        signal.raise_signal(signal.SIGTERM)
    Broken()


def late():
    atexit.register(lambda: os.kill(os.getpid(), signal.SIGINT))


def hanging():
    atexit.register(time.sleep, 60)


def ended(work, monkeypatch):
    """The exit code and the lines on standard error of a forked command."""
    monkeypatch.setattr(ending, "PATIENCE", 1)
    read, write = os.pipe()
    child = os.fork()
    if child == 0:
        try:
            atexit._clear()
            signal.signal(signal.SIGINT, signal.default_int_handler)
            os.dup2(write, 2)
            sys.stderr = os.fdopen(2, "w")
            ending.run_command("graphmill", work)
        finally:
            os._exit(99)
    os.close(write)
    with os.fdopen(read) as pipe:
        lines = pipe.read().splitlines()
    return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]), lines


@pytest.mark.parametrize(
    ("work", "status", "lines"),
    [
        (lambda: None, 0, []),
        (lambda: sys.exit(2), 2, []),
        (lambda: sys.exit("usage"), 1, ["graphmill: usage"]),
        (refused, 1, ["graphmill: graph.csv: line 3: is no edge"]),
        (full, 1, ["graphmill: out: No space left on device"]),
        (swallowed, 143, ["graphmill: ended by SIGTERM"]),
        (half_made, 143, ["graphmill: ended by SIGTERM"]),
        (wrapped, 130, ["graphmill: ended by SIGINT"]),
        (late, 0, []),
        (hanging, 0, []),
    ],
)
def test_a_command_ends_with_at_most_one_line(work, status, lines, monkeypatch):
    assert ended(work, monkeypatch) == (status, lines)


def test_a_bug_shows_its_traceback_before_the_line(monkeypatch):
    status, lines = ended(faulty, monkeypatch)
    assert status == 1 and lines[0].startswith("Traceback")
    assert lines[-2:] == [
        "AssertionError: a bug at https://***@host/?***",
        "graphmill: failed: AssertionError: a bug at https://***@host/?***",
    ]
