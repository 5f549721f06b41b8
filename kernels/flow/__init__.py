"""Maximum flows between pairs of rows, and the minimum cut nearest the source of each.

Read `network.py` (links and links back), then `cpu.py`; `flow.cu` solves a pair in each block.
"""

from kernels.answers import Flows
from kernels.arrays import on_gpu, require_rows
from kernels.graph import Array, Graph


def max_flow(graph: Graph, src: Array, dst: Array) -> Flows:
    """Find a maximum flow from `src[q]` to `dst[q]`, for every q.

    An arc carries up to its weight, or 1 if the graph has no weights; an undirected edge carries that in either direction. Of all
    minimum cuts the one is returned whose side of the source is contained in that of all others: the vertices that the source
    reaches by arcs that can carry more. It is unique; the flow, which proves it, is not. Flows that excess is pushed along find
    their way by the heights of Goldberg, Tarjan: A New Approach to the Maximum-Flow Problem. JACM 35(4), 1988; searches set these
    anew, after Cherkassky, Goldberg: On Implementing Push-Relabel Method for the Maximum Flow Problem. Algorithmica 19, 1997.

    Args:
        src, dst (integers [Q]): Rows; a pair has two different ones.

    Raises:
        IndexError, TypeError: An entry is not a row of the graph, or not an integer.
        ValueError: The lengths differ, or a pair has one row twice.
        OverflowError: As `kernels.flow.capacities.capacities`.

    Example, with the graph of `kernels.graph.Graph`:
        >>> max_flow(graph, np.array([0]), np.array([2])).value.tolist()
        [12]
    """
    if on_gpu(graph, "max_flow"):
        from kernels.flow.cuda import solve
    else:
        from kernels.flow.cpu import solve
    src, dst = require_rows(graph, src), require_rows(graph, dst)
    if len(src) != len(dst):
        raise ValueError(f"max_flow: {len(src)} sources, {len(dst)} destinations")
    if len(same := src[src == dst]):
        raise ValueError(f"max_flow: src and dst are both row {int(same[0])}; a flow needs two rows")
    return solve(graph, src, dst)
