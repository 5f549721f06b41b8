"""Proof of PageRank: one more step of the power iteration, in doubles, hardly moves the published ranks.

Why it proves them. A step F(r) = (1 - damping) / V + damping * what the arcs bring, with V rows, brings any two vectors of ranks
closer, in sum, by the factor `damping` or more: every row hands on all that it has. So a vector that a step moves by `change` is
within change / (1 - damping), in sum, of the one that no step moves, which is PageRank: within FARTHEST where `change` is at
most MOST_CHANGE.

References
----------
Page, Brin, Motwani, Winograd, The PageRank Citation Ranking: Bringing Order to the Web, Stanford 1999. Banach's fixed-point
theorem, for the bound.
"""

from __future__ import annotations

import numpy as np

from kernels.answers import Certificate, Scores
from kernels.arrays import is_cupy
from kernels.certificate.rules import Broken, at, name_of, require_form, verdict
from kernels.graph import Array, Graph

DAMPING = 0.85
MOST_CHANGE = 2e-6  # a kernel that stops at 1e-6 and rounds shares to float stays below 1e-6; this is twice that
FARTHEST = MOST_CHANGE / (1 - DAMPING)  # from the true ranks, in sum
RULES = (
    "every rank is a positive finite number",
    f"the ranks sum to 1, to {MOST_CHANGE:g}",
    f"a step of the iteration in doubles moves the ranks by {MOST_CHANGE:g} in sum at most: PageRank is within {FARTHEST:.2g}",
)


def certify_pagerank(graph: Graph, answer: Scores) -> Certificate:
    """Prove that `answer.scores` are PageRank with damping 0.85, to FARTHEST (1.3e-5) in sum; the rest is not read.

    O(V + A) time, 4 V doubles of memory. Malformed answers do not hold; nothing is raised.
    """
    return verdict(RULES, _check, graph, answer)


def _check(graph: Graph, answer: Scores) -> None:
    kind = type(graph.ids) if is_cupy(graph) else np.ndarray
    ranks = require_form("pagerank", answer.scores, graph.num_vertices, np.dtype(np.float64), kind)
    if not graph.num_vertices:
        return
    wrong = ~((ranks > 0) & np.isfinite(ranks))
    if wrong.any():
        row = int(wrong.argmax())
        raise Broken(f"vertex {name_of(graph, row)}: rank {at(ranks, row)} is no positive finite number")
    total = float(ranks.sum())
    if not abs(total - 1) <= MOST_CHANGE:
        raise Broken(f"the ranks sum to {total:.12g}, not 1")
    moved = np.abs(_step(graph, ranks) - ranks)
    change = float(moved.sum())
    if not change <= MOST_CHANGE:
        row = int(moved.argmax())
        raise Broken(
            f"a step moves the ranks by {change:.3g} in sum, more than {MOST_CHANGE:g}; most, by {float(at(moved, row)):.3g}, "
            f"that of vertex {name_of(graph, row)}"
        )


def _step(graph: Graph, ranks: Array) -> Array:
    """Scores after one more step [V]."""
    if is_cupy(graph):
        from kernels.pagerank.certificate.cuda import arriving
    else:
        from kernels.pagerank.certificate.cpu import arriving
    degrees = np.diff(graph.out.offsets)
    stuck = float(ranks[degrees == 0].sum())
    base = (1 - DAMPING + DAMPING * stuck) / graph.num_vertices
    return base + DAMPING * arriving(graph.into, ranks / np.maximum(degrees, 1))
