"""Runs that are killed beside a reader: no wrong table, no traceback, nothing that the next run does not remove."""

import os
import signal

import pytest

from tests.faults.endings import await_handlers, killed_runs

NIGHTLY = [("forked", 1500), ("started", 300), ("workers", 120), ("flows", 80)]


@pytest.mark.timeout(4 * 3600)
@pytest.mark.parametrize(("way", "kills"), [("forked", 10), *(pytest.param(*how, marks=pytest.mark.nightly) for how in NIGHTLY)])
def test_every_ending_is_one_line_and_leaves_nothing(way, kills, tmp_path):
    runs = killed_runs(tmp_path, range(kills), way)
    assert not runs.faults, "\n".join([*runs.faults, str(dict(runs.counts))])


@pytest.mark.parametrize("handler", [signal.SIG_IGN, signal.SIG_DFL])
def test_a_run_that_ended_meanwhile_is_not_waited_for(handler):
    child = os.fork()
    if child == 0:
        signal.signal(signal.SIGTERM, handler)
        os._exit(0)
    os.waitid(os.P_PID, child, os.WEXITED | os.WNOWAIT)
    await_handlers(child)
    os.waitpid(child, 0)
