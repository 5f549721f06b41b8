"""Values of rows between their owners and the ranks that have them as ghosts: the halo exchange of domain decomposition."""

from itertools import accumulate
from typing import NamedTuple
from weakref import ref

import numpy as np

from kernels.derived import Derived
from kernels.distributed.columns import distinct, exchange_columns, lower_at
from kernels.distributed.communicator import Communicator
from kernels.distributed.shard import Shard
from kernels.graph import Array

_NONE, _SENT = -1, -2  # instead of a row: whether a rank sends any


class _Exchanged(NamedTuple):
    """What a shard keeps of the last halo; all ranks have it or none."""

    communicator: ref[Communicator]
    mirrored: list[Array]
    all_mirrored: Array
    derived: Derived


class Halo:
    """Which own rows every other rank has as ghosts. The constructor is collective, as are the methods.

    The shard keeps what was exchanged, so that the next halo of the same communicator exchanges nothing.

    Attributes:
        mirrored (list of arrays, one per rank): The own rows that the rank has as ghosts: local rows, ascending.
        all_mirrored (index width [sum of their lengths]): The same arrays, as parts of one.
        derived: Values derived from the halo, kept as long as the shard keeps what was exchanged.
    """

    def __init__(self, shard: Shard, communicator: Communicator):
        self.shard, self.communicator = shard, communicator
        kept = shard.derived.get(Halo, self._exchange)
        if kept.communicator() is not communicator:
            kept = self._exchange()
            shard.derived.put(Halo, kept)
        self.mirrored, self.all_mirrored, self.derived = kept.mirrored, kept.all_mirrored, kept.derived
        self._cuts = list(accumulate(map(len, self.mirrored)))[:-1]

    def refresh(self, own: Array) -> Array:
        """Return the ghosts' values, [g] or [g, K], from their owners' `own`, [n] or [n, K], of one type on all ranks."""
        ghosts = np.empty_like(own, shape=(self.shard.num_ghosts, *own.shape[1:]))
        sent, received = np.split(own[self.all_mirrored], self._cuts), self.shard.by_owner(ghosts)
        self.communicator.exchange([part.reshape(-1) for part in sent], [part.reshape(-1) for part in received])
        return ghosts

    def extended(self, own: Array) -> Array:
        """Return the values of the own rows, unchanged, and of the ghosts, from their owners: [n + g] or [n + g, K]."""
        return np.concatenate([own, self.refresh(own)])

    def send(self, ghosts: Array, *columns: Array) -> list[Array]:
        """Send their owners the entries of `columns` [g] for some ghosts, numbered from 0, ascending.

        Returns what was received: the own rows, as local rows, which may repeat, and the columns.
        """
        cuts = self._owners_begin(ghosts)
        sent = (np.split(column[ghosts], cuts) for column in (self.shard.ghosts, *columns))
        rows, *received = exchange_columns(self.communicator, *sent)
        return [rows - self.shard.rows.start, *received]

    def lower(self, values: Array, ghosts: Array) -> Array:
        """Lower the values of own rows to what other ranks found for them as ghosts.

        Args:
            values ([n + g]): Of the own rows and the ghosts, none negative; those of own rows are lowered.
            ghosts (int64 [C]): The ghosts whose values are sent to their owners, numbered from 0, ascending.

        Returns:
            index width [L]: The own rows that were lowered: local rows, ascending, distinct.
        """
        return self._lowered(values, *self.send(ghosts, values[len(self.shard.ids) :]))

    def lower_and_tell(self, values: Array, ghosts: Array) -> tuple[Array, bool]:
        """`lower`, and whether any rank sent a ghost: each sends its peers this fact as a first row, in the same exchange."""
        cuts = self._owners_begin(ghosts)
        mark = np.array([_SENT if len(ghosts) else _NONE], self.shard.ghosts.dtype, like=ghosts)
        rows = [np.concatenate([mark, part]) for part in np.split(self.shard.ghosts[ghosts], cuts)]
        first, lowered = np.zeros(1, values.dtype, like=values), values[len(self.shard.ids) + ghosts]
        sent = [np.concatenate([first, part]) for part in np.split(lowered, cuts)]
        received, proposed = exchange_columns(self.communicator, rows, sent)
        is_row = received >= 0
        return self._lowered(values, received[is_row] - self.shard.rows.start, proposed[is_row]), bool((received == _SENT).any())

    def _owners_begin(self, ghosts: Array) -> list[int]:
        """Where the ghosts of each rank but the first begin among some, which are ascending."""
        bounds = np.asarray(self.shard.ghost_bounds[1:-1], like=ghosts)
        places: list[int] = np.searchsorted(ghosts, bounds).tolist()
        return places

    @staticmethod
    def _lowered(values: Array, own: Array, proposed: Array) -> Array:
        less = np.flatnonzero(proposed < values[own])
        own = own[less]
        lower_at(values, own, proposed[less])
        return distinct(own)

    def _exchange(self) -> _Exchanged:
        shard = self.shard
        received = self.communicator.exchange(shard.by_owner(shard.ghosts))
        cuts, mirrored = list(accumulate(map(len, received)))[:-1], np.concatenate(received)
        mirrored -= shard.rows.start
        return _Exchanged(ref(self.communicator), np.split(mirrored, cuts), mirrored, Derived())
