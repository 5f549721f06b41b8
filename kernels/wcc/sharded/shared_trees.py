"""Trees of union-find that several ranks may have parts of: told to each other, joined, and named, on GPUs."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import accumulate
from typing import Any

import cupy
import numpy as np

from kernels.distributed.communicator import Communicator
from kernels.distributed.naming import name_by_rounds
from kernels.distributed.owners import Owners
from kernels.distributed.shard import Shard
from kernels.gpu.loader import launch, minus_ones
from kernels.gpu.sorting import sorted_by
from kernels.graph import OFFSET, Array

_SOURCE, _THREADS = "wcc/sharded/shared_trees.cu", 512
FIRST = 1  # place of the first own row, behind the giant component's
_MANY = 1 << 16  # edges from which on copies are dropped before all ranks get them


class SharedTrees:
    """The trees of a shard that others have parts of; numbers, entries and messages are as shared_trees.cu says.

    Parameters
    ----------
    shard : Shard
    parent : index width [1 + n + g]
        Union-find: the giant component, and behind it the rows by their local numbers.
    """

    def __init__(self, shard: Shard, parent: Array):
        self._shard, self._parent, self._row = shard, parent, parent.dtype
        self._control = cupy.zeros(3, OFFSET)

    def meet(self, of_owners: Sequence[Array], communicator: Communicator) -> None:
        """Tell the owners of ghosts of which trees they are, and hear what other ranks tell. A collective.

        What others have in the giant component goes there, and the rest are edges. `of_owners` are ghosts, of index width, each
        owner's in any order.
        """
        shard, numbers, listed = self._shard, minus_ones(self._parent.shape, self._row), cupy.concatenate(of_owners)
        roots, entries = cupy.empty(1 + len(listed), self._row), cupy.empty(2 * len(listed), self._row)
        ghosts = listed, np.int64(len(listed)), shard.ghosts, np.int64(FIRST + len(shard.ids))
        self._run("tell", len(listed), *ghosts, self._parent, numbers, roots, entries, self._control)
        cuts = list(accumulate(2 * len(part) for part in of_owners))[:-1]
        told = communicator.exchange(cupy.split(entries, cuts))
        bounds, entries = [*accumulate((len(part) // 2 for part in told), initial=0)], cupy.concatenate(told)
        edges = cupy.empty((len(roots) + bounds[-1], 2), OFFSET)
        heard = entries, np.int64(bounds[-1]), cupy.asarray(bounds), np.int32(len(told)), np.int64(shard.rows.start - FIRST)
        self._run("hear", len(edges), *heard, self._parent, numbers, roots, edges, self._control)
        self._roots, self._edges = roots, edges

    def name(self, names: Array, holders: Array, communicator: Communicator, gathered: int) -> int:
        """Join the trees of all ranks, and let `holders` have for the roots of these the row of smallest rank. A collective.

        Parameters
        ----------
        names, holders : index width [1 + n + g]
            The smallest rank of a root's own rows, and the row that has it; the largest number and NO_ROW where it has none.
        communicator : Communicator
        gathered : int
            Most trees and edges, of all ranks together, that each rank may hold.

        Returns
        -------
        int
            Supersteps.
        """
        _, others, count = self._control.tolist()
        trees, roots, edges = 1 + others, self._roots[: 1 + others], self._edges[:count]
        if count >= _MANY or trees + count > gathered // communicator.size:
            edges = _distinct(edges)
        of_ranks = np.stack(communicator.gather(np.array([trees, len(edges)], OFFSET), alike=True))
        bounds = np.zeros((2, communicator.size + 1), OFFSET)
        np.cumsum(of_ranks, axis=0, out=bounds[:, 1:].T)
        on_device, message = cupy.asarray(bounds), cupy.empty(2 * (trees + len(edges)), OFFSET)
        here = roots, np.int64(trees), edges, np.int64(len(edges)), on_device[0], np.int32(communicator.rank)
        self._run("describe", max(trees, len(edges)), *here, self._parent, names, holders, message)
        total = int(bounds[:, -1].sum())
        if total > gathered:
            owners, (near, far) = Owners(bounds[0], communicator), message[2 * trees :].reshape(2, -1)
            ranks, rows = message[: 2 * trees].reshape(2, -1).astype(self._row)
            holders[roots] = name_by_rounds(owners, near, far, ranks, rows, gathered)
            return owners.supersteps
        messages = cupy.empty(2 * total, OFFSET)
        room = cupy.split(messages, (2 * bounds.sum(axis=0))[1:-1].tolist())
        communicator.exchange([message] * communicator.size, room)
        scratch = cupy.empty((3, int(bounds[0, -1])), OFFSET)
        given = messages, *on_device, np.int32(communicator.size), np.int32(communicator.rank), roots, *scratch, holders
        self._run("name_all", int(bounds[:, -1].max()), *given, self._control)
        return 1

    def _run(self, name: str, items: int, *arguments: Any) -> None:
        launch(_SOURCE, name, _THREADS, items, *arguments, ROW=self._row)


def _distinct(edges: Array) -> Array:
    """The edges [E, 2], each once."""
    edges = edges[sorted_by(*edges.T)]
    differs = cupy.ones(len(edges), np.bool_)
    differs[1:] = (edges[1:] != edges[:-1]).any(axis=1)
    return edges[differs]
