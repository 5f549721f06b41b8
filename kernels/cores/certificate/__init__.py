"""Certificate of core numbers: they are not too large, and not too small.

If every row has at least as many neighbours of its own core or more as its core says, then the rows of core k or more have k
neighbours among themselves, so no core is too large. If rows can be removed one by one, those of smaller cores first, each when
it has at most `core` neighbours left, then no core is too small: of a set of rows with more neighbours among themselves, the
first one could not be removed. Only neighbours of an equal core decide about the order, which the certificate finds.

Read `cpu.py` first.
"""

from typing import Any

from kernels.answers import Certificate
from kernels.arrays import is_cupy
from kernels.certificate.rules import verdict
from kernels.cores import Cores
from kernels.graph import Csr, Graph

RULES = (
    "every vertex of core k has k or more neighbours of core k or more",
    "vertices with at most core neighbours left can be removed, smaller cores first, until none is left",
)


def certify_cores(graph: Graph, answer: Cores) -> Certificate:
    """Prove core numbers. O(V + A) time. A malformed answer does not hold; nothing is raised."""
    return verdict(RULES, backend_of(graph).check, graph, answer)


def backend_of(arrays: Graph | Csr) -> Any:
    """The module that checks these arrays: `cpu` or `cuda`."""
    if is_cupy(arrays):
        from kernels.cores.certificate import cuda

        return cuda
    from kernels.cores.certificate import cpu

    return cpu
