"""How much memory queries take."""

from kernels.reachability.queries.constants import RECORD_DIMENSIONS

LINE = 64  # bytes of a cache line
BIT_BYTES = 16  # the two words of bits at the begin of a CPU record
NUM_SCALARS = 4  # level, height, first, last
PATH_NODES = 1 << 24  # of the paths that are searched for together; more if a single path may have more
QUERIES_PER_PASS = 1 << 27  # on a GPU: 4 bytes each for the list of those that the labels do not decide
WIDE_SEARCH_BYTES = 1 << 30  # on a GPU, of masks and lists; more if the records take more, or one block needs more


def record_bytes(dimensions: int, width: int) -> int:
    """Size of a CPU record whose entries have `width` bytes: one cache line for up to four dimensions of int32 nodes."""
    return _padded(BIT_BYTES + width * (NUM_SCALARS + 2 * dimensions), LINE // 2)


def record_bytes_on_gpu(width: int) -> int:
    """Size of a GPU record whose entries have `width` bytes: two structs, each aligned to a sector of 32 bytes (records.cuh)."""
    return _padded(8 + 2 * RECORD_DIMENSIONS * width, 32) + _padded(2 * width + BIT_BYTES, 32)


def path_bytes(num_vertices: int, width: int) -> int:
    """Size of the paths that are searched for together, in a graph where a path may have all vertices."""
    return width * max(PATH_NODES, num_vertices + 2)


def _padded(length: int, alignment: int) -> int:
    return -(-length // alignment) * alignment
