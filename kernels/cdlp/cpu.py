"""Label propagation on all cores. A label is the position of a row, so that labels compare like external ids.

In the first round of a symmetric graph no labels need be counted: all differ, and arcs ascend by them. Afterwards a row is looked
at again only if a neighbour's label has changed in the last round, unless many have. Where a sample shows a majority, the votes
for this label alone are counted.
"""

import numpy as np

from kernels.answers import Components
from kernels.arrays import frozen
from kernels.cpu.compiled import UNCOUNTED, njit
from kernels.cpu.parallel import over_items, ranges_of_rows
from kernels.cpu.spare import Spare
from kernels.graph import Array, Csr, Graph

Arcs = tuple[Array, Array]  # offsets and indices
_MANY = 4  # if more than one row of so many gets another label, all are looked at again
_SAMPLE = 16  # arcs that show whether a label is likely to have most votes


def solve(graph: Graph, iterations: int) -> Components:
    """Answer `kernels.cdlp.cdlp` on NumPy arrays."""
    sides = sides_of(graph.out, graph.into)
    labels, waits = graph.positions, np.ones(graph.num_vertices, np.bool_)
    for done in range(iterations):
        after = propagated(sides, labels, waits) if done or not graph.symmetric else _after_first_round(sides, labels)
        waits = _woken(sides, labels, after)
        if not waits.any():
            break  # no label has changed, nor will later rounds change one
        labels = after
    return Components(graph.rows_by_id[labels])


def sides_of(out: Csr, into: Csr) -> tuple[Arcs, Arcs]:
    """Arcs that count: in-arcs only where they are not the out-arcs."""
    none = frozen(np.zeros_like(out.offsets)), frozen(out.indices[:0])
    of_out, of_into = ((frozen(csr.offsets), frozen(csr.indices)) for csr in (out, into))
    return of_out, none if into is out else of_into


def propagated(sides: tuple[Arcs, Arcs], labels: Array, waits: Array) -> Array:
    """The labels of the first `len(waits)` rows after a round.

    Args:
        sides: Out-arcs and in-arcs.
        labels (index width): Of all rows that arcs lead to; less than their number.
        waits (bool [n]): Whether a row may get another label.
    """
    after, counts = labels[: len(waits)].copy(), Spare(lambda: np.zeros(len(labels), np.int32))

    def of_range(part: tuple[int, int]) -> None:
        own = counts.take()
        _count(*sides, labels, waits, after, own, part)
        counts.release(own)

    over_items(ranges_of_rows(sides[0][0][: len(waits) + 1]), of_range)
    return after


def _after_first_round(sides: tuple[Arcs, Arcs], labels: Array) -> Array:
    """The labels of a symmetric graph's rows after its first round; those of rows with parallel arcs are counted."""
    after, repeats = labels.copy(), np.zeros(len(labels), np.bool_)
    over_items(ranges_of_rows(sides[0][0]), lambda part: _take_first(sides[0], labels, after, repeats, part))
    return np.where(repeats, propagated(sides, labels, repeats), after) if repeats.any() else after


def _woken(sides: tuple[Arcs, Arcs], labels: Array, after: Array) -> Array:
    """Whether a neighbour of each row got another label, or all rows if many did: bool [V]."""
    if np.count_nonzero(labels != after) * _MANY > len(labels):
        return np.ones(len(labels), np.bool_)
    waits = np.zeros(len(labels), np.bool_)
    over_items(ranges_of_rows(sides[0][0]), lambda part: _wake(*sides, labels, after, waits, part))
    return waits


@njit(cache=True, nogil=True)
def _count(out: Arcs, into: Arcs, labels: Array, waits: Array, after: Array, counts: Array, part: tuple[int, int]) -> None:
    """Set what the rows of a range get; `counts` has zeros before and after."""
    for row in range(*part):
        if not waits[row]:
            continue
        best, most = _likely_majority(out, into, labels, row), 0
        if best >= 0:
            after[row] = best
            continue
        best = labels[row]
        for offsets, indices in (out, into):
            for arc in range(offsets[row], offsets[row + 1]):
                if indices[arc] != row:
                    label = labels[indices[arc]]
                    counts[label] += 1
                    # the last of the best label's votes is counted against all others that have as many
                    if counts[label] > most or (counts[label] == most and label < best):
                        best, most = label, counts[label]
        for offsets, indices in (out, into):
            for arc in range(offsets[row], offsets[row + 1]):
                counts[labels[indices[arc]]] = 0
        after[row] = best


@njit(cache=True, **UNCOUNTED)
def _likely_majority(out: Arcs, into: Arcs, labels: Array, row: int) -> int:
    """The label that more than half of a row's arcs are votes for, if a sample shows it; otherwise -1."""
    begin, end = out[0][row], out[0][row + 1]
    into_begin, into_end = into[0][row], into[0][row + 1]
    if end - begin < _SAMPLE:
        return -1
    for label in (labels[row], labels[out[1][begin + (end - begin) // 2]]):
        if 2 * _votes(out[1], begin, begin + _SAMPLE, labels, label, row) >= _SAMPLE:
            votes = _votes(out[1], begin, end, labels, label, row) + _votes(into[1], into_begin, into_end, labels, label, row)
            if 2 * votes > end - begin + into_end - into_begin:
                return int(label)
    return -1


@njit(cache=True, **UNCOUNTED)
def _votes(indices: Array, begin: int, end: int, labels: Array, label: int, row: int) -> int:
    """How many of some arcs lead from a row to another one with this label."""
    votes: int = 0
    for arc in range(begin, end):
        votes += (labels[indices[arc]] == label) & (indices[arc] != row)
    return votes


@njit(cache=True, nogil=True)
def _take_first(arcs: Arcs, labels: Array, after: Array, repeats: Array, part: tuple[int, int]) -> None:
    """Give the rows of a range the label of their first neighbour, the smallest, and find those that have a neighbour twice."""
    offsets, indices = arcs
    for row in range(*part):
        before, takes = row, True
        for arc in range(offsets[row], offsets[row + 1]):
            other = indices[arc]
            if other != row:
                if takes:
                    after[row], takes = labels[other], False
                elif other == before:
                    repeats[row] = True
                    break
            before = other


@njit(cache=True, nogil=True)
def _wake(out: Arcs, into: Arcs, labels: Array, after: Array, waits: Array, part: tuple[int, int]) -> None:
    """Let the neighbours of a range's rows wait whose labels have changed."""
    for row in range(*part):
        if after[row] != labels[row]:
            for offsets, indices in (out, into):
                for arc in range(offsets[row], offsets[row + 1]):
                    waits[indices[arc]] = True
