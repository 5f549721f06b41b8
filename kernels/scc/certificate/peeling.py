"""Search of each class from its label over all ranks, in Kahn's order: once all arcs into the class have been read."""

import numpy as np

from kernels.certificate.global_view import GlobalView
from kernels.distributed.halo import Halo
from kernels.graph import OFFSET, Array, Csr
from kernels.scc.certificate import backend_of
from kernels.scc.certificate.cpu import ClassSearch


class Peeling:
    """One direction's search. Its construction and `search` are collective.

    Args:
        arcs: The own rows' arcs to local rows.
        labels (index width [n + g]): The classes; each label names itself.
    """

    def __init__(self, view: GlobalView, halo: Halo, arcs: Csr, labels: Array):
        self._view, self._halo, self._arcs = view, halo, arcs
        self._num_own = len(view.shard.ids)
        # A class on this rank is numbered by the place of its label in `names`.
        self._names, classes = np.unique(labels, return_inverse=True)
        self._classes = classes.astype(labels.dtype)

    def search(self, *, waits: bool) -> Array:
        """Return which own rows are reached: bool [n]. If not `waits`, every class is searched at once."""
        passes, rows, names, num_own = backend_of(self._arcs), self._view.rows, self._names, self._num_own
        own_name = (names >= rows.start) & (names < rows.stop)
        state = ClassSearch(
            self._classes,
            np.where(own_name, names - rows.start, -1).astype(names.dtype),
            np.zeros(num_own, OFFSET, like=names),
            np.zeros(len(names), OFFSET, like=names),
            np.ones_like(self._classes, np.uint32),
        )
        if waits:
            passes.count_entering(self._arcs, self._classes, num_own, state.read)
            self._send_read(state, 1)
        own_labels = state.label_rows[own_name]
        starts = own_labels[state.unread[own_labels] == 0]
        while self._view.any(len(starts) > 0):
            before = state.unreached[num_own:].copy()
            state.unreached[starts] = 0
            passes.search(self._arcs, state, waits, starts)
            reached = self._halo.lower(state.unreached, np.flatnonzero(state.unreached[num_own:] != before))
            released = self._send_read(state, -1)
            starts = np.concatenate([reached, released[state.unreached[released] == 1].astype(reached.dtype)])
        reached_own: Array = state.unreached[:num_own] == 0
        return reached_own

    def _send_read(self, state: ClassSearch, sign: int) -> Array:
        """Send the numbers of arcs read to the owners of the classes' labels, who add them to `unread` times `sign`.

        Returns the own labels whose classes have no more unread arcs, of those that a number came for; `read` is zeros again.
        """
        known = np.flatnonzero(state.read)
        here, count = self._view.rows.send(self._names[known].astype(OFFSET), state.read[known])
        state.read[known] = 0
        order = np.argsort(here)
        labels, first = np.unique(here[order], return_index=True)
        sums = np.concatenate([np.zeros(1, OFFSET, like=count), np.cumsum(count[order])])
        stops = np.append(first[1:], np.full_like(first, len(here), shape=(min(len(first), 1),)))
        state.unread[labels] += sign * (sums[stops] - sums[first])
        done: Array = labels[state.unread[labels] == 0]
        return done
