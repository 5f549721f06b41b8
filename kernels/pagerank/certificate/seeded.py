"""Proof of rankings from seeds, many at a time: the rules in sum of `kernels.pagerank.certificate`, or iterations made again.

A step F jumps to the seeds instead of to all rows, also with the scores of rows without out-arcs, and reduces the sum of the
differences between two vectors by the factor `damping` as well. No bound relative to each score is stated: those far from the
seeds are as small as one likes, and 0 where no seed reaches.
"""

from collections.abc import Callable, Sequence
from typing import NamedTuple

import numpy as np

from kernels.answers import Certificate, Scores
from kernels.certificate.rules import Broken, name_of
from kernels.graph import NO_ROW, Array, Graph
from kernels.pagerank.certificate.bounds import EPSILON, FARTHEST_RECOUNTED, OPERATIONS, Bounds, bounds_of, terms_of_sum
from kernels.pagerank.certificate.views import View, WholeView, changed, score_of
from kernels.pagerank.parameters import DAMPING, TOLERANCE, Personalization, columns_of

_LEAST = 2.0**-1000  # differences up to here are of numbers that doubles hold with few bits
_FIRST = "every score is a finite number that is not negative"


def certify_rankings(
    graph: Graph,
    answers: Sequence[Scores],
    personalizations: Sequence[Personalization],
    damping: float = DAMPING,
    tolerance: float = TOLERANCE,
    iterations: int | None = None,
) -> list[Certificate]:
    """Prove that the scores of each answer are PageRank with its personalization: `kernels.pagerank.seeded.rankings`.

    O(V + A) time for each answer and step, one or a fixed number; 6 V doubles of memory for each. Malformed answers do not hold.
    """
    return certify_all(WholeView(graph), answers, personalizations, damping, tolerance, iterations)


def certify_all(
    view: View, answers: Sequence[Scores], personalizations: Sequence[Personalization], damping: float = DAMPING,
    tolerance: float = TOLERANCE, iterations: int | None = None,
) -> list[Certificate]:  # fmt: skip
    """The certificates, on every rank."""
    try:
        columns = [view.form(answer.scores) for answer in answers]
        bounds = None if iterations is not None else bounds_of(damping, tolerance)
    except Broken as broken:
        return [Certificate(False, str(broken), ())] * len(answers)
    if not (answers and view.num_vertices):
        return [Certificate(True, "", (_FIRST,))] * len(answers)
    ranked = _RankedSeed(view, np.stack(columns, axis=1), _JumpShares.of(view, personalizations), damping)
    invalid = [_invalid(view, column) for column in columns]
    if bounds:
        rules, check = _rules(bounds), ranked.within(bounds)
    else:
        rules, check = (_FIRST, _recounted(iterations or 0, damping)), ranked.after(iterations or 0)
    reasons = [one or check(number) for number, one in enumerate(invalid)]
    names = [f"seed {name_of(view.ids, one.rows[0])}: " if len(one.rows) == 1 else "" for one in personalizations]
    return [Certificate(not reason, reason and f"{name}{reason}", rules) for name, reason in zip(names, reasons, strict=True)]


def _rules(bounds: Bounds) -> tuple[str, ...]:
    changes = f"a step of the iteration in doubles changes the scores of a seed by {bounds.change:g} in sum at most"
    with_damping = f"with damping {bounds.damping:g} PageRank is within {bounds.farthest:.2g}"
    return _FIRST, f"the scores of each seed sum to 1, to {bounds.change:g}", f"{changes}: {with_damping}"


def _recounted(iterations: int, damping: float) -> str:
    again = f"{iterations} iterations with damping {damping:g}, made again in doubles"
    return f"each score is within {FARTHEST_RECOUNTED:g} times that after {again}"


def _invalid(view: View, scores: Array) -> str:
    row = view.first_row(~((scores >= 0) & np.isfinite(scores)))
    return "" if row == NO_ROW else f"{score_of(view, row, scores)} is not a finite number of 0 or more"


class _JumpShares(NamedTuple):
    """The own rows to which the surfer jumps, the column of each, and its weight, on the backend of the scores."""

    rows: Array
    columns: Array
    weights: Array
    everywhere: Array  # float64 [K] of NumPy: 1 / V for a surfer who jumps to any row, otherwise 0

    @classmethod
    def of(cls, view: View, personalizations: Sequence[Personalization]) -> "_JumpShares":
        rows, columns, weights = columns_of(personalizations)
        own, like = (rows >= view.own.start) & (rows < view.own.stop), view.out.offsets
        rows, columns, weights = (np.asarray(part[own], like=like) for part in (rows - view.own.start, columns, weights))
        equal = np.array([0.0 if len(one.rows) else 1 / view.num_vertices for one in personalizations])
        return cls(rows, columns, weights, equal)


class _RankedSeed:
    """Scores [n, K] of K rankings."""

    def __init__(self, view: View, scores: Array, jumps: _JumpShares, damping: float) -> None:
        self._view, self._scores, self._jumps, self._damping = view, scores, jumps, damping
        degrees = np.diff(view.out.offsets)
        self._degrees, self._dangling = np.maximum(degrees, 1)[:, None], np.flatnonzero(degrees == 0)
        self._terms = (np.diff(view.into.offsets)[: len(scores)] + OPERATIONS)[:, None]

    def within(self, bounds: Bounds) -> Callable[[int], str]:
        """What tells why a ranking is not within the bounds; empty if it is."""
        after, jump = self._following(self._scores)
        rounding = EPSILON * (self._view.sums(self._terms * after) + terms_of_sum(self._view.num_vertices) * jump)
        changes = abs(after - self._scores)
        change, total = self._view.sums(changes) + rounding, self._view.sums(self._scores)

        def reason(column: int) -> str:
            if not abs(total[column] - 1) <= bounds.change:
                return f"the scores sum to {total[column]:.12g}, not 1"
            if change[column] <= bounds.change:
                return ""
            most = self._view.max(changes[:, column])
            vertex = changed(self._view, changes[:, column] == most)
            limit = f"more than {bounds.change:g}; most, by {most:.3g}, that of {vertex}"
            return f"a step changes the scores by {change[column]:.3g} in sum, {limit}"

        return reason

    def after(self, iterations: int) -> Callable[[int], str]:
        """What tells why a ranking is not that after some iterations; empty if it is."""
        jumps, expected = self._jumps, np.empty_like(self._scores)
        expected[...] = np.asarray(jumps.everywhere, like=expected)
        expected[jumps.rows, jumps.columns] = jumps.weights
        for _ in range(iterations):
            expected, _ = self._following(expected)
        wrong = ~(abs(self._scores - expected) <= FARTHEST_RECOUNTED * expected + _LEAST)

        def reason(column: int) -> str:
            if (row := self._view.first_row(wrong[:, column])) == NO_ROW:
                return ""
            stated = score_of(self._view, row, self._scores[:, column])
            due = score_of(self._view, row, expected[:, column], named=False)
            return f"{stated} is not that after {iterations} iterations, {due}"

        return reason

    def _following(self, scores: Array) -> tuple[Array, Array]:
        """The scores after a step, and with which probability the surfer jumps [K]."""
        jumps = self._jumps
        jump = 1 - self._damping + self._damping * self._view.sums(scores[self._dangling])
        after = self._damping * self._view.arriving(scores / self._degrees)
        after += np.asarray(jump * jumps.everywhere, like=after)
        after[jumps.rows, jumps.columns] += np.asarray(jump, like=after)[jumps.columns] * jumps.weights
        return after, jump
