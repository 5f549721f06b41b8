"""A round on the GPU (rounds.cu): three launches, for the rows that need a block, for all others, and for those that move."""

from typing import Any, NamedTuple

import cupy
import numpy as np

from kernels.communities.constants import THREADS
from kernels.communities.cuda import tables_of
from kernels.communities.rounds import VoterState
from kernels.gpu.loader import launch, pointer
from kernels.graph import Array, Csr

_SOURCE = "communities/sharded/rounds.cu"


class VotersByDegree(NamedTuple):
    """The arcs that count, and how their rows are counted."""

    arcs: tuple[Any, ...]  # offsets and indices of out-arcs and in-arcs, in the order of the kernels' arguments
    tabled: Array  # see `kernels.communities.cuda.tables_of`, as the next two
    slots: Array
    ends: tuple[np.int64, ...]
    rows: int  # that vote


def voters_of(out: Csr, into: Csr) -> VotersByDegree:
    """As `kernels.communities.cpu.voters_of`."""
    of_into: tuple[Any, ...] = (pointer(None), pointer(None)) if into is out else (into.offsets, into.indices)
    return VotersByDegree((out.offsets, out.indices, *of_into), *tables_of(out, into), len(out.offsets) - 1)


def prefer(voters: VotersByDegree, state: VoterState, number: int) -> int:
    """As `kernels.communities.cpu.prefer`."""
    arcs, tabled, slots, (large, by_blocks, all_tabled), rows = voters
    row, of_round = state.labels.dtype, (np.int64(number), *state)
    state.moves.fill(0)
    if by_blocks:
        num_slots = max(1, int(slots[-1]))
        tables, votes = cupy.empty(num_slots, row), cupy.empty(num_slots, np.uint32)
        counted = *arcs, tabled, slots, large, by_blocks, *of_round, tables, votes
        launch(_SOURCE, "prefer_by_blocks", THREADS, THREADS * int(by_blocks), *counted, ROW=row)
    counted = *arcs, tabled, by_blocks, all_tabled, np.int64(rows), *of_round
    launch(_SOURCE, "prefer_by_warps", THREADS, max(rows, 32 * int(all_tabled - by_blocks)), *counted, ROW=row)
    return int(state.moves.sum())


def move(voters: VotersByDegree, state: VoterState, number: int) -> None:
    """As `kernels.communities.cpu.move`."""
    of_round = np.int64(voters.rows), np.int64(number), *state
    launch(_SOURCE, "move", THREADS, voters.rows, *voters.arcs, *of_round, ROW=state.labels.dtype)
