"""PageRank by products with SciPy's sparse matrix; and the comparison with another solver's scores."""

import math
from typing import Any

import numpy as np
from scipy.sparse import csr_array

from kernels.answers import Scores
from kernels.certificate.rules import Broken, name_of, require_array
from kernels.graph import Array, Graph
from kernels.oracle.by_scipy import SCIPY
from kernels.oracle.compare import compares
from kernels.pagerank.certificate.bounds import FARTHEST_RECOUNTED, Bounds
from kernels.pagerank.parameters import ANYWHERE, DAMPING, TOLERANCE, Personalization

_REMAINS = 1e-10  # of the first error after the solver's steps, for the default tolerance


def steps_of(damping: float = DAMPING, tolerance: float = TOLERANCE, iterations: int | None = None, **_: Any) -> int:
    """The steps of a solver: a fixed number, or as many as leave less of an error than a tolerance allows."""
    if iterations is not None:
        return iterations
    return math.ceil(math.log(_REMAINS * tolerance / TOLERANCE) / math.log(damping)) if damping else 1


def placed(_: Graph, __: Scores, **options: Any) -> tuple[str, int]:
    """What the rule of a comparison says: how near scores are, and after how many steps."""
    damping, tolerance = options.get("damping", DAMPING), options.get("tolerance", TOLERANCE)
    if options.get("iterations") is not None:
        return f"each within {FARTHEST_RECOUNTED:g} times", steps_of(**options)
    return f"within {Bounds(damping, tolerance).farthest:.2g} in sum of", steps_of(**options)


@compares("the scores are {} those of {} products with a scipy.sparse.csr_array", placed)
def pagerank(
    graph: Graph,
    answer: Scores,
    damping: float = DAMPING,
    tolerance: float = TOLERANCE,
    iterations: int | None = None,
    personalization: Personalization = ANYWHERE,
) -> None:
    """Compare PageRank scores."""
    degrees, count = np.diff(graph.out.offsets), graph.num_vertices
    arcs = csr_array((np.ones(graph.num_arcs), graph.out.indices, graph.out.offsets), shape=(count, count))
    transposed, dangling = arcs.T, degrees == 0
    jumps = dense(personalization, count)
    solved = jumps
    for _ in range(steps_of(damping, tolerance, iterations)):
        jump = 1 - damping + damping * solved[dangling].sum()
        solved = jump * jumps + damping * (transposed @ (solved / np.maximum(degrees, 1)))
    require_scores(graph, answer, solved, SCIPY, Bounds(damping, tolerance), iterations)


def dense(personalization: Personalization, num_vertices: int) -> Array:
    """The probability of each row, float64 [V]."""
    if not len(personalization.rows):
        return np.full(num_vertices, 1 / max(num_vertices, 1))
    weights = np.zeros(num_vertices)
    weights[personalization.rows] = personalization.weights
    return weights


def require_scores(graph: Graph, answer: Scores, solved: Array, solver: str, bounds: Bounds, iterations: int | None) -> None:
    """Raise Broken unless the scores are as near `solved` (float64 [V]) as the certificate proves them to be to the truth."""
    stated = require_array("pagerank", answer.scores, graph.num_vertices, np.dtype(np.float64))
    apart = np.abs(stated - solved)
    if iterations is None:
        holds = apart.sum() <= bounds.farthest  # `not <=` also catches NaN
    else:
        holds = bool((apart <= FARTHEST_RECOUNTED * solved).all())
        apart = apart / np.where(solved > 0, solved, 1)
    if not holds:
        row = int(np.nan_to_num(apart, nan=np.inf).argmax())
        raise Broken(
            f"the scores differ from {solver}'s by {np.abs(stated - solved).sum():.3g} in sum; vertex {name_of(graph, row)}: "
            f"score {stated[row]:.9g} is not {solved[row]:.9g}"
        )
