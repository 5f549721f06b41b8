"""Transitive closure: all pairs of vertices such that a path of at least one arc leads from the first to the second.

Read `cpu.py` first; `order.py` orders the nodes, and `limit.py` refuses closures that are too large.
"""

import numpy as np

from kernels.answers import Closure
from kernels.arrays import on_gpu
from kernels.closure.limit import LIMIT, require_few
from kernels.distributed import Communicator, Owners, SingleRank
from kernels.graph import Graph
from kernels.reachability import condense


def closure(graph: Graph, limit: int = LIMIT, communicator: Communicator | None = None) -> Closure:
    """List the pairs.

    Bits, one for each vertex in the order of external ids, are united along the arcs of the condensation, block by block, after
    Purdom: A transitive closure algorithm. BIT 10, 1970.

    Args:
        limit: The largest number of pairs; over ranks the least of theirs.
        communicator: Of ranks that hold this graph each. Rank r then has the pairs whose second vertex is, in the order of
            external ids, in the r-th of equal parts. The call is a collective.

    Raises:
        AnswerTooLarge: There are more pairs. It is raised before the work where the strong components alone have too many pairs,
            and otherwise before the pairs are listed.

    Example, with the graph of `kernels.graph.Graph`:
        >>> pairs = closure(graph)
        >>> [*zip(pairs.vertex.tolist(), pairs.reached.tolist())]
        [(0, 1), (0, 2), (1, 2)]
    """
    if on_gpu(graph, "closure"):
        from kernels.closure.cuda import list_pairs
    else:
        from kernels.closure.cpu import list_pairs
    ranks = communicator or SingleRank()
    limit, columns = ranks.min(limit), Owners.evenly(graph.num_vertices, ranks).own
    nodes = condense(graph)
    sizes = np.bincount(nodes.node, minlength=nodes.num_nodes)
    require_few(int((sizes[sizes > 1].astype(np.float64) ** 2).sum()), limit)
    return list_pairs(graph, nodes, columns, lambda pairs: require_few(ranks.sum(pairs), limit), limit)
