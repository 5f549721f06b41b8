"""How much device memory an index takes beside the graph, before it is built: an upper bound, for a graph without cycles."""

from __future__ import annotations

from kernels.graph import OFFSET, index_dtype
from kernels.reachability import Memory
from kernels.reachability.gpu.queries import PART, WIDE_BYTES, record_bytes

_FUSED = 2  # dimensions of a pass


def memory(num_vertices: int, num_arcs: int, dimensions: int, method: str) -> Memory:
    """Answer `kernels.reachability.memory` for CuPy arrays."""
    index = index_dtype(num_vertices).itemsize
    row, arc = num_vertices * index, num_arcs * index
    condensation = 2 * row + 2 * (OFFSET.itemsize * (num_vertices + 1) + arc)
    labels = 4 * dimensions * row + 24 * num_vertices
    searching_components = 6 * row + 3 * arc
    sorting = 3 * row + 26 * num_arcs  # keys, twice in a sort, and a mark, a place and a key of those that stay
    labelling = 2 * row + 16 * num_vertices + dimensions * row + 24 * num_vertices + 2 * _FUSED * row
    if method == "dfs":
        jumps = num_vertices.bit_length() * (row + index) + 4 * num_vertices
        labelling += 2 * arc + max(40 * num_arcs, 16 * num_vertices + row + jumps)
    build = max(searching_components, condensation + sorting, condensation + labels + labelling)
    records = record_bytes(index) * num_vertices
    return Memory(build, condensation + labels + records + max(WIDE_BYTES, records) + 24 * PART)
