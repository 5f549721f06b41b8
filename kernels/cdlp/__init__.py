"""CDLP: community detection by label propagation, as the benchmark LDBC Graphalytics defines it.

Read `cpu.py` first; `cdlp.cu` has the same rounds on a GPU.
"""

from kernels.answers import Components
from kernels.arrays import on_gpu
from kernels.cdlp.parameters import ITERATIONS, checked
from kernels.graph import Graph


def cdlp(graph: Graph, iterations: int = ITERATIONS) -> Components:
    """Propagate labels for a fixed number of rounds; weights are not read.

    At first every row has a label of its own, its external id. In a round all rows take, at the same time, the label that most of
    their neighbours have, of several the smallest. In-arcs and out-arcs both count, so that in a directed graph a neighbour in
    both directions counts twice, as do parallel arcs; self-loops do not. A row without neighbours keeps its label.

    Args:
        iterations: Number of rounds, 0 or more.

    Returns:
        Of each row, the row whose id is its label. That row may have another label itself.

    Raises ValueError if `iterations` is negative.

    Source: Iosup et al., The LDBC Graphalytics Benchmark, arXiv 2011.15028, 2020.

    Example, with the graph of `kernels.graph.Graph`:
        >>> cdlp(graph, 1).labels.tolist()
        [1, 0, 0]
    """
    rounds = checked(iterations)
    if on_gpu(graph, "cdlp"):
        from kernels.cdlp.cuda import solve
    else:
        from kernels.cdlp.cpu import solve
    return solve(graph, rounds)
