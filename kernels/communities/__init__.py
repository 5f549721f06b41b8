"""Communities: sets of rows in which no row has more neighbours in another set than in its own.

Read `cpu.py` first; `communities.cu` has the same rounds on a GPU.
"""

from kernels.answers import Components
from kernels.arrays import on_gpu
from kernels.graph import Graph


def communities(graph: Graph) -> Components:
    """Find communities by synchronous label propagation; weights and directions are not read.

    At first every row has a label of its own, its external id. Each arc between two rows is a vote, at each end for the label at
    the other; parallel arcs vote each, self-loops do not. A row prefers the label of most votes: its own if that is one of them,
    otherwise the smallest. In round t = 1, 2, ..., FREE_ROUNDS the rows of class t mod 2 take the labels that they prefer, all
    at once; a row's class is a bit of a hash of its position. Two rows of a class that follow each other could do so forever.
    Therefore, in later rounds, rows of both classes may move, but of neighbours that prefer another label only the one of least
    hash of position and round does. Then each move increases the number of arcs within communities, so the rounds end. They end
    when no row prefers another label.

    A community may be in several parts, because the row that joined them may have left; the certificate counts such communities.

    Returns:
        Of each row, the row of smallest external id in its community.

    Sources: Raghavan, Albert, Kumara, Near Linear Time Algorithm to Detect Community Structures in Large-Scale Networks, Physical
    Review E 76, 2007. Moves of rows that are no neighbours, by random keys: Luby, A Simple Parallel Algorithm for the Maximal
    Independent Set Problem, SIAM Journal on Computing 15, 1986.

    Example, with the graph of `kernels.graph.Graph`:
        >>> communities(graph).labels.tolist()
        [0, 0, 0]
    """
    if on_gpu(graph, "communities"):
        from kernels.communities.cuda import solve
    else:
        from kernels.communities.cpu import solve
    return solve(graph)
