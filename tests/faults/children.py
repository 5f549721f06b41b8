"""Work in child processes: forked ones that may crash, be killed or be limited, and many that count together."""

import contextlib
import multiprocessing
import os
import pickle
import signal
import sys
import time
from argparse import ArgumentParser
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import ProcessPoolExecutor
from typing import Any, TypeVar

Part = TypeVar("Part")
Result = TypeVar("Result")


def outcome(work: Callable[[], Any]) -> Any:
    """Return the result of `work()` in a child, or the exception that it raised. Fails if the child died otherwise."""
    reader, writer = os.pipe()
    child = os.fork()
    if child == 0:
        try:
            try:
                result = work()
            except Exception as error:
                result = error
            with os.fdopen(writer, "wb") as pipe:
                pickle.dump(result, pipe)
        finally:
            os._exit(0)
    os.close(writer)
    with os.fdopen(reader, "rb") as pipe:
        answer = pipe.read()
    _, status = os.waitpid(child, 0)
    assert answer, f"the child died, status {status}"
    return pickle.loads(answer)


@contextlib.contextmanager
def working(work: Callable[[], Any]) -> Iterator[int]:
    """Yield the process id of a child that runs `work()` and is killed at the end of the block if it is still alive."""
    child = os.fork()
    if child == 0:
        try:
            work()
        finally:
            os._exit(0)
    try:
        yield child
    finally:
        with contextlib.suppress(ProcessLookupError):
            os.kill(child, signal.SIGKILL)
        os.waitpid(child, 0)


def die_at(event: int) -> None:
    """Kill this process just before its `event`-th file operation (open, link, rename, mkdir, lock, ...)."""
    left = event

    def count(name: str, _: object) -> None:
        nonlocal left
        if name.split(".", maxsplit=1)[0] in {"open", "os", "shutil", "tempfile", "fcntl"}:
            left -= 1
            if left == 0:
                os.kill(os.getpid(), signal.SIGKILL)

    sys.addaudithook(count)


def wait_for(condition: Callable[[], object], seconds: float = 240) -> None:
    """Return as soon as `condition()` holds; fail after `seconds`."""
    end = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < end, f"not within {seconds} s"
        time.sleep(0.001)


def stop_when(condition: Callable[[], object], process: int, later: float) -> None:
    """Stop a child at a moment at which `condition()` holds: `later` seconds after it was seen to hold, or the next time."""
    while True:
        wait_for(condition)
        time.sleep(later)
        os.kill(process, signal.SIGSTOP)
        os.waitid(os.P_PID, process, os.WSTOPPED | os.WEXITED | os.WNOWAIT)
        if condition():
            return
        os.kill(process, signal.SIGCONT)


def options(program: str, counted: str) -> ArgumentParser:
    """The options of a command that counts."""
    parser = ArgumentParser(prog=f"python -m {program}")
    parser.add_argument("count", type=int, help=f"number of {counted}")
    parser.add_argument("--processes", type=int, default=1)
    return parser


def spread(work: Callable[[Part], Result], parts: Iterable[Part], processes: int) -> Iterator[Result]:
    """`work(part)` for each part, in order, in new processes on two cores each, which inherit neither threads nor locks."""
    spawned = multiprocessing.get_context("spawn")
    with ProcessPoolExecutor(processes, spawned, _take_cores, (spawned.Value("i"),)) as pool:
        yield from pool.map(work, parts)


def tally(
    work: Callable[[range], tuple[Counter[str], list[str]]], parts: Iterable[range], processes: int
) -> tuple[Counter[str], int]:  # fmt: skip
    """The counts that `work` gives for all parts together, and the number of faults, which are printed when they are found."""
    total, faulty = Counter[str](), 0
    for counts, faults in spread(work, parts, processes):
        total += counts
        faulty += len(faults)
        print("".join(f"{fault}\n" for fault in faults), end="", flush=True)
    return total, faulty


def _take_cores(taken: Any) -> None:
    """Use two cores, so that pools of threads are small; the next process has the second one, too."""
    cores = sorted(os.sched_getaffinity(0))
    with taken.get_lock():
        first, taken.value = taken.value, taken.value + 1
    os.sched_setaffinity(0, {cores[number % len(cores)] for number in (first, first + 1)})


def parts_of(count: int, size: int, first: int = 0) -> list[range]:
    """The numbers from `first` on, in parts of `size`."""
    return [range(begin, min(begin + size, first + count)) for begin in range(first, first + count, size)]
