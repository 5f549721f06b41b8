"""Proof of PageRank: one more step of the power iteration, in doubles, hardly changes the published scores.

A step is F(x) = c + damping * (sum of the in-arcs' shares, and 1/V of the score of each row without out-arcs), where
c = (1 - damping) / V and x* = F(x*) is PageRank. `changes` are |F(x) - x| plus a bound on the rounding of F's evaluation.

In sum. F reduces the sum of the differences between any two vectors at least by the factor `damping`, because every row passes
on its complete score. So if the changes sum to MOST_CHANGE at most, x is within FARTHEST of x* in sum (Banach).

Relative to each score. The difference x - x* is at most (I - damping P)^-1 changes, entry by entry, and this matrix has no
negative entry. It maps the vector of all c to x*. So if changes <= e c in every row, |x - x*| <= e x* in every row. Where e is
not small, because a row of high score still changes by more than c, further steps y = F(...F(x)) give one for y, and x differs
from y by what can be compared: with |x - y| <= d y, x is within d (1 + e) + e of x*, relative to x*. The least such bound is
stated, and has to be FARTHEST_RELATIVE at most.

A single wrong score changes by nearly its whole error, so no score may change by more than MOST_RELATIVE_CHANGE of itself. The
iteration ends only when no score changes by more than 1/128 of itself, and the next change is no larger a part of it.

References: Page, Brin, Motwani, Winograd, The PageRank Citation Ranking: Bringing Order to the Web, Stanford 1999. Berman,
Plemmons, Nonnegative Matrices in the Mathematical Sciences, SIAM 1994, chapter 6 (M-matrices). Higham, Accuracy and Stability of
Numerical Algorithms, SIAM 2002, chapter 4 (sums).
"""

from typing import Any, Protocol

import numpy as np

from kernels.answers import Certificate, Scores
from kernels.arrays import is_cupy, is_cupy_array
from kernels.certificate.rules import Broken, Entries, RowNames, at, name_of, require_form
from kernels.graph import NO_ROW, Array, Csr, Graph

DAMPING = 0.85
MOST_CHANGE = 2e-6  # twice the change of a kernel that stops at 1e-6 and rounds shares to float
FARTHEST = MOST_CHANGE / (1 - DAMPING)  # from the true scores, in sum
MOST_RELATIVE_CHANGE = 0.008  # a little more than 1/128, see `kernels.pagerank.constants`
FARTHEST_RELATIVE = 0.1  # from each true score, in proportion to it
CLOSE = 0.02  # a proven bound for which no further step is taken
MOST_STEPS = 100
EPSILON = 2.0**-52  # a sum of n positive doubles, in any order, is wrong by less than n times this part of it
OPERATIONS = 8  # of a step, apart from sums
RULES = (
    "every score is a positive finite number",
    f"the scores sum to 1, to {MOST_CHANGE:g}",
    f"a step of the iteration in doubles changes the scores by {MOST_CHANGE:g} in sum at most: PageRank is within {FARTHEST:.2g}",
    f"the step changes no score by more than {MOST_RELATIVE_CHANGE:g} of itself",
)


def certify_pagerank(graph: Graph, answer: Scores) -> Certificate:
    """Prove that `answer.scores` are PageRank with damping 0.85; the rest is not read.

    They are within FARTHEST (1.3e-5) in sum, and each is within a part of itself that the last of the certificate's rules states,
    FARTHEST_RELATIVE at most. O(V + A) time for each step, one if all scores have converged; 6 V doubles of memory. Malformed
    answers do not hold; nothing is raised.
    """
    return certify(_Graph(graph), answer)


class View(Protocol):
    """What the certificate reads: a graph, or one rank's part of it, where the methods are collective."""

    ids: RowNames
    num_vertices: int
    out: Csr
    into: Csr

    def form(self, scores: Any) -> Array:
        """`scores`, or Broken unless it is an array of a double for each row."""

    def first_row(self, wrong: Array) -> int:
        """The first row where `wrong`; NO_ROW if there is none."""

    def entries(self, array: Array) -> Entries:
        """The entries of all rows."""

    def sum(self, array: Array) -> float:
        """Sum of the entries of all rows."""

    def max(self, array: Array) -> float:
        """Largest entry of all rows."""

    def arriving(self, shares: Array) -> Array:
        """Sum of the shares of each row's in-arcs' tails, float64."""


def certify(view: View, answer: Scores) -> Certificate:
    """The certificate of the scores, on every rank."""
    try:
        bound = _bound(view, answer)
    except Broken as broken:
        return Certificate(False, str(broken), RULES)
    stated = f"{1.005 * bound:.3g}"  # not less than the bound after rounding
    return Certificate(
        True, "", (*RULES, f"each score is within {stated} times the true one of it, at most {FARTHEST_RELATIVE:g}")
    )


def _bound(view: View, answer: Scores) -> float:
    """A bound on the difference of each score from the true one, in proportion to that; raises Broken."""
    scores = view.form(answer.scores)
    if not view.num_vertices:
        return 0.0
    row = view.first_row(~((scores > 0) & np.isfinite(scores)))
    if row != NO_ROW:
        raise Broken(f"{_score(view, row, scores)} is not a positive finite number")
    if not abs(total := view.sum(scores) - 1) <= MOST_CHANGE:
        raise Broken(f"the scores sum to {1 + total:.12g}, not 1")
    current, bound = scores, np.inf
    for step in range(MOST_STEPS):
        following, rounding = _step(view, current)
        changes = np.abs(following - current) + rounding
        if step == 0:
            _require_small(view, scores, changes, following)
        apart, change = view.max(np.abs(scores - current) / current), view.max(changes) * view.num_vertices / (1 - DAMPING)
        bound = min(bound, apart * (1 + change) + change)
        if bound <= CLOSE:
            break
        current = following
    if not bound <= FARTHEST_RELATIVE:
        raise Broken(f"a score may differ from the true one by {bound:.3g} times that, more than {FARTHEST_RELATIVE:g}")
    return bound


def _step(view: View, scores: Array) -> tuple[Array, Array]:
    """The scores after a step, and bounds on their errors of rounding."""
    degrees = np.diff(view.out.offsets)
    base = (1 - DAMPING + DAMPING * view.sum(np.where(degrees == 0, scores, 0.0))) / view.num_vertices
    following = base + DAMPING * view.arriving(scores / np.maximum(degrees, 1))
    terms = np.diff(view.into.offsets)[: len(scores)] + OPERATIONS
    return following, EPSILON * (terms * following + view.num_vertices * base)


def _require_small(view: View, scores: Array, changes: Array, following: Array) -> None:
    """Raise Broken if a step changes the scores too much."""
    change, most = view.sum(changes), view.max(changes)
    if not change <= MOST_CHANGE:
        raise Broken(
            f"a step changes the scores by {change:.3g} in sum, more than {MOST_CHANGE:g}; most, by {most:.3g}, "
            f"that of vertex {name_of(view.ids, view.first_row(changes == most))}"
        )
    row = view.first_row(changes > MOST_RELATIVE_CHANGE * following)
    if row != NO_ROW:
        raise Broken(
            f"{_score(view, row, scores)} becomes {float(at(view.entries(following), row))} in a step: "
            f"by more than {MOST_RELATIVE_CHANGE:g} of itself"
        )


def _score(view: View, row: int, scores: Array) -> str:
    return f"vertex {name_of(view.ids, row)}: score {float(at(view.entries(scores), row))}"


def arriving(into: Csr, shares: Array) -> Array:
    """Sum of the shares of each row's in-arcs' tails, float64, as long as `shares`."""
    if is_cupy_array(shares):
        from kernels.pagerank.certificate.cuda import gather
    else:
        from kernels.pagerank.certificate.cpu import gather
    return gather(into, shares)


class _Graph:
    """See View."""

    def __init__(self, graph: Graph):
        self.ids: RowNames = graph
        self.num_vertices, self.out, self.into = graph.num_vertices, graph.out, graph.into
        self._kind = type(graph.ids) if is_cupy(graph) else np.ndarray

    def form(self, scores: Any) -> Array:
        return require_form("pagerank", scores, self.num_vertices, np.dtype(np.float64), self._kind)

    def first_row(self, wrong: Array) -> int:
        return int(wrong.argmax()) if wrong.any() else NO_ROW

    def entries(self, array: Array) -> Array:
        return array

    def sum(self, array: Array) -> float:
        return float(array.sum())

    def max(self, array: Array) -> float:
        return float(array.max())

    def arriving(self, shares: Array) -> Array:
        return arriving(self.into, shares)
