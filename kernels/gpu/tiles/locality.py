"""Whether the arcs of a graph lead to rows near by, which decides how some kernels read them."""

import cupy

from kernels.graph import Graph

_SAMPLED_ROWS, _ANY_ARC = 1 << 13, 7919  # rows whose arcs show whether arcs are local, and a prime that chooses one of each
_NEAR, _PART, _LOCAL = 3 << 14, 16, 0.75  # rows away, at most a sixteenth of all; so far lead most arcs of a graph that is local


def is_local(graph: Graph, near: int | None = None, popular: int = 0) -> bool:
    """Whether most out-arcs lead to rows near by, as in roads, meshes and nearest neighbours; estimated from one of some rows.

    It depends on the graph alone. The first call on a graph finds it out.

    Args:
        near: So many rows away is near by, or a sixteenth of all rows if that is less; by default what fits a tile.
        popular: So many first rows, which have most arcs, count as near by.
    """
    return graph.derived.get((is_local, near, popular), lambda: _estimated(graph, _NEAR if near is None else near, popular))


def _estimated(graph: Graph, near: int, popular: int) -> bool:
    num_rows, offsets = graph.num_vertices, graph.out.offsets
    rows = cupy.arange(0, num_rows, max(1, num_rows // _SAMPLED_ROWS))
    rows = rows[offsets[rows + 1] > offsets[rows]]
    arcs = offsets[rows] + rows * _ANY_ARC % (offsets[rows + 1] - offsets[rows])
    heads = graph.out.indices[arcs]
    leads_near = (cupy.abs(heads - rows) < min(near, num_rows // _PART)) | (heads < popular)
    return int(cupy.count_nonzero(leads_near)) >= _LOCAL * len(rows)
