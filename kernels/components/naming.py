"""Names of components: the row of smallest external id."""

import numpy as np

from kernels.arrays import frozen
from kernels.cpu.atomics import lower
from kernels.cpu.compiled import njit
from kernels.cpu.parallel import elementwise, over_items, ranges
from kernels.graph import Array, Graph


def smallest_ids(graph: Graph, component: Array) -> Array:
    """Name each row's component by its row of smallest external id.

    Args:
        component (index width [V]): A number from 0 to V - 1 per component.

    Returns:
        index width [V].
    """
    first = np.full_like(component, len(component))
    arrays = frozen(graph.positions), frozen(component), first
    over_items(ranges(len(component)), lambda part: _find_first(*arrays, *part))
    return elementwise(lambda component: graph.rows_by_id.take(first.take(component)), component, dtype=component.dtype)


@njit(cache=True, nogil=True)
def _find_first(positions: Array, component: Array, first: Array, begin: int, end: int) -> None:
    """Find the least position in each component; `first` comes in as V."""
    for row in range(begin, end):
        if positions[row] < first[component[row]]:
            lower(first, component[row], positions[row])
