"""Compiled loops on all cores, and the first failure of what they call."""

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from kernels.arrays import unsigned
from kernels.cpu.parallel import WORTH_A_THREAD, cores, over_items
from kernels.graph import Array, Csr
from kernels.library.operators.constants import ALL, DENSE, SPARSE
from kernels.library.operators.frontier import Frontier
from kernels.library.operators.functions.errors import failure
from kernels.library.operators.functions.tree import Function

NOTHING = np.empty(0, np.bool_)
_RANGES_PER_CORE = 8  # so that a core that finishes early takes another range


def items_of(frontier: Frontier) -> tuple[int, Array, Array]:
    """How loops see a frontier: its form, its list of rows, its flags; what a form does not have is empty."""
    rows = np.empty(0, frontier.graph.rows_by_id.dtype)
    if frontier.form == ALL:
        return ALL, rows, NOTHING
    if frontier.form == DENSE:
        assert frontier.flags_form is not None
        return DENSE, rows, frontier.flags_form
    assert frontier.listed is not None
    return frontier.form, frontier.listed, NOTHING


def even_cuts(items: int, size: int) -> list[int]:
    """Bounds of ranges of `items` on all cores; one range if there are few."""
    return (
        [0, items]
        if size < WORTH_A_THREAD or cores() == 1
        else np.linspace(0, items, cores() * _RANGES_PER_CORE + 1).astype(int).tolist()
    )


def cuts_by_arcs(frontier: Frontier, csr: Csr) -> list[int]:
    """Bounds of ranges of items with about equally many arcs."""
    offsets = unsigned(csr.offsets)
    if frontier.form == SPARSE:
        assert frontier.listed is not None
        listed = frontier.listed
        ends = np.cumsum(offsets[listed + 1] - offsets[listed]) if len(listed) > 1 else offsets[listed + 1] - offsets[listed]
        items, arcs = len(listed), int(ends[-1]) if len(ends) else 0
    else:
        ends, items, arcs = offsets[1:], len(offsets) - 1, len(csr.indices)
    if items + arcs < WORTH_A_THREAD or cores() == 1:
        return [0, items]
    shares = np.linspace(0, arcs, cores() * _RANGES_PER_CORE + 1)[1:-1]
    return [0, *np.searchsorted(ends, shares).tolist(), items]


def over(cuts: list[int], functions: Sequence[Function | None], work: Callable[[int, int, Array], Any]) -> list[Any]:
    """Call `work(begin, end, fault)` for the ranges; `functions` are those that it may call, by stage.

    Raises UserFunctionError for the first failure: that of the smallest row, its smallest stage and arc.
    """
    faults = np.zeros((len(cuts) - 1, 6), np.int64)
    results = over_items(range(len(cuts) - 1), lambda k: work(cuts[k], cuts[k + 1], faults[k]), parallel=len(cuts) > 2)
    failed = faults[faults[:, 3] > 0]
    if len(failed):
        row, stage, arc, site, *values = min(failed.tolist())
        function = functions[stage]
        assert function is not None
        raise failure(function, row, arc, site, (values[0], values[1]))
    return results
