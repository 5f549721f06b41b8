"""Certificate of weak components: a label is a class, no arc joins two classes, and arcs connect every class.

No arc joins two classes, so a component lies in one class. A union-find over the arcs joins every vertex to its label, so a class
lies in one component.

References: Tarjan, van Leeuwen: Worst-case analysis of set union algorithms. JACM 31(2), 1984 (path halving).
"""

from typing import Any

from kernels.answers import Certificate, Components
from kernels.arrays import is_cupy
from kernels.certificate.rules import NAMED, verdict
from kernels.graph import Csr, Graph

RULES = (NAMED, "both ends of every arc have one label", "arcs connect every vertex to its label")


def certify_wcc(graph: Graph, components: Components) -> Certificate:
    """Prove that `components` are the weak components, named by their smallest external id.

    O(V + A) time but for the inverse of Ackermann's function, V index entries of memory. The certificate of a malformed answer
    does not hold; nothing is raised.
    """
    return verdict(RULES, backend_of(graph).check, graph, components)


def backend_of(arrays: Graph | Csr) -> Any:
    """The module that checks these arrays: `cpu` or `cuda`."""
    if is_cupy(arrays):
        from kernels.wcc.certificate import cuda

        return cuda
    from kernels.wcc.certificate import cpu

    return cpu
