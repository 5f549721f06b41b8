"""Communities over shards: the rounds of one rank, in each of which ghosts get the labels of their owners.

A row that has moved wakes its neighbours; those that are ghosts here are sent to their owners. In the rounds in which only one of
neighbouring rows moves, owners also send which rows would move.
"""

from typing import Any

import numpy as np

from kernels.answers import Components
from kernels.arrays import on_gpu
from kernels.communities.constants import FREE_ROUNDS
from kernels.communities.rounds import propagate, state_of
from kernels.components.sharded.naming import smallest_ids
from kernels.distributed import Communicator, Halo, Owners, Shard, ShardAnswer
from kernels.distributed.columns import indexed
from kernels.distributed.searching import places_upto
from kernels.graph import Array


def communities(shard: Shard, communicator: Communicator) -> ShardAnswer[Components]:
    """Find the communities of the own rows, as `kernels.communities.communities`. A collective."""
    rounds = _Rounds(shard, communicator, _backend_of(on_gpu(shard.out, "communities over shards")))
    supersteps = propagate(rounds.prefer, rounds.move)
    owners, rows = Owners.evenly(shard.num_vertices, communicator), shard.local_rows[: len(shard.ids)]
    return ShardAnswer(Components(smallest_ids(owners, rounds.labels, shard.positions, rows)), supersteps)


def _backend_of(gpu: bool) -> Any:
    if gpu:
        from kernels.communities.sharded import cuda

        return cuda
    from kernels.communities import cpu

    return cpu


class _Rounds:
    """A rank's part of the rounds. The methods are collective.

    Attributes:
        labels (index width [n]): Of the own rows, as positions.
    """

    def __init__(self, shard: Shard, communicator: Communicator, backend: Any):
        self._halo, self._backend, self._num_own = Halo(shard, communicator), backend, len(shard.ids)
        out = shard.local_out.first_rows(self._num_own)
        into = out if shard.symmetric else shard.local_into.first_rows(self._num_own)
        self._voters = backend.voters_of(out, into)
        positions = np.concatenate([shard.positions, shard.ghost_positions])
        self._state = state_of(positions)
        self._number(positions)

    @property
    def labels(self) -> Array:
        """See the class."""
        own: Array = self._distinct[self._state.labels[: self._num_own]]
        return own

    def prefer(self, number: int) -> int:
        """As `kernels.communities.cpu.prefer`, of all ranks."""
        return self._halo.communicator.sum(int(self._backend.prefer(self._voters, self._state, number)))

    def move(self, number: int) -> None:
        """As `kernels.communities.cpu.move`."""
        own, state = self._num_own, self._state
        if number > FREE_ROUNDS:
            state.moves[own:] = self._halo.refresh(state.moves[:own])
        self._backend.move(self._voters, state, number)
        (woken,) = self._halo.send(np.flatnonzero(state.active[own:]))
        state.active[own:] = 0
        state.active[woken] = 1
        of_ghosts = self._halo.refresh(self.labels)
        places = np.maximum(places_upto(self._distinct, of_ghosts) - 1, 0)
        if (self._distinct[places] == of_ghosts).all():
            state.labels[own:] = places
        else:
            self._number(np.concatenate([self.labels, of_ghosts]))

    def _number(self, labels: Array) -> None:
        """Number the labels of the own rows and of the ghosts, from 0, so that they compare as before."""
        self._distinct, numbers = indexed(labels)
        self._state = self._state._replace(labels=numbers)
