"""Values of rows between those who own them and those who have them as ghosts: the halo exchange of domain decomposition."""

from __future__ import annotations

import numpy as np

from kernels.graph import Array
from kernels.sharded.communicator import Communicator
from kernels.sharded.shard import Shard


class Halo:
    """Which own rows every other rank has as ghosts. To make one is a collective, as are its methods.

    Parameters
    ----------
    shard : Shard
    communicator : Communicator
    """

    def __init__(self, shard: Shard, communicator: Communicator):
        self.shard, self.communicator = shard, communicator
        asked = communicator.exchange(shard.by_owner(shard.ghosts))
        self._asked = [rows - shard.rows.start for rows in asked]

    def refresh(self, own: Array) -> Array:
        """Return the ghosts' values [g], as their owners have them in `own` [n]."""
        return np.concatenate(self.communicator.exchange([own[rows] for rows in self._asked]))

    def extended(self, own: Array) -> Array:
        """Return the values of the own rows, as they are, and of the ghosts, as their owners have them [n + g]."""
        return np.concatenate([own, self.refresh(own)])

    def lower(self, values: Array, ghosts: Array) -> Array:
        """Lower the values of rows to what the ranks found for their ghosts.

        Parameters
        ----------
        values : [n + g]
            Of the own rows and the ghosts; those of own rows are lowered.
        ghosts : int64 [C]
            Places, from 0 and ascending, of the ghosts whose values the owners shall know.

        Returns
        -------
        index width [L]
            The own rows that were lowered, by local numbers; ascending, each once.
        """
        shard = self.shard
        cuts = np.searchsorted(ghosts, np.asarray(shard.ghost_bounds[1:-1], like=ghosts)).tolist()
        rows = np.split(shard.ghosts[ghosts], cuts)
        proposed = np.split(values[len(shard.ids) :][ghosts], cuts)
        lowered = [shard.ghosts[:0]]
        for here, value in zip(self.communicator.exchange(rows), self.communicator.exchange(proposed), strict=True):
            own = here - shard.rows.start
            less = value < values[own]
            values[own[less]] = value[less]
            lowered.append(own[less])
        return np.unique(np.concatenate(lowered))
