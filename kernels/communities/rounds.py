"""The rounds of label propagation, and what rows know of each other in them."""

from collections.abc import Callable
from functools import partial
from typing import NamedTuple

import numpy as np

from kernels.arrays import frozen, is_cupy_array
from kernels.communities.constants import FREE_ROUNDS
from kernels.graph import Array


class VoterState(NamedTuple):
    """What rows know of each other: the V rows that vote and those that arcs lead to."""

    positions: Array  # index width [V]
    labels: Array  # index width [V]: less than V; they compare like positions
    active: Array  # uint8 [V]: whether the row may prefer another label
    preferred: Array  # index width [V]
    moves: Array  # uint8 [V]: whether the row prefers another label, in this round's class


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
    flags = partial(np.ones_like, positions, np.uint8)
    kept = positions if is_cupy_array(positions) else frozen(positions)
    return VoterState(kept, positions.copy(), flags(), positions.copy(), flags())
