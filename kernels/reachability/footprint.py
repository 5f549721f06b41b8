"""How much memory an index takes on the CPU, before it is built: an upper bound, for a graph that is its own condensation."""

from __future__ import annotations

from kernels.cpu.parallel import cores
from kernels.graph import OFFSET, index_dtype
from kernels.reachability import Memory
from kernels.reachability.cuts import record_bytes


def memory(num_vertices: int, num_arcs: int, dimensions: int, method: str) -> Memory:
    """Answer `kernels.reachability.memory` for NumPy arrays."""
    index = index_dtype(num_vertices).itemsize
    row, arc = num_vertices * index, num_arcs * index
    offsets = OFFSET.itemsize * (num_vertices + 1)
    condensation = 2 * row + 2 * (offsets + arc)
    labels = 4 * dimensions * row + 24 * num_vertices
    workers = min(cores(), dimensions)
    condensing = 5 * row + 3 * offsets + 4 * arc  # of scc and of the sorts
    labelling = 4 * dimensions * row + 3 * row + workers * _forest_bytes(num_vertices, num_arcs, index, method)
    searching = cores() * (2 * row + 10 * num_vertices)
    index_bytes = condensation + labels
    build = max(condensation + condensing, index_bytes + labelling)
    build += build // 4  # what the allocator keeps of what was freed
    return Memory(build, index_bytes + record_bytes(dimensions, index) * num_vertices + searching)


def _forest_bytes(num_vertices: int, num_arcs: int, index: int, method: str) -> int:
    """Of finding one dimension's forest; with "dfs" as much as the comparison of paths takes, should it be needed."""
    if method == "tree":
        return num_vertices * index
    sums = 16 * num_vertices + 8 * num_arcs
    ancestors = (num_vertices.bit_length() + 1) * num_vertices * index + 16 * num_vertices
    return 2 * num_vertices * index + num_arcs * index + sums + ancestors
