"""Threads that stay are used again; executors of them behave like those of the standard library."""

import gc
import os
import time
import weakref
from concurrent.futures import CancelledError, ThreadPoolExecutor, wait
from contextvars import ContextVar
from threading import Event, Semaphore, get_ident, get_native_id

import pytest

from kernels.cpu import parallel, staying
from kernels.cpu.staying import StayingThreads, begin_call

EXECUTORS = pytest.mark.parametrize("executor", [StayingThreads, ThreadPoolExecutor])


def test_a_thread_whose_work_is_done_does_the_next_work():
    used = set()
    for _ in range(50):
        done = Event()
        begin_call(lambda done=done: (used.add(get_native_id()), done.set()))
        assert done.wait(60)
        time.sleep(0.001)  # until the thread is idle again
    assert len(used) < 25


def test_work_begins_while_all_other_threads_are_busy():
    free, begun = Event(), Semaphore(0)
    for _ in range(40):
        begin_call(lambda: (begun.release(), free.wait()))
    assert all(begun.acquire(timeout=60) for _ in range(40))
    free.set()


def test_loops_inside_of_loops_and_loops_of_many_threads(monkeypatch):
    monkeypatch.setattr(parallel, "cores", lambda: 4)

    def sums(number):
        return sum(parallel.over_items(range(number), lambda item: item + number))

    with StayingThreads(6) as threads:
        for _ in range(5):
            found = list(threads.map(lambda _: parallel.over_items(range(20), sums), range(12)))
            assert found == [[number * number + number * (number - 1) // 2 for number in range(20)]] * 12


def test_a_forked_child_starts_threads_of_its_own(monkeypatch):
    monkeypatch.setattr(parallel, "cores", lambda: 4)

    def threads(_):
        time.sleep(0.01)
        return get_ident()

    assert len(set(parallel.over_items(range(8), threads))) > 1
    if (child := os.fork()) == 0:
        os._exit(len(set(parallel.over_items(range(8), threads))))
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) > 1


@EXECUTORS
def test_results_exceptions_and_the_most_threads(executor):
    running, most = set(), []

    def work(number):
        running.add(number)
        most.append(len(running))
        time.sleep(0.002)
        running.discard(number)
        return 10 // number

    with executor(3) as threads:
        calls = [threads.submit(work, number) for number in range(12)]
    assert 2 <= max(most) <= 3
    assert [call.result() for call in calls[1:]] == [10 // number for number in range(1, 12)]
    with pytest.raises(ZeroDivisionError):
        calls[0].result()
    with pytest.raises(RuntimeError):
        threads.submit(work, 1)


@EXECUTORS
def test_the_end_cancels_what_waits_and_awaits_what_was_begun(executor):
    free, begun, ended = Event(), Event(), Event()
    threads = executor(1)
    first = threads.submit(lambda: (begun.set(), free.wait(), ended.set()))
    assert begun.wait(60)
    second, third = threads.submit(int), threads.submit(int)
    assert second.cancel()
    threads.shutdown(wait=False, cancel_futures=True)
    assert not ended.is_set()
    for call in (second, third):
        with pytest.raises(CancelledError):
            call.result()
    free.set()
    threads.shutdown()
    assert ended.is_set() and not wait([first], 60).not_done


def test_a_thread_that_cannot_be_started_is_an_error_unless_another_takes_the_call(monkeypatch):
    def refuse(_):
        raise RuntimeError("can't start new thread")

    free, real = Event(), staying.begin_call
    with StayingThreads(2) as threads:  # whose end waits for no thread that is not there
        monkeypatch.setattr(staying, "begin_call", refuse)
        with pytest.raises(RuntimeError, match="new thread"):
            threads.submit(int)
        monkeypatch.setattr(staying, "begin_call", real)
        first = threads.submit(free.wait)
        monkeypatch.setattr(staying, "begin_call", refuse)
        second = threads.submit(int, "7")
        free.set()
        assert first.result() and second.result() == 7


def test_context_variables_of_one_call_are_not_those_of_the_next():
    variable = ContextVar("variable", default=0)
    seen = []
    for number in range(1, 9):
        done = Event()
        begin_call(lambda number=number, done=done: (seen.append(variable.get()), variable.set(number), done.set()))
        assert done.wait(60)
        time.sleep(0.001)  # until the thread is idle again
    assert seen == [0] * 8


@EXECUTORS
def test_an_executor_keeps_its_threads_while_others_take_some(executor):
    """Each thread keeps memory for the work it did: calls that wander over many threads keep it many times."""
    free = Event()
    with executor(1) as one, executor(1) as other:
        first = one.submit(get_native_id).result()
        time.sleep(0.01)  # until the thread has nothing to do
        other.submit(free.wait)
        second = one.submit(get_native_id).result()
        free.set()
    assert first == second


@EXECUTORS
def test_a_result_does_not_outlive_its_future(executor):
    class Result:
        pass

    begun, free = Event(), Event()
    with executor(1) as threads:
        held = threads.submit(free.wait)
        first = threads.submit(Result)
        threads.submit(lambda: (begun.set(), last.wait()))
        last = Event()
        free.set()
        assert held.result() and begun.wait(60)
        kept = weakref.ref(first.result())
        del first
        gc.collect()
        assert kept() is None
        last.set()
