"""Work that a signal abandons: what is cleaned up, what is completed first, and what its thread does not do any more."""

import signal
import subprocess
import sys
import threading
import time
from contextlib import suppress
from os import getpid, kill

import pytest

from pipeline import signals
from pipeline.store import manifest

FOREVER = 10**6


@pytest.fixture
def listening(monkeypatch):
    monkeypatch.setattr(signals, "_events", type(signals._events)())
    monkeypatch.setattr("logging.disable", lambda: None)
    before = {number: signal.getsignal(number) for number in signals.ENDING}
    signals.listen()
    yield
    assert signal.getsignal(signal.SIGINT) is not signal.SIG_IGN
    for number, handler in before.items():
        signal.signal(number, handler)


def test_work_has_a_thread_and_the_context_of_its_caller(listening):
    assert signals.apart(threading.current_thread) is not threading.main_thread()
    assert signals.apart(lambda: signals.apart(threading.current_thread) is threading.current_thread())
    with pytest.raises(ZeroDivisionError):
        signals.apart(lambda: 1 // 0)


@pytest.mark.parametrize("number", signals.ENDING)
def test_a_signal_abandons_work_and_cleans_up_in_reverse(number, listening):
    done = []

    def work():
        with signals.cleaned(lambda: done.append("before")):
            pass
        with (
            signals.cleaned(lambda: done.append("outer")),
            signals.cleaned(lambda: 1 // 0),
            signals.cleaned(lambda: done.append("inner"), only_abandoned=True),
        ):
            kill(getpid(), number)
            time.sleep(FOREVER)

    with pytest.raises(signals.Interrupted) as ended:
        signals.apart(work)
    assert ended.value.number == number and done == ["before", "inner", "outer"]


def test_what_takes_memory_is_stopped_before_anything_is_cleaned(listening):
    done = []

    def work():
        fail = signals.failing()
        with signals.braked(lambda: done.append("ended")):
            pass
        with (
            signals.braked(lambda: done.append("first")),
            signals.braked(lambda: 1 // 0),
            signals.cleaned(lambda: done.append("cleaned")),
            signals.braked(lambda: done.append("last")),
        ):
            fail(MemoryError())
            time.sleep(FOREVER)

    with pytest.raises(MemoryError):
        signals.apart(work)
    assert done == ["last", "first", "cleaned"]


def test_what_is_undisturbed_is_completed_and_nothing_begins_after_it(listening):
    done, ended, go_on = [], threading.Event(), threading.Event()

    def work():
        try:
            with signals.cleaned(lambda: done.append("cleaned")):
                with signals.undisturbed():
                    kill(getpid(), signal.SIGTERM)
                    time.sleep(0.2)
                    done.append("completed")
                go_on.wait()
                with signals.undisturbed():
                    done.append("never")
        finally:
            ended.set()

    with pytest.raises(signals.Interrupted):
        signals.apart(work)
    go_on.set()
    ended.wait()
    assert done == ["completed", "cleaned"]


def test_the_exception_of_another_handler_abandons_work(listening):
    class OfPrefect(BaseException):
        pass

    def end(*_):
        raise OfPrefect

    done = []

    def work():
        with signals.cleaned(lambda: done.append("cleaned")):
            kill(getpid(), signal.SIGTERM)
            time.sleep(FOREVER)

    signal.signal(signal.SIGTERM, end)
    with pytest.raises(OfPrefect):
        signals.apart(work)
    assert done == ["cleaned"] and signal.getsignal(signal.SIGTERM) is end


def test_a_step_of_abandoned_work_leaves_nothing_though_its_thread_goes_on(listening, tmp_path):
    ended, writing, go_on = threading.Event(), threading.Event(), threading.Event()

    def write(folder):
        (folder / "first").write_text("half")
        writing.set()
        with suppress(OSError):
            while True:
                (folder / "more").mkdir()
                (folder / "more" / "file").write_text("half")
                (folder / "more").rename(folder / str(time.monotonic_ns()))
        go_on.wait()
        return {}

    def work():
        try:
            manifest.make(tmp_path / "steps" / "one", "one", {}, {}, write)
        except KeyboardInterrupt:
            ended.set()
        except OSError:
            ended.set()

    threading.Thread(target=lambda: (writing.wait(), kill(getpid(), signal.SIGINT))).start()
    with pytest.raises(signals.Interrupted):
        signals.apart(work)
    assert not list((tmp_path / "steps").iterdir())
    go_on.set()
    ended.wait()
    assert not list((tmp_path / "steps").iterdir())


LOADED = """
import os, signal, sys, time
from llvmlite.binding import executionengine

get_buffer = executionengine.ExecutionEngine._raw_object_cache_getbuffer
calls = 0

def interrupted(self, data):
    global calls
    calls += 1
    if calls == AT:
        os.kill(os.getpid(), signal.SIGINT)
        time.sleep(0.1)
    return get_buffer(self, data)

executionengine._getbuffer_c_hook = executionengine._ObjectCacheGetBufferFunc(interrupted)

def work():
    import numpy as np
    from kernels.components.union_find import unite
    global calls
    calls = 0
    unite(np.arange(10), 3, 4)
    time.sleep(AT and 10**6)
    print(calls)

from pipeline.cli.ending import run_command
run_command("graphmill", work)
"""


def test_a_signal_while_numba_loads_machine_code_is_no_crash():
    """LLVM asks a Python function for the code; it once called address 0 when that function was interrupted."""
    calls = 3  # of which the last is for the kernel
    commands = [[sys.executable, "-c", LOADED.replace("AT", str(at))] for at in (0, calls)]
    whole, ended = [subprocess.run(command, capture_output=True, text=True, check=False) for command in commands]
    assert (whole.returncode, whole.stdout) == (0, f"{calls}\n")
    assert (ended.returncode, ended.stderr) == (130, "graphmill: ended by SIGINT\n")
