"""Whether a scheduler is there, with requests that are answered late or never."""

from concurrent.futures import Future
from itertools import count
from types import SimpleNamespace

import pytest

from pipeline.cluster import watch as module
from pipeline.cluster.watch import Watch
from pipeline.errors import ClusterLost

DEADLINE = 0.3


@pytest.fixture
def clock(monkeypatch):
    """The clock as the watch sees it, in hours."""
    hours = SimpleNamespace(now=0.0)
    monkeypatch.setattr(module, "time", SimpleNamespace(monotonic=lambda: 3600 * hours.now))
    return hours


def test_a_run_that_was_stopped_for_hours_finds_the_scheduler_again(clock):
    asked = Future()
    watch = Watch(lambda: asked, "tcp://there", DEADLINE)
    clock.now = 1.0
    assert watch() == []  # it was stopped during the request
    asked.set_result(["worker"])
    assert watch() == ["worker"]
    clock.now = 2.0
    assert watch() == ["worker"]  # it was stopped between two requests


def test_a_scheduler_that_was_there_before_does_not_answer(clock):
    asked = [Future(), Future()]
    asked[0].set_result(["worker"])
    watch = Watch(iter(asked).__next__, "tcp://there", DEADLINE)
    assert watch() == ["worker"]
    with pytest.raises(ClusterLost, match=r"^cluster: the scheduler tcp://there did not answer for 0\.3 s$"):
        for clock.now in count(1):
            assert watch() == []
    assert clock.now >= 3


@pytest.mark.parametrize(("answer", "words"), [([], "had no worker"), (OSError("broken"), "did not answer")])
def test_a_scheduler_has_no_workers_or_is_gone(answer, words, clock):
    def ask():
        asked = Future()
        (asked.set_exception if isinstance(answer, OSError) else asked.set_result)(answer)
        return asked

    watch = Watch(ask, "tcp://there", DEADLINE)
    with pytest.raises(ClusterLost, match=rf"{words} for 0\.3 s"):
        for clock.now in count(1):
            assert watch() == []
    assert clock.now >= 3
