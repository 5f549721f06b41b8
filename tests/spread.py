"""Long counts on many cores: parts of the work in processes of their own."""

import multiprocessing
from argparse import ArgumentParser
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import ProcessPoolExecutor
from typing import TypeVar

Part = TypeVar("Part")
Result = TypeVar("Result")


def options(program: str, counted: str) -> ArgumentParser:
    """The options of a command that counts."""
    parser = ArgumentParser(prog=f"python -m {program}")
    parser.add_argument("count", type=int, help=f"number of {counted}")
    parser.add_argument("--processes", type=int, default=1)
    return parser


def spread(work: Callable[[Part], Result], parts: Iterable[Part], processes: int) -> Iterator[Result]:
    """`work(part)` for each part, in order, in new processes, which inherit neither threads nor locks."""
    with ProcessPoolExecutor(processes, multiprocessing.get_context("spawn")) as pool:
        yield from pool.map(work, parts)


def parts_of(count: int, size: int, first: int = 0) -> list[range]:
    """The numbers from `first` on, in parts of `size`."""
    return [range(begin, min(begin + size, first + count)) for begin in range(first, first + count, size)]
