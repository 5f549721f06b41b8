"""Shortest paths of a run whose turns matter, from its split graph: the way to a crossing on one may be another than the table's.

That has the crossing before each crossing, on the shortest path to the latter.
"""

from functools import lru_cache

import numpy as np

from kernels.answers import Paths
from kernels.graph import NO_ROW
from kernels.registry import BY_NAME
from pipeline.cluster.protocol import TaskContext
from pipeline.errors import NoPath
from pipeline.steps.stored_graph import graph_of_run, turned_of_run
from pipeline.store.manifest import Folder


class TurnedPaths:
    """The shortest paths of a run; the search from the last source is kept."""

    def __init__(self, run: Folder, table: str) -> None:
        """Open the split graph; of table `bfs` distances are numbers of arcs, of `sssp` sums. Raises BadConfig if it is gone."""
        turned = turned_of_run(run.path, graph_of_run(run.path))
        assert turned
        context = TaskContext("cpu")
        self._rows, self._whole = turned.rows(context), turned.split_graph(context).graph
        self._streets, self._solver = turned.street_graph(context).graph, BY_NAME[table].resolve("solver")
        self._from = lru_cache(1)(self._search)

    def between(self, source: int, end: int) -> list[tuple[int, int]]:
        """The crossings of the shortest path between two, each with its distance from the first one along this path.

        Raises NoPath.
        """
        paths, crossing = self._from(source), self._crossing(end)
        row = int(self._rows.end[crossing])
        if paths.distance[row] < 0:
            raise NoPath(f"no path leads from {source} to {end}")
        if row != self._rows.begin[crossing]:
            row = int(paths.predecessor[row])
        way = []
        while row != NO_ROW:
            way.append((int(self._streets.ids[self._rows.crossing[row]]), int(paths.distance[row])))
            row = int(paths.predecessor[row])
        return way[::-1]

    def _search(self, source: int) -> Paths:
        paths: Paths = self._solver(self._whole, int(self._rows.begin[self._crossing(source)]))
        return paths

    def _crossing(self, vertex: int) -> int:
        return int(np.flatnonzero(self._streets.ids == vertex)[0])
