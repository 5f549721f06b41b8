"""Which functions of arcs can be called in the order of tiles, and what a block then holds."""

import numpy as np
import pytest

from kernels.library.operators import atomic_add, atomic_max, atomic_min
from kernels.library.operators.functions.accesses import held_arrays
from kernels.library.operators.functions.captured import named, values_of
from kernels.library.operators.functions.front_end import lower

OFFERED = dict.fromkeys(("row", "neighbour", "weight", "arc", "place", "own"), "i")
ROWS = 10
x, y, short = np.zeros(ROWS), np.zeros(ROWS, np.int64), np.zeros(3, np.int64)


def reads_two(neighbour, row):
    return x[neighbour] + y[neighbour] * y[row]


def updates(neighbour, weight):
    if weight < y[neighbour] and atomic_min(y, neighbour, weight):
        return x[y[neighbour]] > 0
    return False


def reads_elsewhere(row, neighbour):
    return y[row] + short[neighbour]


def writes_the_row(row, neighbour):
    x[row] = y[neighbour]


def counts(neighbour):
    atomic_add(short, 0, y[neighbour])


def in_a_loop(neighbour):
    for k in range(3):
        atomic_max(y, neighbour, k)


def writes(neighbour):
    y[neighbour] = 1


def adds(neighbour):
    atomic_add(y, neighbour, 1)


def both_ways(neighbour):
    atomic_min(y, neighbour, 1)
    atomic_max(y, neighbour, 1)


def changes_elsewhere_too(row, neighbour):
    atomic_min(y, row, y[neighbour])


def updates_elsewhere_too(row, neighbour):
    atomic_min(y, neighbour, 5)
    atomic_min(y, row, 5)


def numbers_arcs(neighbour, arc):
    return y[neighbour] + arc


def numbers_places(neighbour, place):
    return y[neighbour] + place


@pytest.mark.parametrize(
    ("function", "held"),
    [
        (reads_two, {"x": "", "y": ""}),
        (updates, {"y": "atomic_min"}),
        (reads_elsewhere, {}),
        (writes_the_row, {"y": ""}),
        (counts, {"y": ""}),
        (in_a_loop, {"y": "atomic_max"}),
        *[(each, None) for each in (writes, adds, both_ways, changes_elsewhere_too, updates_elsewhere_too)],
        (numbers_arcs, None),
        (numbers_places, None),
    ],
)
def test_held_arrays(function, held):
    assert held_arrays(lower(function, OFFERED, named(function, values_of(function)), ROWS)) == held
