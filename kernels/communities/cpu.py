"""Label propagation on all cores. A label is the position of a row, so that labels compare like external ids.

A row is looked at again only if a neighbour's label has changed since.
"""

from functools import partial
from typing import NamedTuple

import numpy as np

from kernels.answers import Components
from kernels.arrays import frozen
from kernels.communities.constants import FREE_ROUNDS
from kernels.communities.rounds import VoterState, propagate, state_of
from kernels.components.naming import smallest_ids
from kernels.cpu.compiled import njit
from kernels.cpu.parallel import over_items, ranges_of_rows
from kernels.graph import Array, Csr, Graph

Arcs = tuple[Array, Array]


class Voters(NamedTuple):
    """The arcs that count."""

    out: Arcs
    into: Arcs  # none if in-arcs are the out-arcs
    parts: list[tuple[int, int]]  # ranges of the rows that vote, for threads


def solve(graph: Graph) -> Components:
    """Answer `kernels.communities.communities` on NumPy arrays."""
    voters, state = voters_of(graph.out, graph.into), state_of(graph.positions)
    propagate(partial(prefer, voters, state), partial(move, voters, state))
    return Components(smallest_ids(graph, state.labels))


def voters_of(out: Csr, into: Csr) -> Voters:
    """The arcs that count, of the rows that vote; `into` is `out` if the graph is symmetric."""
    none = frozen(np.zeros_like(out.offsets)), frozen(out.indices[:0])
    of_out, of_into = ((frozen(csr.offsets), frozen(csr.indices)) for csr in (out, into))
    return Voters(of_out, none if into is out else of_into, ranges_of_rows(out.offsets))


def prefer(voters: Voters, state: VoterState, number: int) -> int:
    """Set what rows prefer in a round; return how many prefer another label."""
    out, into, parts = voters
    return sum(over_items(parts, lambda part: _prefer(out, into, state, number, part)))


def move(voters: Voters, state: VoterState, number: int) -> None:
    """Let the rows move that may in a round; they and their neighbours become active."""
    out, into, parts = voters
    over_items(parts, lambda part: _move(out, into, state, number, part))


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
