"""`compute`, `filter` and `reduce` on the CPU."""

# mypy: disable-error-code="no-untyped-def"
from typing import Any

import numpy as np

from kernels.cpu.compiled import UNCOUNTED, njit
from kernels.graph import Array
from kernels.library.operators.constants import CHUNK, DENSE, SPARSE
from kernels.library.operators.cpu.compiled import compiled
from kernels.library.operators.cpu.orders import fold_lanes
from kernels.library.operators.cpu.updates import ALLOCATING
from kernels.library.operators.functions.tree import Function


@njit(**UNCOUNTED)
def note(fault: Array, row: int, stage: int, arc: int, site: int) -> None:
    """Record a failure; its values are in `fault` already."""
    fault[0], fault[1], fault[2], fault[3] = row, stage, arc, site


def computing(function: Function) -> Any:
    """Compiled loop: call the function for rows."""
    call = compiled(function)

    @njit(**UNCOUNTED, cache=True)
    def loop(kind, rows, flags, offsets, begin, end, captured, fault):
        for item in range(begin, end):
            row = np.int64(rows[item]) if kind == SPARSE else item
            if kind == DENSE and not flags[row]:
                continue
            site, _ = call(row, offsets[row + 1] - offsets[row], captured, fault)
            if site:
                note(fault, row, 0, -1, site)
                return

    return loop


def filtering(function: Function) -> Any:
    """Compiled loop: write to `verdicts` whether the function holds, for each item: a row, or a place in a list of rows."""
    call = compiled(function)

    @njit(**UNCOUNTED, cache=True)
    def loop(kind, rows, flags, offsets, begin, end, captured, fault, verdicts):
        size = 0
        for item in range(begin, end):
            row = np.int64(rows[item]) if kind == SPARSE else item
            verdicts[item] = False
            if kind == DENSE and not flags[row]:
                continue
            site, holds = call(row, offsets[row + 1] - offsets[row], captured, fault)
            if site:
                note(fault, row, 0, -1, site)
                return size
            verdicts[item] = holds
            size += holds
        return size

    return loop


def reducing(function: Function, combine: Any, start: Any) -> Any:
    """Compiled loop: combine the function's values over chunks `begin..end-1` of CHUNK items, one result for each."""
    call = compiled(function)
    to = type(start)

    @njit(**ALLOCATING, cache=True)
    def loop(kind, rows, flags, offsets, begin, end, captured, fault, made):
        lanes = np.empty(32, made.dtype)
        items = len(rows) if kind == SPARSE else len(offsets) - 1
        for chunk in range(begin, end):
            lanes[:] = start
            for item in range(CHUNK * chunk, min(CHUNK * chunk + CHUNK, items)):
                row = np.int64(rows[item]) if kind == SPARSE else item
                if kind == DENSE and not flags[row]:
                    continue
                site, value = call(row, offsets[row + 1] - offsets[row], captured, fault)
                if site:
                    note(fault, row, 0, -1, site)
                    return
                lanes[item & 31] = combine(lanes[item & 31], to(value))
            made[chunk] = fold_lanes(lanes, combine)

    return loop
