"""How much memory an index takes before it is built: upper bounds for a graph that is its own condensation."""

from kernels.cpu.parallel import cores
from kernels.graph import OFFSET, index_dtype
from kernels.reachability.constants import FUSED_DIMENSIONS
from kernels.reachability.definitions import PeakBytes
from kernels.reachability.queries.sizes import (
    QUERIES_PER_PASS,
    WIDE_SEARCH_BYTES,
    path_bytes,
    record_bytes,
    record_bytes_on_gpu,
)


def memory_on_cpu(num_vertices: int, num_arcs: int, dimensions: int, method: str) -> PeakBytes:
    """Answer `kernels.reachability.memory` for NumPy arrays."""
    index = index_dtype(num_vertices).itemsize
    row, arc, offsets = num_vertices * index, num_arcs * index, OFFSET.itemsize * (num_vertices + 1)
    condensation = 2 * row + 2 * (offsets + arc)
    index_bytes = condensation + _label_bytes(num_vertices, dimensions, index)
    workers = min(cores(), dimensions)
    condensing = 5 * row + 3 * offsets + 4 * arc  # of scc and of the sorts
    labelling = 4 * dimensions * row + 3 * row + workers * _forest_bytes(num_vertices, num_arcs, index, method)
    searching = cores() * (3 * row + 10 * num_vertices) + path_bytes(num_vertices, index)
    build = max(condensation + condensing, index_bytes + labelling)
    build += build // 4  # what the allocator keeps of freed memory
    return PeakBytes(build, index_bytes + record_bytes(dimensions, index) * num_vertices + searching)


def memory_on_gpu(num_vertices: int, num_arcs: int, dimensions: int, method: str) -> PeakBytes:
    """Answer `kernels.reachability.memory` for CuPy arrays."""
    index = index_dtype(num_vertices).itemsize
    row, arc = num_vertices * index, num_arcs * index
    condensation = 2 * row + 2 * (OFFSET.itemsize * (num_vertices + 1) + arc)
    index_bytes = condensation + _label_bytes(num_vertices, dimensions, index)
    searching_components = 6 * row + 3 * arc
    sorting = 3 * row + 26 * num_arcs  # of an arc: keys, twice in a sort, a mark, a position and a key if it is kept
    labelling = 2 * row + 16 * num_vertices + dimensions * row + 24 * num_vertices + 2 * FUSED_DIMENSIONS * row
    if method == "dfs":
        jumps = num_vertices.bit_length() * (row + index) + 4 * num_vertices
        labelling += 2 * arc + max(40 * num_arcs, 16 * num_vertices + row + jumps)
    build = max(searching_components, condensation + sorting, index_bytes + labelling)
    records, paths = record_bytes_on_gpu(index) * num_vertices, path_bytes(num_vertices, index)
    return PeakBytes(build, index_bytes + records + max(WIDE_SEARCH_BYTES, records) + 24 * QUERIES_PER_PASS + paths)


def _label_bytes(num_vertices: int, dimensions: int, index: int) -> int:
    return 4 * dimensions * num_vertices * index + 24 * num_vertices


def _forest_bytes(num_vertices: int, num_arcs: int, index: int, method: str) -> int:
    """Of finding one dimension's forest; by "dfs" this includes the comparison of paths, which may be needed."""
    if method == "tree":
        return num_vertices * index
    sums = 16 * num_vertices + 8 * num_arcs
    ancestors = (num_vertices.bit_length() + 1) * num_vertices * index + 16 * num_vertices
    return 2 * num_vertices * index + num_arcs * index + sums + ancestors
