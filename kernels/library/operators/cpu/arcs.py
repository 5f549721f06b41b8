"""`advance` on the CPU."""

# mypy: disable-error-code="no-untyped-def"
from typing import Any

import numpy as np

from kernels.cpu.compiled import UNCOUNTED, njit
from kernels.library.operators.constants import CHUNK, DENSE, SPARSE, WARP_DEGREE
from kernels.library.operators.cpu.compiled import compiled
from kernels.library.operators.cpu.orders import COMBINE, fold_lanes
from kernels.library.operators.cpu.updates import ALLOCATING
from kernels.library.operators.cpu.vertices import note
from kernels.library.operators.functions.tree import Function


def advancing(before: Function | None, edge: Function, after: Function | None, collect: str | None, start: Any) -> Any:
    """Compiled loop over the arcs of items; `start` is the value of no arcs, which is None without `collect`.

    Its parameters: the frontier's form, list and flags; the arcs' offsets, indices and weights; the degrees' offsets; the
    captured values of the three functions; the rows' own values and totals between segments; (segment, segments, round);
    what is found: flags, queue and its length; the range; the record of a failure.
    """
    call_before = compiled(before) if before else _nothing_before
    call_after = compiled(after) if after else _nothing_after
    put_edge, put_after = collect is None and edge.result == "b", after is not None and after.result == "b"
    over_arcs = _over_arcs(compiled(edge), collect, start, put_edge)
    first = np.int64(0) if start is None else start

    @njit(**UNCOUNTED, cache=True)
    def loop(items, arcs, degrees, captured, kept, turn, entered, begin, end, fault):
        kind, rows, flags = items
        owns, totals = kept
        segment, segments, turn_round = turn
        for item in range(begin, end):
            row = np.int64(rows[item]) if kind == SPARSE else np.int64(item)
            if kind == DENSE and not flags[row]:
                continue
            degree = np.int64(degrees[row + 1] - degrees[row])
            if segment == 0:
                site, own = call_before(row, degree, turn_round, captured[0], fault)
                if site:
                    note(fault, row, 0, -1, site)
                    return
                total = first
                if segments > 1:
                    owns[row] = own
            else:
                own, total = owns[row], totals[row]
            site, total = over_arcs(row, arcs, own, turn_round, total, captured[1], entered, fault)
            if site:
                return
            if segment < segments - 1:
                totals[row] = total
                continue
            site, enters = call_after(row, degree, total, own, turn_round, captured[2], fault)
            if site:
                note(fault, row, 2, -1, site)
                return
            if put_after and enters:
                put(entered, row)

    return loop


def repeating(loop: Any) -> Any:
    """Compiled rounds of `loop` over small lists, by one thread: (number of rounds, size of the frontier that is left).

    It ends before a frontier of more than `most_rows`, or of more rows and arcs than `most_work`. `listed` has the first
    `size` rows, and the frontier that is left when it ends; the flags and the queue of `entered` are free before and after.
    """

    @njit(**UNCOUNTED, cache=True)
    def rounds(listed, size, arcs, degrees, captured, kept, entered, limits, fault):
        (flags, queue, length), (done, most, most_rows, most_work) = entered, limits
        while 0 < size <= most_rows and done < most:
            work = size
            for item in range(size):
                work += np.int64(degrees[listed[item] + 1] - degrees[listed[item]])
            if work > most_work:
                break
            done += 1
            loop((SPARSE, listed[:size], flags), arcs, degrees, captured, kept, (0, 1, done), entered, 0, size, fault)
            if fault[3]:
                break
            size = length[0]
            length[0] = 0
            for item in range(size):
                listed[item] = queue[item]
                flags[queue[item]] = False
        return done, size

    return rounds


@njit(**UNCOUNTED)
def _nothing_before(row, degree, turn_round, captured, fault):
    return 0, np.int64(0)


@njit(**UNCOUNTED)
def _nothing_after(row, degree, total, own, turn_round, captured, fault):
    return 0, False


@njit(**UNCOUNTED)
def put(entered, row):
    """Add a row to what is found, once; the queue is empty where several threads write flags."""
    flags, queue, length = entered
    if not flags[row]:
        flags[row] = True
        if len(queue):
            queue[length[0]] = row
            length[0] += 1


def _over_arcs(call: Any, collect: str | None, start: Any, puts: bool) -> Any:
    """The loop over the arcs of a row: (number of the failed check or 0, total)."""

    @njit(**UNCOUNTED)
    def call_at(row, arc, arcs, own, turn_round, captured, fault):
        offsets, indices, weights = arcs
        weight = weights[arc] if len(weights) else weights.dtype.type(1)
        site, value = call(
            row, np.int64(indices[arc]), weight, arc, arc - np.int64(offsets[row]), own, turn_round, captured, fault
        )
        if site:
            note(fault, row, 1, arc, site)
        return site, value

    if collect in ("sum", "product") and start.dtype.kind == "f":
        return _in_order(call_at, COMBINE[collect], start)
    combine = COMBINE.get(collect or "", COMBINE["sum"])
    first, collects = collect == "first", collect is not None and collect != "first"
    to = np.int64 if start is None else type(start)

    @njit(**UNCOUNTED)
    def loop(row, arcs, own, turn_round, total, captured, entered, fault):
        for arc in range(np.int64(arcs[0][row]), np.int64(arcs[0][row + 1])):
            site, value = call_at(row, arc, arcs, own, turn_round, captured, fault)
            if site:
                return site, total
            if collects:
                total = combine(total, to(value))
            elif first:
                if value:
                    return 0, to(arc)
            elif puts and value:
                put(entered, arcs[1][arc])
        return 0, total

    return loop


def _in_order(call_at: Any, combine: Any, start: Any) -> Any:
    """Float sums and products in the order of `orders.py`: rows of fewer than 32 arcs from the first arc on."""
    to = type(start)

    @njit(**ALLOCATING)
    def loop(row, arcs, own, turn_round, total, captured, entered, fault):
        begin, end = np.int64(arcs[0][row]), np.int64(arcs[0][row + 1])
        if end - begin < WARP_DEGREE:
            part = start
            for arc in range(begin, end):
                site, value = call_at(row, arc, arcs, own, turn_round, captured, fault)
                if site:
                    return site, total
                part = combine(part, to(value))
            return 0, part
        lanes = np.empty(32, np.dtype(to))
        for chunk in range(begin, end, CHUNK):
            lanes[:] = start
            stop = end if end < chunk + CHUNK else chunk + CHUNK
            for arc in range(chunk, stop):
                site, value = call_at(row, arc, arcs, own, turn_round, captured, fault)
                if site:
                    return site, total
                lane = (arc - chunk) & 31
                lanes[lane] = combine(lanes[lane], to(value))
            part = fold_lanes(lanes, combine)
            total = part if chunk == begin else combine(total, part)
        return 0, total

    return loop
