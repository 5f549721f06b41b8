"""Names of components: the row of smallest external id."""

import numpy as np

from kernels.arrays import frozen
from kernels.cpu.compiled import njit
from kernels.graph import Array, Graph


def smallest_ids(graph: Graph, component: Array) -> Array:
    """Name each row's component by its row of smallest external id.

    Args:
        component (index width [V]): A number from 0 to V - 1 per component.

    Returns:
        index width [V].
    """
    labels = np.empty_like(component)
    _name(frozen(graph.rows_by_id), frozen(component), np.full_like(component, -1), labels)
    return labels


@njit(cache=True, nogil=True)
def _name(rows_by_id: Array, component: Array, name: Array, labels: Array) -> None:
    """Let the first row of each component, by external id, name it; `name` [V] comes in as -1."""
    for row in rows_by_id:
        if name[component[row]] < 0:
            name[component[row]] = row
        labels[row] = name[component[row]]
