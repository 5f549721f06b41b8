"""The search of a class from its label, when no arc into the class is left to be read, over all ranks."""

from __future__ import annotations

import numpy as np

from kernels.certificate.global_view import Whole
from kernels.certificate.local_arcs import passes
from kernels.distributed.halo import Halo
from kernels.graph import OFFSET, Array, Csr


class Peeling:
    """One direction's search. To make one is a collective, as is `search`.

    Parameters
    ----------
    whole : Whole
    halo : Halo
    arcs : Csr
        The own rows' arcs to local numbers.
    labels : index width [n + g]
        The classes; each label names itself.
    """

    def __init__(self, whole: Whole, halo: Halo, arcs: Csr, labels: Array):
        self.whole, self.halo, self.arcs = whole, halo, arcs
        self.num_own = len(whole.shard.ids)
        # A class that the rank knows has a number: the place of its label among `names`.
        self.names, classes = np.unique(labels, return_inverse=True)
        self.classes = classes.astype(labels.dtype)

    def search(self, *, waits: bool) -> Array:
        """Return which own rows are reached: bool [n]. Without waiting, every class is searched at once."""
        run = passes(self.whole.shard)
        rows = self.whole.rows
        own_name = (self.names >= rows.start) & (self.names < rows.stop)
        home = np.where(own_name, self.names - rows.start, -1).astype(self.names.dtype)
        read = np.zeros(len(self.names), OFFSET, like=self.names)  # arcs into a class, as long as its owner does not know
        waiting = np.zeros(self.num_own, OFFSET, like=self.names)  # arcs into the class that an own row names
        if waits:
            run.count_entering(self.arcs, self.classes, self.num_own, read)
            self._tell(read, waiting, 1)
        left = np.ones_like(self.classes, np.uint32, shape=(len(self.classes),))  # 0 where reached
        starts = home[own_name][waiting[home[own_name]] == 0]
        while self.whole.communicator.most(np.array([len(starts)]))[0]:
            before = left[self.num_own :].copy()
            left[starts] = 0
            run.peel(self.arcs, self.classes, home, self.num_own, waits, waiting, read, left, starts)
            reached = self.halo.lower(left, np.flatnonzero(left[self.num_own :] != before))
            released = self._tell(read, waiting, -1)
            starts = np.concatenate([reached, released[left[released] == 1].astype(reached.dtype)])
        return left[: self.num_own] == 0

    def _tell(self, read: Array, waiting: Array, sign: int) -> Array:
        """Tell the owners how many arcs into their classes were read, and forget it; the own rows whose class waits no more."""
        known = np.flatnonzero(read)
        here, count = self.whole.rows.tell(self.names[known].astype(OFFSET), read[known])
        read[known] = 0
        order = np.argsort(here)
        named, first = np.unique(here[order], return_index=True)
        sums = np.concatenate([np.zeros(1, OFFSET, like=count), np.cumsum(count[order])])
        stops = np.append(first[1:], np.full_like(first, len(here), shape=(min(len(first), 1),)))
        waiting[named] += sign * (sums[stops] - sums[first])
        return named[waiting[named] == 0]
