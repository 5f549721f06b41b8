"""Witness paths: for a row that reaches another one, the unique path from one to the other.

It has the fewest arcs. Where several have, the row before each one is, of those one arc nearer to the first row, the one with the
smallest external id: the predecessor that `kernels.bfs` finds from there. So the path depends on the graph only.

Both backends search breadth-first from both ends, a level of the smaller side at a time, until a level meets the other side. They
read no labels, so a path is evidence also against the index.
"""

from collections.abc import Iterator

from kernels.answers import Witnesses
from kernels.arrays import is_cupy, require_numpy, require_rows
from kernels.cpu.parallel import cores
from kernels.graph import Array, Graph, index_dtype
from kernels.reachability.paths.constants import MOST_ROWS, SEARCH_BYTES


def shortest_paths(graph: Graph, src: Array, dst: Array, most_rows: int = MOST_ROWS) -> Iterator[Witnesses]:
    """Find the path from row `src[q]` to row `dst[q]`, for every q.

    Args:
        src, dst (integers [Q]): Rows of the graph, where its arrays are.
        most_rows: About how many rows the paths may have that are found together.

    Yields:
        Paths of the next queries, at least one, in order. `begins` are exact; a length is 0 where there is no path.

    Raises:
        IndexError: If an entry is not a row of the graph.
        TypeError: If the rows are not integers, or the graph's arrays belong to a backend without this kernel.
        ValueError: If the lengths differ.
    """
    src, dst = require_rows(graph, src), require_rows(graph, dst)
    if len(src) != len(dst):
        raise ValueError(f"shortest_paths: {len(src)} sources, {len(dst)} destinations")
    if is_cupy(graph):
        from kernels.reachability.paths.cuda import search
    else:
        require_numpy(graph, "shortest_paths")
        from kernels.reachability.paths.cpu import search
    return search(graph, src, dst, max(most_rows, graph.num_vertices))


def first_wrong_path(graph: Graph, src: Array, dst: Array, paths: Witnesses) -> int:
    """The first query without a path that leads from its row of `src` to that of `dst` along stored arcs; -1 if there is none."""
    if is_cupy(graph):
        from kernels.reachability.certificate.answers_cuda import first_wrong_path as check
    else:
        from kernels.reachability.certificate.answers_cpu import first_wrong_path as check
    missing = (paths.lengths == 0).nonzero()[0]
    wrong = check(graph.out, src, dst, paths, graph.ids)
    return min((query for query in (wrong, *missing[:1].tolist()) if query >= 0), default=-1)


def memory_of_paths(num_vertices: int, *, gpu: bool = False) -> int:
    """Bound the bytes that `shortest_paths` takes in addition to the graph: of the searches, and of the paths."""
    width = index_dtype(num_vertices).itemsize
    of_search, of_row = 4 * num_vertices * width, width + 24 if gpu else width
    searches = max(SEARCH_BYTES, of_search) if gpu else cores() * of_search
    return searches + of_row * max(MOST_ROWS, num_vertices * (1 if gpu else cores()))
