"""Proof of PageRank: one more step of the power iteration, in doubles, hardly changes the published scores.

Why it proves them. A step F(r) = (1 - damping) / V + damping * (sum of the in-arcs' shares), with V rows, reduces the sum of the
differences between any two vectors of scores at least by the factor `damping`, because every row passes on its complete score. So
if a step changes a vector by `change` in sum, the vector is within change / (1 - damping), in sum, of the fixpoint, which is
PageRank: within FARTHEST if `change` is at most MOST_CHANGE.

References
----------
Page, Brin, Motwani, Winograd, The PageRank Citation Ranking: Bringing Order to the Web, Stanford 1999. Banach's fixed-point
theorem, for the bound.
"""

from __future__ import annotations

import numpy as np

from kernels.answers import Certificate, Scores
from kernels.arrays import is_cupy, is_cupy_array
from kernels.certificate.rules import Broken, Ids, at, name_of, require_form, verdict
from kernels.graph import Array, Csr, Graph

DAMPING = 0.85
MOST_CHANGE = 2e-6  # twice the change of a kernel that stops at 1e-6 and rounds shares to float
FARTHEST = MOST_CHANGE / (1 - DAMPING)  # from the true scores, in sum
RULES = (
    "every score is a positive finite number",
    f"the scores sum to 1, to {MOST_CHANGE:g}",
    f"a step of the iteration in doubles changes the scores by {MOST_CHANGE:g} in sum at most: PageRank is within {FARTHEST:.2g}",
)


def certify_pagerank(graph: Graph, answer: Scores) -> Certificate:
    """Prove that `answer.scores` are PageRank with damping 0.85, to FARTHEST (1.3e-5) in sum; the rest is not read.

    O(V + A) time, 4 V doubles of memory. Malformed answers do not hold; nothing is raised.
    """
    return verdict(RULES, _check, graph, answer)


def _check(graph: Graph, answer: Scores) -> None:
    kind = type(graph.ids) if is_cupy(graph) else np.ndarray
    scores = require_form("pagerank", answer.scores, graph.num_vertices, np.dtype(np.float64), kind)
    if not graph.num_vertices:
        return
    wrong = ~is_score(scores)
    if wrong.any():
        row = int(wrong.argmax())
        raise not_a_score(graph, row, float(at(scores, row)))
    require_sum(float(scores.sum()))
    degrees = np.diff(graph.out.offsets)
    base = base_score(float(scores[degrees == 0].sum()), graph.num_vertices)
    changes = np.abs(base + DAMPING * arriving(graph.into, scores / np.maximum(degrees, 1)) - scores)
    change = float(changes.sum())
    if not change <= MOST_CHANGE:
        row = int(changes.argmax())
        raise changed(graph, change, row, float(at(changes, row)))


def is_score(scores: Array) -> Array:
    """Which entries are positive and finite."""
    positive: Array = (scores > 0) & np.isfinite(scores)
    return positive


def base_score(dangling: float, num_vertices: int) -> float:
    """What a step gives every row; `dangling` is the sum of the scores of rows without out-arcs."""
    return (1 - DAMPING + DAMPING * dangling) / num_vertices


def arriving(into: Csr, shares: Array) -> Array:
    """Sum of the shares of each row's in-arcs' tails, float64, as long as `shares`."""
    if is_cupy_array(shares):
        from kernels.pagerank.certificate.cuda import gather
    else:
        from kernels.pagerank.certificate.cpu import gather
    return gather(into, shares)


def not_a_score(ids: Ids, row: int, score: float) -> Broken:
    """Error for a score that is not positive or not finite."""
    return Broken(f"vertex {name_of(ids, row)}: score {score} is not a positive finite number")


def require_sum(total: float) -> None:
    """Raise Broken unless the scores sum to 1."""
    if not abs(total - 1) <= MOST_CHANGE:
        raise Broken(f"the scores sum to {total:.12g}, not 1")


def changed(ids: Ids, change: float, row: int, most: float) -> Broken:
    """Error for a step that changes the scores, that of `row` most."""
    return Broken(
        f"a step changes the scores by {change:.3g} in sum, more than {MOST_CHANGE:g}; most, by {most:.3g}, "
        f"that of vertex {name_of(ids, row)}"
    )
