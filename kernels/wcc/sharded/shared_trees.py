"""Trees of union-find that may have parts on several ranks: exchanged, joined and named, on GPUs."""

from collections.abc import Sequence
from itertools import accumulate
from typing import Any

import cupy
import numpy as np

from kernels.components.sharded.naming import name_by_rounds
from kernels.distributed import Communicator, Owners, Shard
from kernels.gpu.loader import launch, minus_ones
from kernels.gpu.sorting import sorted_by
from kernels.graph import OFFSET, Array

_SOURCE, _THREADS = "wcc/sharded/shared_trees.cu", 512
FIRST = 1  # slot of the first own row, after that of the giant component
_MANY = 1 << 16  # edges from which on duplicates are dropped before all ranks get them


class SharedTrees:
    """The trees of a shard that other ranks have parts of; shared_trees.cu describes numbers, entries and messages.

    Args:
        parent (index width [1 + n + g]): Union-find: the giant component, then the local rows.
    """

    def __init__(self, shard: Shard, parent: Array):
        self._shard, self._parent, self._row = shard, parent, parent.dtype
        self._control = cupy.zeros(3, OFFSET)

    def exchange(self, of_owners: Sequence[Array], communicator: Communicator) -> None:
        """Send the owners of ghosts the trees of these, and list the edges that other ranks' trees give. A collective.

        Rows that other ranks have in the giant component are put there. `of_owners` has for each owner its ghosts, of index
        width, in any order.
        """
        shard, numbers, listed = self._shard, minus_ones(self._parent.shape, self._row), cupy.concatenate(of_owners)
        roots, entries = cupy.empty(1 + len(listed), self._row), cupy.empty(2 * len(listed), self._row)
        ghosts = listed, np.int64(len(listed)), shard.ghosts, np.int64(FIRST + len(shard.ids))
        self._run("number_trees", len(listed), *ghosts, self._parent, numbers, roots, entries, self._control)
        cuts = list(accumulate(2 * len(part) for part in of_owners))[:-1]
        parts = communicator.exchange(cupy.split(entries, cuts))
        bounds, entries = [*accumulate((len(part) // 2 for part in parts), initial=0)], cupy.concatenate(parts)
        edges = cupy.empty((len(roots) + bounds[-1], 2), OFFSET)
        received = entries, np.int64(bounds[-1]), cupy.asarray(bounds), np.int32(len(parts)), np.int64(shard.rows.start - FIRST)
        self._run("list_edges", len(edges), *received, self._parent, numbers, roots, edges, self._control)
        self._roots, self._edges = roots, edges

    def name(self, names: Array, holders: Array, communicator: Communicator, gathered: int) -> int:
        """Join the trees of all ranks, and set `holders` at their roots to the row of smallest position. A collective.

        Args:
            names, holders (index width [1 + n + g]): The smallest position of a root's own rows, and the row that has it; the
                largest integer and NO_ROW if it has none.
            gathered: Most trees and edges, of all ranks together, that each rank may hold; if there are more, they are joined in
                rounds.

        Returns:
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
        described = roots, np.int64(trees), edges, np.int64(len(edges)), on_device[0], np.int32(communicator.rank)
        self._run("describe", max(trees, len(edges)), *described, self._parent, names, holders, message)
        total = int(bounds[:, -1].sum())
        if total > gathered:
            owners, (near, far) = Owners(bounds[0], communicator), message[2 * trees :].reshape(2, -1)
            positions, rows = message[: 2 * trees].reshape(2, -1).astype(self._row)
            holders[roots] = name_by_rounds(owners, near, far, positions, rows, gathered)
            return owners.supersteps
        messages = cupy.empty(2 * total, OFFSET)
        parts = cupy.split(messages, (2 * bounds.sum(axis=0))[1:-1].tolist())
        communicator.exchange([message] * communicator.size, parts)
        scratch = cupy.empty((3, int(bounds[0, -1])), OFFSET)
        given = messages, *on_device, np.int32(communicator.size), np.int32(communicator.rank), roots, *scratch, holders
        self._run("name_all", int(bounds[:, -1].max()), *given, self._control)
        return 1

    def _run(self, name: str, items: int, *arguments: Any) -> None:
        launch(_SOURCE, name, _THREADS, items, *arguments, ROW=self._row)


def _distinct(edges: Array) -> Array:
    """The edges [E, 2] without duplicates."""
    edges = edges[sorted_by(*edges.T)]
    differs = cupy.ones(len(edges), np.bool_)
    differs[1:] = (edges[1:] != edges[:-1]).any(axis=1)
    first: Array = edges[differs]
    return first
