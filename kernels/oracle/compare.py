"""Comparison of an answer with a second solver's; reasons call the solver by its name.

All arrays are in host memory, except the graph's, which may be on a GPU.
"""

from collections.abc import Callable
from dataclasses import replace
from functools import partial, wraps
from typing import Any

import numpy as np

from kernels.answers import Certificate, Paths
from kernels.certificate.rules import Broken, name_of, require_array, require_rows, verdict
from kernels.gpu.loader import to_host
from kernels.graph import Array, Graph, distance_dtype

DOUBLES = 2.0**53  # every integer up to here is a double


def compares(
    rule: str, sampled: Callable[..., tuple[Any, ...]] | None = None
) -> Callable[[Callable[..., None]], Callable[..., Certificate]]:
    """Turn a check, which raises Broken if an answer differs, into an oracle that returns a Certificate with this rule.

    Args:
        sampled: `sampled(graph, answer, **options)`: what an answer that holds puts in the places `{}` of the rule, such as the
            size of the sample that is compared.
    """

    def oracle_of(check: Callable[..., None]) -> Callable[..., Certificate]:
        @wraps(check)
        def oracle(graph: Graph, answer: Any, **options: Any) -> Certificate:
            certificate = verdict((rule,), partial(check, **options), graph, answer)
            counts = (
                sampled(graph, answer, **options) if sampled and certificate.holds else ()
            )  # a malformed answer cannot be counted
            return replace(certificate, rules=(rule.format(*counts),)) if counts else certificate

        return oracle

    return oracle_of


def require_distances(graph: Graph, paths: Paths, weights: Array | None, solved: Array, solver: str) -> None:
    """Raise Broken unless the distances equal `solved`; integers from 2^53 on, which are not exact doubles, nearly so.

    Args:
        weights (array [A] or None): The weights that the distances sum; None for hops.
        solved (float64 [V]): UNREACHED if there is no path.
    """
    stated = require_array("distance", paths.distance, graph.num_vertices, distance_dtype(weights))
    equal = stated == solved
    if stated.dtype.kind == "i":
        # an integer and a sum are each rounded at most once an arc
        error = graph.num_vertices * 2 * np.spacing(solved)
        equal = np.where(solved < DOUBLES, equal, np.abs(stated - solved) <= error)
    if not equal.all():
        row = int(equal.argmin())
        raise Broken(f"vertex {name_of(graph, row)}: distance {stated[row]} is not {solver}'s {solved[row]}")


def require_classes(graph: Graph, labels: Array, classes: Array, solver: str) -> None:
    """Raise Broken unless the label of every row is the row of smallest external id in its class.

    Args:
        classes (integer [V]): Rows of one component have equal numbers.
    """
    stated = require_rows("labels", labels, graph.num_vertices, graph.num_vertices)
    rows_by_id = to_host(graph.rows_by_id)
    # rows by ascending id, so the first row of a class is its label
    _, first, ascending = np.unique(classes[rows_by_id], return_index=True, return_inverse=True)
    solved = np.empty_like(stated)
    solved[rows_by_id] = rows_by_id[first][ascending]
    if (stated != solved).any():
        row = int((stated != solved).argmax())
        names = name_of(graph, stated[row]), name_of(graph, solved[row])
        raise Broken(f"vertex {name_of(graph, row)}: label {names[0]} is not {solver}'s {names[1]}")
