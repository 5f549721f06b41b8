"""What an answer has in common with a second solver's; the solver is called by its name in the reasons.

Everything here is in this machine's memory but the graph, which may be on a GPU.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from kernels.answers import Paths
from kernels.certificate.rules import Broken, name_of, require_array, require_rows
from kernels.gpu.loader import to_host
from kernels.graph import Array, Graph, distance_dtype
from kernels.pagerank.certificate import FARTHEST

DOUBLES = 2.0**53  # all integers up to here are doubles


def require_distances(graph: Graph, paths: Paths, weights: Array | None, solved: Array, solver: str) -> None:
    """Broken unless the distances are those `solved` in doubles, UNREACHED where no path leads; integers from 2^53 about so."""
    stated = require_array("distance", paths.distance, graph.num_vertices, distance_dtype(weights))
    equal = stated == solved
    if stated.dtype.kind == "i":
        # an integer and a sum are each rounded at most once an arc
        error = graph.num_vertices * 2 * np.spacing(solved)
        equal = np.where(solved < DOUBLES, equal, np.abs(stated - solved) <= error)
    if not equal.all():
        row = int(equal.argmin())
        raise Broken(f"vertex {name_of(graph, row)}: distance {stated[row]} is not {solver}'s {solved[row]}")


def require_classes(graph: Graph, labels: Any, classes: Array, solver: str) -> None:
    """Broken unless `labels` name by their smallest external id what has one number in `classes`."""
    stated = require_rows("labels", labels, graph.num_vertices, graph.num_vertices)
    rows_by_id = to_host(graph.rows_by_id)
    # rows by ascending id, so the first row of a class is its name
    _, first, ascending = np.unique(classes[rows_by_id], return_index=True, return_inverse=True)
    solved = np.empty_like(stated)
    solved[rows_by_id] = rows_by_id[first][ascending]
    if (stated != solved).any():
        row = int((stated != solved).argmax())
        names = name_of(graph, stated[row]), name_of(graph, solved[row])
        raise Broken(f"vertex {name_of(graph, row)}: label {names[0]} is not {solver}'s {names[1]}")


def require_ranks(graph: Graph, ranks: Any, solved: Array, solver: str) -> None:
    """Broken unless the ranks differ from those `solved` by FARTHEST in sum at most."""
    stated = require_array("pagerank", ranks, graph.num_vertices, np.dtype(np.float64))
    apart = np.abs(stated - solved)
    if not apart.sum() <= FARTHEST:  # `not <=` also catches NaN
        row = int(np.nan_to_num(apart, nan=np.inf).argmax())
        raise Broken(
            f"ranks are {apart.sum():.3g} in sum from {solver}'s; vertex {name_of(graph, row)}: "
            f"rank {stated[row]:.9g} is not {solved[row]:.9g}"
        )
