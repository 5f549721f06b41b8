"""Values of rows between those who own them and those who have them as ghosts: the halo exchange of domain decomposition."""

from __future__ import annotations

from collections.abc import Callable
from itertools import accumulate
from typing import Any, NamedTuple, TypeVar
from weakref import ref

import numpy as np

from kernels.distributed.columns import distinct, exchange_columns, lower_at
from kernels.distributed.communicator import Communicator
from kernels.distributed.shard import Shard
from kernels.graph import Array

Fact = TypeVar("Fact")


class _Known(NamedTuple):
    """What a shard keeps of the last halo: all ranks have it, or none."""

    communicator: ref[Communicator]
    asked: list[Array]
    all_asked: Array
    facts: dict[str, Any]


class Halo:
    """Which own rows every other rank has as ghosts. To make one is a collective, as are its methods but `kept`.

    The shard keeps what was exchanged, so that the next halo of the same communicator exchanges nothing.

    Parameters
    ----------
    shard : Shard
    communicator : Communicator

    Attributes
    ----------
    asked : list of arrays, one a rank
        The own rows that the rank has as ghosts, by local numbers, ascending.
    all_asked : index width [sum of their lengths]
        The same, one rank's after the other's.
    """

    def __init__(self, shard: Shard, communicator: Communicator):
        self.shard, self.communicator = shard, communicator
        known: _Known | None = vars(shard).get("_halo")
        if known is None or known.communicator() is not communicator:
            asked = [rows - shard.rows.start for rows in communicator.exchange(shard.by_owner(shard.ghosts))]
            known = vars(shard)["_halo"] = _Known(ref(communicator), asked, np.concatenate(asked), {})
        self.asked, self.all_asked, self._facts = known.asked, known.all_asked, known.facts
        self._cuts = list(accumulate(map(len, self.asked)))[:-1]

    def kept(self, name: str, find: Callable[[Halo], Fact]) -> Fact:
        """What `find` finds of the halo, found on the first call, and kept with what was exchanged."""
        if name not in self._facts:
            self._facts[name] = find(self)
        found: Fact = self._facts[name]
        return found

    def refresh(self, own: Array) -> Array:
        """Return the ghosts' values [g], as their owners have them in `own` [n], of any type that all ranks have."""
        ghosts = np.empty_like(own, shape=(self.shard.num_ghosts,))
        self.communicator.exchange(np.split(own[self.all_asked], self._cuts), self.shard.by_owner(ghosts))
        return ghosts

    def extended(self, own: Array) -> Array:
        """Return the values of the own rows, as they are, and of the ghosts, as their owners have them [n + g]."""
        return np.concatenate([own, self.refresh(own)])

    def lower(self, values: Array, ghosts: Array) -> Array:
        """Lower the values of rows to what the ranks found for their ghosts.

        Parameters
        ----------
        values : [n + g]
            Of the own rows and the ghosts, none negative; those of own rows are lowered.
        ghosts : int64 [C]
            Places, from 0 and ascending, of the ghosts whose values the owners shall know.

        Returns
        -------
        index width [L]
            The own rows that were lowered, by local numbers; ascending, each once.
        """
        shard = self.shard
        cuts = np.searchsorted(ghosts, np.asarray(shard.ghost_bounds[1:-1], like=ghosts)).tolist()
        told = np.split(shard.ghosts[ghosts], cuts), np.split(values[len(shard.ids) :][ghosts], cuts)
        rows, proposed = exchange_columns(self.communicator, *told)
        own = rows - shard.rows.start
        less = np.flatnonzero(proposed < values[own])
        own = own[less]
        lower_at(values, own, proposed[less])
        return distinct(own)
