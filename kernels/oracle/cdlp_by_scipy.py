"""Labels of CDLP by SciPy's sparse matrices."""

import numpy as np
from scipy.sparse import csr_array

from kernels.answers import Components
from kernels.cdlp.parameters import ITERATIONS
from kernels.certificate.rules import Broken, name_of, require_rows
from kernels.graph import Graph
from kernels.oracle.compare import compares


@compares("labels are the first largest entries of (A + A^t) L in each round: scipy.sparse.csr_array of arcs A and labels L")
def cdlp(graph: Graph, answer: Components, iterations: int = ITERATIONS) -> None:
    """Compare labels."""
    stated = require_rows("labels", answer.labels, graph.num_vertices, graph.num_vertices)
    rows, square = np.arange(graph.num_vertices), (graph.num_vertices, graph.num_vertices)
    tails = np.repeat(rows, np.diff(graph.out.offsets))
    between = np.flatnonzero(tails != graph.out.indices)
    ends = tails[between], graph.out.indices[between]  # copies, because SciPy adds parallel arcs in place
    arcs = csr_array((np.ones(len(between), np.int64), ends), shape=square)
    arcs, labels = csr_array(arcs + arcs.T), graph.positions.astype(np.int64)
    for _ in range(iterations if arcs.nnz else 0):
        votes = csr_array(arcs @ csr_array((np.ones(len(rows), np.int64), (rows, labels)), shape=square))
        votes.sort_indices()
        of_row = np.repeat(rows, np.diff(votes.indptr))
        best = np.flatnonzero(votes.data == votes.max(axis=1).toarray().ravel()[of_row])[::-1]
        labels[of_row[best]] = votes.indices[best]  # the last assignment, of the smallest label, stays
    solved = graph.rows_by_id[labels]
    if (stated != solved).any():
        row = int((stated != solved).argmax())
        raise Broken(
            f"vertex {name_of(graph, row)}: label {name_of(graph, stated[row])} is not SciPy's {name_of(graph, solved[row])}"
        )
