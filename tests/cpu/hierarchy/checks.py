"""What a hierarchy must satisfy, in plain Python: its numbering, what shortcuts stand for, and the distances that it gives."""

import numpy as np

from kernels.answers import Hierarchy, HierarchyArcs
from kernels.arrays import is_cupy_array
from kernels.gpu.loader import to_host
from kernels.graph import UNREACHED, Array, Graph, distance_dtype
from kernels.sssp import sssp


def require_hierarchy(graph: Graph, hierarchy: Hierarchy, sources: int = 3) -> None:
    """Check a hierarchy's arrays, every shortcut, and the distances from some sources."""
    size = graph.num_vertices
    assert hierarchy.positions[hierarchy.rows].tolist() == list(range(size))
    assert hierarchy.rows.dtype == hierarchy.positions.dtype == graph.rows_by_id.dtype
    assert hierarchy.level_starts.tolist() == sorted(set(hierarchy.level_starts.tolist()))
    assert [hierarchy.level_starts[0], hierarchy.level_starts[-1]] == [0, size]
    assert hierarchy.symmetric == graph.symmetric
    level = np.repeat(np.arange(hierarchy.num_levels), np.diff(hierarchy.level_starts))
    for arcs, downwards in ((hierarchy.up, False), (hierarchy.down, True)):
        for place in range(size):
            others = arcs.others[arcs.offsets[place] : arcs.offsets[place + 1]]
            assert (others[1:] > others[:-1]).all()
            assert (level[others] < level[place]).all()
            for arc in range(arcs.offsets[place], arcs.offsets[place + 1]):
                ends = (arcs.others[arc], place) if downwards else (place, arcs.others[arc])
                require_arc(graph, hierarchy, ends, arcs, arc, downwards and not graph.symmetric)
    for source in range(0, size, max(1, size // sources)):
        found, right = distances(hierarchy, source), sssp(graph, source).distance
        assert found.dtype == right.dtype
        assert (found == right).all() if hierarchy.exact else np.allclose(found, right, rtol=1e-12, atol=0)


def require_arc(
    graph: Graph, hierarchy: Hierarchy, ends: tuple[int, int], arcs: HierarchyArcs, arc: int, enters: bool
) -> None:  # fmt: skip
    """Check that an arc is the original one that it names, or has the weight of the two that it stands for."""
    original, middle = int(arcs.originals[arc]), int(arcs.middles[arc])
    assert (original < 0) == (middle >= 0)
    if original >= 0:
        src, dst = hierarchy.rows[list(ends)].tolist()
        if graph.symmetric and arcs is hierarchy.up and arcs.others[arc] == ends[0]:
            src, dst = dst, src
        assert graph.out.offsets[src] <= original < graph.out.offsets[src + 1]
        assert graph.out.indices[original] == dst
        assert arcs.weights[arc] == (1 if graph.out.weights is None else graph.out.weights[original])
        return
    first, second = (
        side.weights[side.offsets[middle] + np.searchsorted(side.others[side.offsets[middle] : side.offsets[middle + 1]], end)]
        for side, end in zip((hierarchy.down, hierarchy.up), ends, strict=True)
    )
    assert middle > max(ends)
    assert arcs.weights[arc] == first + second


def distances(hierarchy: Hierarchy, source: int) -> Array:
    """Distances by row: the least of the ascending and then descending paths; UNREACHED without one."""
    kind = distance_dtype(hierarchy.up.weights)
    far = np.uint64(2**63) if kind == np.int64 else np.float64(np.inf)
    lengths = np.full(hierarchy.num_vertices, far)
    up, down = hierarchy.up, hierarchy.down
    weights = [arcs.weights.astype(lengths.dtype) for arcs in (up, down)]
    lengths[hierarchy.positions[source]] = 0
    for place in reversed(range(hierarchy.num_vertices)):
        if lengths[place] < far:
            arcs = slice(up.offsets[place], up.offsets[place + 1])
            lengths[up.others[arcs]] = np.minimum(lengths[up.others[arcs]], lengths[place] + weights[0][arcs])
    for place in range(hierarchy.num_vertices):
        arcs = slice(down.offsets[place], down.offsets[place + 1])
        lengths[place] = min((lengths[place], *(lengths[down.others[arcs]] + weights[1][arcs])))
    unreached = lengths >= far
    found = lengths.view(kind)
    found[unreached] = UNREACHED
    return found[hierarchy.positions]


def same(found: Hierarchy, expected: Hierarchy) -> None:
    """Check that a hierarchy on the GPU is one on the CPU, array by array."""
    arrays = [(getattr(found, name), getattr(expected, name)) for name in ("rows", "positions", "level_starts")]
    for side, right in ((found.up, expected.up), (found.down, expected.down)):
        arrays += [(getattr(side, name), array) for name, array in vars(right).items()]
    for there, array in arrays:
        assert is_cupy_array(there)
        assert there.dtype == array.dtype
        np.testing.assert_array_equal(to_host(there), array)
    assert (found.exact, found.symmetric) == (expected.exact, expected.symmetric)
