"""Proof of a fixed number of iterations of PageRank: they are made again, in doubles and by other code.

All terms are positive, so a step multiplies the relative error of the largest one by at most 1, and its own rounding adds a part
of at most EPSILON times the number of terms. The scores are compared with the result, each in proportion to itself.
"""

import numpy as np

from kernels.answers import Certificate, Scores
from kernels.certificate.rules import Broken
from kernels.graph import NO_ROW, Array
from kernels.pagerank.certificate.bounds import EPSILON, FARTHEST_RECOUNTED, OPERATIONS, stated, terms_of_sum
from kernels.pagerank.certificate.views import View, following, score_of


def recounted(view: View, answer: Scores, damping: float, iterations: int) -> Certificate:
    """Prove that the scores are those after `iterations` iterations from equal scores."""
    first = "every score is a finite number that is not negative"
    again = f"{iterations} iterations with damping {damping:g}, made again in doubles"
    rule = f"each score is within {{}} times that after {again}"
    limit = f"{FARTHEST_RECOUNTED:g}"
    try:
        bound = _bound(view, answer, damping, iterations)
    except Broken as broken:
        return Certificate(False, str(broken), (first, rule.format(limit)))
    return Certificate(True, "", (first, f"{rule.format(stated(bound))}, at most {limit}"))


def _bound(view: View, answer: Scores, damping: float, iterations: int) -> float:
    """The largest relative difference of a score, with rounding; raises Broken."""
    scores = view.form(answer.scores)
    if not view.num_vertices:
        return 0.0
    row = view.first_row(~((scores >= 0) & np.isfinite(scores)))
    if row != NO_ROW:
        raise Broken(f"{score_of(view, row, scores)} is not a finite number of 0 or more")
    expected = np.full_like(scores, 1 / view.num_vertices)
    for _ in range(iterations):
        expected, _ = following(view, expected, damping)
    rounding = iterations * EPSILON * (view.max(np.diff(view.into.offsets).astype(np.float64)) + OPERATIONS)
    rounding += iterations * EPSILON * terms_of_sum(view.num_vertices)
    require_recounted(view, scores, expected, iterations)
    apart = np.abs(scores - expected)
    return view.max(apart / np.where(expected > 0, expected, 1.0)) + rounding


def require_recounted(view: View, scores: Array, expected: Array, iterations: int) -> None:
    """Raise Broken for a score that differs by more than FARTHEST_RECOUNTED of what was expected."""
    row = view.first_row(~(np.abs(scores - expected) <= FARTHEST_RECOUNTED * expected))
    if row != NO_ROW:
        after = score_of(view, row, expected, named=False)
        raise Broken(f"{score_of(view, row, scores)} is not that after {iterations} iterations, {after}")
