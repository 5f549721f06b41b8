"""SIGINT and SIGTERM are deferred in protected blocks, and delivered even if a library swallows the exception."""

import signal
import sys
import time

import pytest

from pipeline import signals
from pipeline.store import manifest


@pytest.fixture
def listening(monkeypatch):
    monkeypatch.setattr(signals, "received", [])
    monkeypatch.setattr(sys, "unraisablehook", sys.unraisablehook)
    before = {number: signal.getsignal(number) for number in signals.ENDING}
    signals.listen()
    yield
    for number, handler in before.items():
        signal.signal(number, handler)


@pytest.mark.parametrize("number", signals.ENDING)
def test_a_signal_is_deferred_until_the_block_ends(number, listening):
    done = []
    with pytest.raises(KeyboardInterrupt), signals.deferred():
        signal.raise_signal(number)
        done.append("started")
    assert done == ["started"] and signals.received == [number]


def test_a_signal_that_a_finalizer_swallowed_is_raised_again(listening, capfd):
    class Falling:
        def __del__(self):
            signal.raise_signal(signal.SIGINT)

    with pytest.raises(KeyboardInterrupt):
        Falling()
        time.sleep(30)
    assert signals.received == [signal.SIGINT] * 2
    assert "Traceback" not in capfd.readouterr().err


def test_a_swallowed_signal_ends_the_run_at_its_next_step(listening, tmp_path):
    with pytest.raises(KeyboardInterrupt):
        signal.raise_signal(signal.SIGTERM)
    with pytest.raises(KeyboardInterrupt):
        manifest.make(tmp_path / "step", "step", {}, {}, lambda _: {})
    assert not list(tmp_path.iterdir())
