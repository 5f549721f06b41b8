"""Proof of PageRank: one more step of the power iteration, in doubles, hardly changes the published scores.

A step is F(x) = c + damping * (sum of the in-arcs' shares, and 1/V of the score of each row without out-arcs), where
c = (1 - damping) / V and x* = F(x*) is PageRank. `changes` are |F(x) - x| plus a bound on the rounding of F's evaluation.

In sum. F reduces the sum of the differences between any two vectors at least by the factor `damping`, because every row passes
on its complete score. So if the changes sum to `Bounds.change` at most, x is within `Bounds.farthest` of x* in sum (Banach).

Relative to each score. The difference x - x* is at most (I - damping P)^-1 changes, entry by entry, and this matrix has no
negative entry. It maps the vector of all c to x*. So if changes <= e c in every row, |x - x*| <= e x* in every row. Where e is
not small, because a row of high score still changes by more than c, further steps y = F(...F(x)) give one for y, and x differs
from y by what can be compared: with |x - y| <= d y, x is within d (1 + e) + e of x*, relative to x*. The least such bound is
stated, and has to be FARTHEST_RELATIVE at most.

A single wrong score changes by nearly its whole error, so no score may change by more than `Bounds.relative_change` of itself.
The iteration ends only when no score changes by more than 1/128 of itself, and the next change is no larger a part of it. With a
damping above 0.85 errors are a larger multiple of changes, and both limits are smaller.

A fixed number of iterations is proved by doing them again (`recount.py`).

References: Page, Brin, Motwani, Winograd, The PageRank Citation Ranking: Bringing Order to the Web, Stanford 1999. Berman,
Plemmons, Nonnegative Matrices in the Mathematical Sciences, SIAM 1994, chapter 6 (M-matrices). Higham, Accuracy and Stability of
Numerical Algorithms, SIAM 2002, chapter 4 (sums).
"""

import numpy as np

from kernels.answers import Certificate, Scores
from kernels.certificate.rules import Broken
from kernels.graph import NO_ROW, Array, Graph
from kernels.pagerank.certificate.bounds import (
    CLOSE,
    FARTHEST,
    FARTHEST_RELATIVE,
    MOST_CHANGE,
    RULES,
    Bounds,
    bounds_of,
    stated,
)
from kernels.pagerank.certificate.recount import recounted
from kernels.pagerank.certificate.views import View, WholeView, changed, following, score_of
from kernels.pagerank.parameters import DAMPING, TOLERANCE

__all__ = ["DAMPING", "FARTHEST", "FARTHEST_RELATIVE", "MOST_CHANGE", "RULES", "Bounds", "certify", "certify_pagerank"]


def certify_pagerank(
    graph: Graph, answer: Scores, damping: float = DAMPING, tolerance: float = TOLERANCE, iterations: int | None = None
) -> Certificate:
    """Prove that `answer.scores` are PageRank with these parameters, those of `kernels.pagerank.pagerank`; the rest is not read.

    With the defaults they are within FARTHEST (1.3e-5) in sum, and each is within a part of itself that the last of the
    certificate's rules states, FARTHEST_RELATIVE at most. O(V + A) time for each step, one if all scores have converged, and all
    of a fixed number; 6 V doubles of memory. Malformed answers do not hold; nothing is raised.
    """
    return certify(WholeView(graph), answer, damping, tolerance, iterations)


def certify(view: View, answer: Scores, damping: float, tolerance: float, iterations: int | None) -> Certificate:
    """The certificate of the scores, on every rank."""
    rules: tuple[str, ...] = ()
    try:
        if iterations is not None:
            return recounted(view, answer, damping, iterations)
        bounds = bounds_of(damping, tolerance)
        rules = bounds.rules
        bound = _bound(view, answer, bounds)
    except Broken as broken:
        return Certificate(False, str(broken), rules)
    relative = f"each score is within {stated(bound)} times the true one of it, at most {FARTHEST_RELATIVE:g}"
    return Certificate(True, "", (*rules, relative))


def _bound(view: View, answer: Scores, bounds: Bounds) -> float:
    """A bound on the difference of each score from the true one, in proportion to that; raises Broken."""
    scores = view.form(answer.scores)
    if not view.num_vertices:
        return 0.0
    row = view.first_row(~((scores > 0) & np.isfinite(scores)))
    if row != NO_ROW:
        raise Broken(f"{score_of(view, row, scores)} is not a positive finite number")
    if not abs(total := view.sum(scores) - 1) <= bounds.change:
        raise Broken(f"the scores sum to {1 + total:.12g}, not 1")
    current, bound = scores, np.inf
    for step in range(bounds.steps):
        after, rounding = following(view, current, bounds.damping)
        changes = np.abs(after - current) + rounding
        if step == 0:
            _require_small(view, scores, changes, after, bounds)
        change = view.max(changes) * view.num_vertices / (1 - bounds.damping)
        bound = min(bound, view.max(np.abs(scores - current) / current) * (1 + change) + change)
        if bound <= CLOSE:
            break
        current = after
    if not bound <= FARTHEST_RELATIVE:
        raise Broken(f"a score may differ from the true one by {bound:.3g} times that, more than {FARTHEST_RELATIVE:g}")
    return bound


def _require_small(view: View, scores: Array, changes: Array, after: Array, bounds: Bounds) -> None:
    """Raise Broken if a step changes the scores too much."""
    change, most = view.sum(changes), view.max(changes)
    if not change <= bounds.change:
        raise Broken(
            f"a step changes the scores by {change:.3g} in sum, more than {bounds.change:g}; most, by {most:.3g}, "
            f"that of {changed(view, changes == most)}"
        )
    row = view.first_row(changes > bounds.relative_change * after)
    if row != NO_ROW:
        raise Broken(
            f"{score_of(view, row, scores)} becomes {score_of(view, row, after, named=False)} in a step: "
            f"by more than {bounds.relative_change:g} of itself"
        )
