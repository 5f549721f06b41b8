"""Whether the arcs of a graph lead to rows near by, which decides how some kernels read them."""

import cupy

from kernels.graph import Graph

_SAMPLED_ROWS, _ANY_ARC = 1 << 13, 7919  # rows whose arcs show whether arcs are local, and a prime that chooses one of each
_NEAR, _PART, _LOCAL = 3 << 14, 16, 0.75  # rows away, at most a sixteenth of all; so far lead most arcs of a graph that is local


def is_local(graph: Graph) -> bool:
    """Whether most out-arcs lead to rows near by, as in roads, meshes and nearest neighbours; estimated from one of some rows.

    It depends on the graph alone. The first call on a graph finds it out.
    """
    return graph.derived.get(is_local, lambda: _estimated(graph))


def _estimated(graph: Graph) -> bool:
    num_rows, offsets = graph.num_vertices, graph.out.offsets
    rows = cupy.arange(0, num_rows, max(1, num_rows // _SAMPLED_ROWS))
    rows = rows[offsets[rows + 1] > offsets[rows]]
    arcs = offsets[rows] + rows * _ANY_ARC % (offsets[rows + 1] - offsets[rows])
    near = cupy.abs(graph.out.indices[arcs] - rows) < min(_NEAR, num_rows // _PART)
    return int(cupy.count_nonzero(near)) >= _LOCAL * len(rows)
