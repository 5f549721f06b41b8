"""Core numbers: in how dense a part of the graph each row is.

Read `cpu.py` first. On a GPU `cores.cu` removes rows by their numbers of neighbours.
"""

from dataclasses import dataclass

from kernels.arrays import on_gpu
from kernels.graph import Array, Graph


@dataclass(frozen=True)
class Cores:
    """Core numbers of all rows."""

    core: Array  # int64 [V]: the core number, 0 for a row without neighbours


def cores(graph: Graph) -> Cores:
    """Find the core number of every row; weights and directions are not read.

    The k-core is the largest set of rows in which each has at least k neighbours in the set. The core number of a row is the
    largest k whose k-core has it. A neighbour is another row at the other end of an arc of either direction, and counts once,
    however many arcs lead to and from it: NetworkX's `core_number` of the undirected graph without self-loops.

    Source: Seidman, Network Structure and Minimum Degree, Social Networks 5, 1983.

    Example, with the graph of `kernels.graph.Graph`:
        >>> cores(graph).core.tolist()
        [2, 2, 2]
    """
    if on_gpu(graph, "cores"):
        from kernels.cores.cuda import solve
    else:
        from kernels.cores.cpu import solve
    return Cores(solve(graph))
