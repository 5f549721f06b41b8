"""Proof of components: a label is a class, no arc contradicts the classes, and a search shows that each hangs together.

Weak: no arc joins two classes, so a component lies in one class; a union-find over the arcs joins every vertex to its label, so
a class lies in one component.

Strong: from its label a search inside the class, along the arcs and against them, covers the class, so a class lies in one
component. The condensation of the classes is acyclic (Kahn, 1962), so no cycle, and no component, spans two classes.

References
----------
Kahn: Topological sorting of large networks. CACM 5(11), 1962. Tarjan, van Leeuwen: Worst-case analysis of set union algorithms.
JACM 31(2), 1984 (path halving).
"""

from __future__ import annotations

from typing import Any

from kernels.answers import Certificate, Components
from kernels.arrays import is_cupy
from kernels.certificate.rules import NAMED, verdict
from kernels.graph import Graph

WCC_RULES = (NAMED, "both ends of every arc have one label", "arcs connect every vertex to its label")
SCC_RULES = (
    NAMED,
    "a search from the label, inside its class, covers the class",
    "a search from the label, inside its class and against the arcs, covers the class",
    "no cycle leads through two classes",
)


def certify_wcc(graph: Graph, components: Components) -> Certificate:
    """Prove that `components` are the weak components, named by their smallest external id.

    O(V + A) time but for the inverse of Ackermann's function, V index entries of memory. Malformed answers do not hold.
    """
    return verdict(WCC_RULES, _backend(graph).check_weak, graph, components)


def certify_scc(graph: Graph, components: Components) -> Certificate:
    """Prove that `components` are the strong components, named by their smallest external id.

    O(V + A) time, 3 V entries of memory. Malformed answers do not hold; nothing is raised.
    """
    return verdict(SCC_RULES, _backend(graph).check_strong, graph, components)


def _backend(graph: Graph) -> Any:
    if is_cupy(graph):
        from kernels.components.certificate import cuda

        return cuda
    from kernels.components.certificate import cpu

    return cpu
