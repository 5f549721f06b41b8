"""Label propagation on all cores. A label is the position of a row, so that labels compare like external ids.

A row is looked at again only if a neighbour's label has changed since.
"""

from collections.abc import Callable
from functools import partial
from typing import NamedTuple

import numpy as np

from kernels.answers import Components
from kernels.arrays import frozen
from kernels.communities.constants import FREE_ROUNDS
from kernels.components.naming import smallest_ids
from kernels.cpu.compiled import njit
from kernels.cpu.parallel import over_items, ranges_of_rows
from kernels.graph import Array, Csr, Graph

Arcs = tuple[Array, Array]


class VoterState(NamedTuple):
    """What rows know of each other."""

    positions: Array  # index width [V]
    labels: Array  # index width [V]: positions
    active: Array  # uint8 [V]: whether the row may prefer another label
    preferred: Array  # index width [V]
    moves: Array  # uint8 [V]: whether the row prefers another label, in this round's class


def solve(graph: Graph) -> Components:
    """Answer `kernels.communities.communities` on NumPy arrays."""
    state = state_of(graph.positions)
    sides = [arcs_of(graph.out), arcs_of(graph.into) if not graph.symmetric else _no_arcs(graph)]
    parts = ranges_of_rows(graph.out.offsets)

    def prefer(number: int) -> int:
        return sum(over_items(parts, lambda part: _prefer(*sides, state, number, part)))

    propagate(prefer, lambda number: over_items(parts, lambda part: _move(*sides, state, number, part)))
    return Components(smallest_ids(graph, state.labels))


def propagate(prefer: Callable[[int], int], move: Callable[[int], object]) -> int:
    """Run rounds until no row prefers another label; return their number.

    Args:
        prefer: `prefer(round)` sets what rows of the round's class prefer, and returns how many of them another label.
        move: `move(round)` lets them move.
    """
    number, quiet = 0, 0
    while quiet < 2:  # in both classes, or in a round of all rows
        number += 1
        moving = prefer(number)
        quiet = 0 if moving else 2 if number > FREE_ROUNDS else quiet + 1
        if moving:
            move(number)
    return number


def state_of(positions: Array) -> VoterState:
    """Every row has its own label."""
    flags = partial(np.ones, len(positions), np.uint8)
    return VoterState(frozen(positions), positions.copy(), flags(), positions.copy(), flags())


def arcs_of(csr: Csr) -> Arcs:
    """Offsets and indices."""
    return frozen(csr.offsets), frozen(csr.indices)


def _no_arcs(graph: Graph) -> Arcs:
    return frozen(np.zeros_like(graph.out.offsets)), frozen(graph.out.indices[:0])


@njit(cache=True, nogil=True)
def _key(position: int, number: int) -> np.uint64:
    """Hash of a position and a round, distinct for each position: the finalizer of SplitMix64."""
    key = np.uint64(position) + np.uint64(number) * np.uint64(0x9E3779B97F4A7C15)
    key = (key ^ (key >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    key = (key ^ (key >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return key ^ (key >> np.uint64(31))


@njit(cache=True, nogil=True)
def _prefer(out: Arcs, into: Arcs, state: VoterState, number: int, part: tuple[int, int]) -> int:
    """Set what active rows of a range prefer, those of the round's class; return how many prefer another label."""
    positions, labels, active, preferred, moves = state
    votes = np.zeros(len(labels), np.int32)
    moving = 0
    for row in range(*part):
        moves[row] = 0
        in_turn = number > FREE_ROUNDS or (_key(positions[row], 0) >> np.uint64(63)) == np.uint64(number & 1)
        if not active[row] or not in_turn:
            continue
        active[row] = 0
        for offsets, indices in (out, into):
            for arc in range(offsets[row], offsets[row + 1]):
                votes[labels[indices[arc]]] += indices[arc] != row
        best = labels[row]
        for offsets, indices in (out, into):
            for arc in range(offsets[row], offsets[row + 1]):
                label = labels[indices[arc]]
                if votes[label] > votes[best] or (votes[label] == votes[best] and best != labels[row] and label < best):
                    best = label
        for offsets, indices in (out, into):
            for arc in range(offsets[row], offsets[row + 1]):
                votes[labels[indices[arc]]] = 0
        if best != labels[row]:
            preferred[row], moves[row] = best, 1
            moving += 1
    return moving


@njit(cache=True, nogil=True)
def _move(out: Arcs, into: Arcs, state: VoterState, number: int, part: tuple[int, int]) -> None:
    """Let the rows of a range move that may, and look at their neighbours again."""
    positions, labels, active, preferred, moves = state
    for row in range(*part):
        if not moves[row]:
            continue
        may = True
        if number > FREE_ROUNDS:
            own = _key(positions[row], number)
            for offsets, indices in (out, into):
                for arc in range(offsets[row], offsets[row + 1]):
                    other = indices[arc]
                    may &= not moves[other] or other == row or _key(positions[other], number) > own
        if may:
            labels[row] = preferred[row]
            for offsets, indices in (out, into):
                for arc in range(offsets[row], offsets[row + 1]):
                    active[indices[arc]] = 1
        else:
            active[row] = 1
