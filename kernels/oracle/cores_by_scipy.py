"""Core numbers by SciPy's sparse matrices."""

import numpy as np
from scipy.sparse import csr_array

from kernels.certificate.rules import Broken, name_of, require_array
from kernels.cores import Cores
from kernels.graph import OFFSET, Array, Graph
from kernels.oracle.compare import compares


@compares("cores are those of removing rows of least degree from A + A^t, a scipy.sparse.csr_array without its diagonal")
def cores(graph: Graph, answer: Cores) -> None:
    """Compare core numbers."""
    stated = require_array("core", answer.core, graph.num_vertices, OFFSET)
    tails = np.repeat(np.arange(graph.num_vertices), np.diff(graph.out.offsets))
    between = np.flatnonzero(tails != graph.out.indices)
    ends = tails[between], graph.out.indices[between]  # copies, because SciPy adds parallel arcs in place
    arcs = csr_array((np.ones(len(between), np.bool_), ends), shape=(graph.num_vertices, graph.num_vertices))
    solved = _by_removal(csr_array(arcs + arcs.T))
    if (stated != solved).any():
        row = int((stated != solved).argmax())
        raise Broken(f"vertex {name_of(graph, row)}: core {stated[row]} is not {solved[row]}, found with SciPy")


def _by_removal(pairs: csr_array) -> Array:
    """The core number of each row of a symmetric pattern."""
    num_rows = pairs.shape[0]
    left, core = np.diff(pairs.indptr).astype(np.int64), np.zeros(num_rows, np.int64)
    rows, least = np.arange(num_rows), 0  # those that are not removed
    while len(rows):
        least = max(least, int(left[rows].min()))
        stay = left[rows] > least
        removed, rows = rows[~stay], rows[stay]
        core[removed] = least
        left -= np.bincount(pairs[removed].indices, minlength=num_rows)
    return core
