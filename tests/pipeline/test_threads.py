"""Work on threads: the order of results, context variables, and what happens after an exception."""

import time
from concurrent.futures import ThreadPoolExecutor, wait
from contextvars import ContextVar
from threading import Event, Thread

import pytest

from pipeline.runtime.threads import BoundedThreads, ahead, concurrently, map_in_order

NAME: ContextVar[str] = ContextVar("NAME", default="nobody")


@pytest.mark.parametrize("threads", [1, 2, 5])
def test_results_are_in_the_order_of_the_items_and_threads_have_the_callers_context(threads):
    NAME.set("caller")

    def work(item: int) -> tuple[int, str]:
        time.sleep(0.01 * (3 - item % 3))
        return item, NAME.get()

    assert concurrently(work, range(7), threads) == [(item, "caller") for item in range(7)]


@pytest.mark.parametrize("threads", [1, 2])
def test_after_an_exception_no_further_item_is_begun_and_those_begun_end(threads):
    begun, ended = [], []

    def work(item: int) -> None:
        begun.append(item)
        if item == 0:
            raise ValueError(item)
        time.sleep(0.05)
        ended.append(item)

    with pytest.raises(ValueError, match="0"):
        concurrently(work, range(1000), threads)
    assert len(begun) < 500  # a busy machine may begin some before it notices
    assert sorted(ended) == sorted(begun)[1:]


def test_the_exception_of_the_first_item_is_raised():
    def work(item: int) -> None:
        time.sleep(0.1 * (2 - item))
        raise ValueError(item)

    with pytest.raises(ValueError, match="0"):
        concurrently(work, range(2), 2)


def test_items_are_made_ahead_in_order_until_an_error():
    def items():
        yield from range(5)
        raise ValueError("the end")

    taken = []
    with pytest.raises(ValueError, match="the end"):
        for item in ahead(items(), 2):
            taken.append(item)  # noqa: PERF402  (what was taken before the error is kept)
    assert taken == [0, 1, 2, 3, 4]
    assert list(ahead(iter([]), 3)) == []


def test_items_that_nobody_takes_are_not_made():
    made = []
    found = ahead(map(made.append, range(100)), 3)
    next(found)
    found.close()
    assert len(made) <= 4


def test_an_abandoned_iteration_is_closed_without_waiting():
    """The garbage collector closes it on any thread, also on one that is being started, where no thread can be joined."""
    begun, free = [], Event()

    def work(item: int) -> int:
        begun.append(item)
        assert item == 0 or free.wait(60)
        return item

    iteration = map_in_order(work, range(9), 2)
    assert next(iteration) == 0
    closing = Thread(target=iteration.close)
    closing.start()
    closing.join(20)
    waits = closing.is_alive()
    free.set()
    closing.join()
    assert not waits
    assert set(begun) <= {0, 1, 2}


def test_threads_go_on_while_an_item_takes_longer_than_those_behind_it():
    """With one result for each thread, the item 0 ends only when time is up, and two items wait to be taken."""
    begun, enough = [], Event()

    def work(item: int) -> bool:
        begun.append(item)
        if len(begun) == 6:
            enough.set()
        return enough.wait(60 if item == 0 else 0)

    assert next(map_in_order(work, range(6), 2, each=3))
    assert sorted(begun) == [0, 1, 2, 3, 4, 5]


def test_bounded_threads_hold_few_calls():
    free, begun = Event(), list[int]()

    def work(number):
        begun.append(number)
        free.wait()
        return number

    with BoundedThreads(1, 2) as threads, ThreadPoolExecutor(1) as caller:
        calls = [threads.submit(work, number) for number in range(2)]
        third = caller.submit(threads.submit, work, 2)
        assert not wait([third], 0.2).done
        free.set()
        assert [call.result() for call in (*calls, third.result())] == begun == [0, 1, 2]


def test_bounded_threads_raise_the_first_error_and_begin_nothing_after_it():
    with BoundedThreads(1, 1) as threads:
        threads.submit(int, "one")
        with pytest.raises(ValueError, match="one"):
            threads.submit(int, "2")
        threads.submit(int, "three")
        with pytest.raises(ValueError, match="three"):
            threads.finish()
    free, begun = Event(), list[int]()

    def free_it(when_cancelled):
        while not when_cancelled.cancelled():
            time.sleep(0.001)
        free.set()

    with pytest.raises(KeyError), BoundedThreads(1, 3) as threads:
        threads.submit(free.wait)
        Thread(target=free_it, args=[threads.submit(begun.append, 1)], daemon=True).start()
        raise KeyError
    assert not begun
