"""Votes for communities by SciPy's sparse matrices."""

import numpy as np
from scipy.sparse import csr_array

from kernels.answers import Components
from kernels.certificate.rules import Broken, name_of, require_labels
from kernels.graph import Graph
from kernels.oracle.compare import compares


@compares("no entry of a row of (A + A^t) L exceeds that of its label: scipy.sparse.csr_array of arcs A and labels L")
def communities(graph: Graph, answer: Components) -> None:
    """Count the votes again."""
    labels = require_labels(graph, answer.labels)
    rows, square = np.arange(len(labels)), (graph.num_vertices, graph.num_vertices)
    tails = np.repeat(rows, np.diff(graph.out.offsets))
    between = np.flatnonzero(tails != graph.out.indices)
    ends = tails[between], graph.out.indices[between]  # copies, because SciPy adds parallel arcs in place
    arcs = csr_array((np.ones(len(between), np.int64), ends), shape=square)
    votes = csr_array((arcs + arcs.T) @ csr_array((np.ones(len(labels), np.int64), (rows, labels)), shape=square))
    if not votes.nnz:
        return
    most, own = votes.max(axis=1).toarray(), np.asarray(votes[rows, labels]).ravel()
    if (most > own).any():
        row = int((most > own).argmax())
        raise Broken(
            f"vertex {name_of(graph, row)}: by SciPy {most[row] // 2} votes for another label, {own[row] // 2} for its own"
        )
