"""Power iteration of K rankings at a time, on a CPU, a GPU, and over ranks: the same bits everywhere.

Scores are doubles [n, K]. A row adds the shares of its in-arcs in their order, CHUNK of them at a time, then the sums of the
chunks. Sums over all rows, of changes and of the scores of rows without out-arcs, are integers of 2^-60, so that their order does
not matter. Products and sums are rounded one by one. So a ranking does not depend on what is computed beside it.
"""

from collections.abc import Callable, Sequence
from typing import NamedTuple, Protocol

import numpy as np

from kernels.answers import Scores
from kernels.derived import Derived
from kernels.distributed import Communicator
from kernels.graph import Array, Csr
from kernels.pagerank.constants import UNIT
from kernels.pagerank.parameters import PageRankParameters, Personalization, columns_of
from kernels.pagerank.seeded.constants import COLUMNS

_CHANGE, _UNSETTLED = 0, 1


class RankedRows(NamedTuple):
    """The own rows, n of V."""

    own: range
    num_vertices: int


class StepOfColumns(Protocol):
    """The loops over own rows and arcs, on the backend of the arrays."""

    def at_once(self, rows: int) -> int:
        """How many rankings of so many rows memory has place for, at least 1. Raises MemoryError if not for one."""

    def empty(self, *shape: int) -> Array:
        """An array of doubles."""

    def share(self, scores: Array, shares: Array) -> Array:
        """Set `shares` [n, K], scores over out-degrees; return the sums of rows without out-arcs, int64 [K] of NumPy."""

    def pull(self, shares: Array, base: Array, parameters: PageRankParameters, scores: Array) -> Array:
        """Set `scores` [n, K] to `base` [K] and damping times the shares of in-arcs' tails.

        Returns sums of changes, and how many scores have not settled: int64 [2, K] of NumPy.
        """


def step_of(on_gpu: bool, out_offsets: Array, into: Csr, derived: Derived) -> StepOfColumns:
    """The loops over rows with these out-degrees and in-arcs, on the backend of the arrays."""
    if on_gpu:
        from kernels.pagerank.seeded.cuda import OnGpu

        return OnGpu(out_offsets, into, derived)
    from kernels.pagerank.seeded.cpu import OnCpu

    return OnCpu(out_offsets, into)


def iterate(
    rows: RankedRows, step: StepOfColumns, communicator: Communicator, extended: Callable[[Array], Array],
    personalizations: Sequence[Personalization], parameters: PageRankParameters,
) -> list[Scores]:  # fmt: skip
    """The scores of the own rows for each personalization, as `kernels.pagerank.seeded.rankings`. A collective.

    Args:
        extended: Returns the shares of the own rows, followed by those of all other rows that arcs come from.
        personalizations: Their rows are those of all ranks.
    """
    most = communicator.min(min(COLUMNS, step.at_once(len(rows.own))))
    groups = (personalizations[first : first + most] for first in range(0, len(personalizations), most))
    return [scores for some in groups for scores in _iterate(rows, step, communicator, extended, some, parameters)]


def _iterate(
    rows: RankedRows, step: StepOfColumns, communicator: Communicator, extended: Callable[[Array], Array],
    personalizations: Sequence[Personalization], parameters: PageRankParameters,
) -> list[Scores]:  # fmt: skip
    (damping, tolerance, most), count = parameters, len(personalizations)
    jumps, scores, shares = _Jumps(rows, personalizations), step.empty(len(rows.own), count), step.empty(len(rows.own), count)
    jumps.start(scores)
    scores_of: list[Scores | None] = [None] * count
    change = np.full(count, np.inf)
    for iteration in range(most + 1 if rows.num_vertices else 0):
        ended = (change < tolerance) if iteration < most else np.ones(count, np.bool_)
        for column in np.flatnonzero(ended):
            if scores_of[column] is None:
                scores_of[column] = Scores(scores[:, column].copy(), iteration, float(change[column]))
        if None not in scores_of:
            break
        jump = 1 - damping + damping * (communicator.total(step.share(scores, shares)) / UNIT)
        before = jumps.entries(scores)
        sums = step.pull(extended(shares), jumps.everywhere * jump / rows.num_vertices, parameters, scores)
        sums[_CHANGE] += jumps.add(jump, before, scores)
        sums = communicator.total(sums.ravel()).reshape(sums.shape)
        change = np.where(jumps.everywhere * sums[_UNSETTLED] > 0, np.inf, sums[_CHANGE] / UNIT)
    return [one or Scores(scores[:, 0].copy(), 0, 0.0) for one in scores_of]


class _Jumps:
    """The own rows to which the surfer jumps; `everywhere` [K] is 1 for a ranking whose surfer jumps to any row."""

    def __init__(self, rows: RankedRows, personalizations: Sequence[Personalization]) -> None:
        at, columns, weights = columns_of(personalizations)
        own = (at >= rows.own.start) & (at < rows.own.stop)
        self._rows, self._columns, self._weights = at[own] - rows.own.start, columns[own], weights[own]
        self.everywhere = np.array([float(not len(one.rows)) for one in personalizations])
        self._equal = 1 / max(rows.num_vertices, 1)

    def start(self, scores: Array) -> None:
        """Set the first scores."""
        scores[...] = np.asarray(self.everywhere * self._equal, like=scores)
        scores[self._places(scores)] = np.asarray(self._weights, like=scores)

    def entries(self, scores: Array) -> Array:
        """The scores of the rows, on the backend of all."""
        entries: Array = scores[self._places(scores)]
        return entries

    def add(self, jump: Array, before: Array, scores: Array) -> Array:
        """Add the jumps to the scores that arcs made of those `before`; return how much larger the changes are, int64 [K]."""
        pulled, jumped = self.entries(scores), np.asarray(jump[self._columns] * self._weights, like=scores)
        after = pulled + jumped
        scores[self._places(scores)] = after
        more = _in_units(abs(after - before)) - _in_units(abs(pulled - before))
        sums = np.zeros(len(self.everywhere), np.int64)
        np.add.at(sums, self._columns, more if isinstance(more, np.ndarray) else more.get())
        return sums

    def _places(self, like: Array) -> tuple[Array, Array]:
        return np.asarray(self._rows, like=like), np.asarray(self._columns, like=like)


def _in_units(values: Array) -> Array:
    units: Array = (values * float(UNIT)).astype(np.int64)
    return units
