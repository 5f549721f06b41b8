"""A shortest path of a run whose turns matter, from its split graph: the way to a crossing on it may be another than the table's.

That has the crossing before each crossing, on the shortest path to the latter.
"""

import numpy as np

from kernels.graph import NO_ROW
from kernels.registry import BY_NAME
from pipeline.cluster.protocol import TaskContext
from pipeline.errors import NoPath
from pipeline.steps.stored_graph import graph_of_run, turned_of_run
from pipeline.store.manifest import Folder


def turned_way(run: Folder, table: str, source: int, end: int) -> list[tuple[int, int]]:
    """The crossings of the shortest path between two, each with its distance from the first one along this path.

    Args:
        table: `bfs`, whose distances are numbers of arcs, or `sssp`.

    Raises:
        BadConfig: The run's stored graph is no longer there.
        NoPath: There is none.
    """
    turned = turned_of_run(run.path, graph_of_run(run.path))
    assert turned
    context = TaskContext("cpu")
    rows, whole, streets = turned.rows(context), turned.split_graph(context).graph, turned.street_graph(context).graph
    first, last = (int(np.flatnonzero(streets.ids == vertex)[0]) for vertex in (source, end))
    paths = BY_NAME[table].resolve("solver")(whole, int(rows.begin[first]))
    row = int(rows.end[last])
    if paths.distance[row] < 0:
        raise NoPath(f"no path leads from {source} to {end}")
    if row != rows.begin[last]:
        row = int(paths.predecessor[row])
    way = []
    while row != NO_ROW:
        way.append((int(streets.ids[rows.crossing[row]]), int(paths.distance[row])))
        row = int(paths.predecessor[row])
    return way[::-1]
