"""Certificate of strong components: a label is a class, searches cover every class, and no cycle leads through two.

From its label a search inside the class, along the arcs and against them, covers the class, so a class lies in one component.
The condensation of the classes is acyclic (Kahn, 1962), so no cycle, and no component, spans two classes.

References: Kahn: Topological sorting of large networks. CACM 5(11), 1962.
"""

from typing import Any

from kernels.answers import Certificate, Components
from kernels.arrays import is_cupy
from kernels.certificate.rules import NAMED, verdict
from kernels.graph import Csr, Graph

RULES = (
    NAMED,
    "a search from the label, inside its class, covers the class",
    "a search from the label, inside its class and against the arcs, covers the class",
    "no cycle leads through two classes",
)


def certify_scc(graph: Graph, components: Components) -> Certificate:
    """Prove that `components` are the strong components, named by their smallest external id.

    O(V + A) time, 3 V entries of memory. The certificate of a malformed answer does not hold; nothing is raised.
    """
    return verdict(RULES, check_scc, graph, components)


def check_scc(graph: Graph, components: Components) -> None:
    """Raise `kernels.certificate.rules.Broken` at the first of RULES that is broken, as certificates that include them need."""
    backend_of(graph).check(graph, components)


def backend_of(arrays: Graph | Csr) -> Any:
    """The module that checks these arrays: `cpu` or `cuda`."""
    if is_cupy(arrays):
        from kernels.scc.certificate import cuda

        return cuda
    from kernels.scc.certificate import cpu

    return cpu
