"""The oracle of the transitive closure: SciPy's breadth-first searches."""

import numpy as np
from scipy.sparse.csgraph import breadth_first_order

from kernels.answers import Closure
from kernels.certificate.rules import Broken, name_of, require_rows
from kernels.graph import Graph
from kernels.oracle.by_scipy import matrix_of
from kernels.oracle.compare import compares

VERTICES = 4096  # of the sample


@compares(
    "what {} of {} vertices reach is as in scipy.sparse.csgraph.breadth_first_order",
    lambda graph, _, **__: (min(graph.num_vertices, VERTICES), graph.num_vertices),
)
def closure(graph: Graph, closure: Closure, **_: int) -> None:
    """Compare a random sample of vertices, or all."""
    length, num_vertices = len(closure.vertex), graph.num_vertices
    vertex, reached = (require_rows(name, getattr(closure, name), length, num_vertices) for name in ("vertex", "reached"))
    begins = np.concatenate([[0], np.cumsum(np.bincount(graph.positions[vertex], minlength=num_vertices))])
    arcs = matrix_of(graph, np.ones(graph.num_arcs, np.int8))
    for row in np.random.default_rng(0).choice(num_vertices, min(num_vertices, VERTICES), replace=False).tolist():
        solved = breadth_first_order(arcs, row, return_predecessors=False)
        returns = np.isin(graph.into.indices[graph.into.offsets[row] : graph.into.offsets[row + 1]], solved).any()
        expected = np.sort(graph.positions[solved if returns else solved[1:]])
        stated = graph.positions[reached[begins[graph.positions[row]] : begins[graph.positions[row] + 1]]]
        if not np.array_equal(stated, expected):
            raise Broken(f"vertex {name_of(graph, row)}: reaches {len(stated)} vertices, which are not SciPy's {len(expected)}")
