"""Arcs divided by ranges of neighbours, so that a sweep over one part reads a range that fits a cache.

Zhang, Kiriansky, Mendis, Amarasinghe, Zaharia: Making Caches Work for Graph Analytics (2017).
"""

import numpy as np

from kernels.graph import OFFSET, Csr, Graph


def segmented(graph: Graph, csr: Csr, count: int) -> list[Csr]:
    """The arcs of each of `count` ranges of neighbours, in their order; derived from the graph once."""
    return graph.derived.get((segmented, csr is graph.out, count), lambda: [_part(csr, k, count) for k in range(count)])


def _part(csr: Csr, number: int, count: int) -> Csr:
    num_rows = len(csr.offsets) - 1
    begin, end = (num_rows * k // count for k in (number, number + 1))
    inside = (csr.indices >= begin) & (csr.indices < end)
    before = np.zeros(len(inside) + 1, OFFSET, like=csr.offsets)
    np.cumsum(inside, out=before[1:])
    return Csr(before[csr.offsets], csr.indices[inside], None if csr.weights is None else csr.weights[inside])
