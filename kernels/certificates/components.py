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

import numpy as np
from numba import njit

from kernels.answers import Certificate, Components
from kernels.certificates.rules import NAMED, Broken, arc_ends, arc_name, frozen, name_of, require_labels, verdict
from kernels.graph import Array, Csr, Graph

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
    return verdict(WCC_RULES, _check_weak, graph, components)


def certify_scc(graph: Graph, components: Components) -> Certificate:
    """Prove that `components` are the strong components, named by their smallest external id.

    O(V + A) time, 3 V entries of memory. Malformed answers do not hold; nothing is raised.
    """
    return verdict(SCC_RULES, _check_strong, graph, components)


def _check_weak(graph: Graph, components: Components) -> None:
    labels = require_labels(graph, components.labels)
    offsets, indices = frozen(graph.out.offsets), frozen(graph.out.indices)
    arc = _first_arc_between(offsets, indices, labels)
    if arc >= 0:
        src, dst = (name_of(graph, labels[end]) for end in arc_ends(graph, arc))
        raise Broken(f"{arc_name(graph, arc)}: labels {src} and {dst} differ")
    row = _first_apart(offsets, indices, labels)
    if row >= 0:
        raise Broken(f"vertex {name_of(graph, row)}: no arcs connect it to its label {name_of(graph, labels[row])}")


def _check_strong(graph: Graph, components: Components) -> None:
    labels = require_labels(graph, components.labels)
    _require_peeled(graph, graph.out, labels, "is not reached from")
    if not graph.symmetric:
        _require_peeled(graph, graph.into, labels, "does not reach")


def _require_peeled(graph: Graph, csr: Csr, labels: Array, verb: str) -> None:
    reached = _peel(frozen(csr.offsets), frozen(csr.indices), labels)
    if reached.all():
        return
    # a class whose label is reached was searched; if those are whole, what is left waits for itself
    uncovered = ~reached & reached[labels]
    if uncovered.any():
        row = int(uncovered.argmax())
        label = name_of(graph, labels[row])
        raise Broken(f"vertex {name_of(graph, row)}: {verb} its label {label} inside the class")
    label = name_of(graph, labels[reached.argmin()])
    raise Broken(f"class {label}: lies on a cycle of classes, or beyond one")


@njit(cache=True, nogil=True)
def _first_arc_between(offsets: Array, indices: Array, labels: Array) -> int:
    """First arc whose ends have two labels, or -1."""
    for u in range(len(labels)):
        for arc in range(offsets[u], offsets[u + 1]):
            if labels[indices[arc]] != labels[u]:
                return arc
    return -1


@njit(cache=True, nogil=True)
def _root(parent: Array, row: int) -> int:
    while parent[row] != row:
        parent[row] = parent[parent[row]]
        row = parent[row]
    return row


@njit(cache=True, nogil=True)
def _first_apart(offsets: Array, indices: Array, labels: Array) -> int:
    """First row that the arcs, read both ways, do not connect to its label, or -1; no arc may join two labels."""
    parent = np.arange(len(labels)).astype(labels.dtype)
    missing = 0
    for row in range(len(labels)):
        missing += labels[row] != row
    for u in range(len(labels)):
        for arc in range(offsets[u], offsets[u + 1]):
            a, b = _root(parent, u), _root(parent, indices[arc])
            if a != b:
                parent[max(a, b)] = min(a, b)
                missing -= 1
        if missing == 0:
            return -1  # every class is one tree: V - classes joins, none of them across
    for row in range(len(labels)):
        if _root(parent, row) != _root(parent, labels[row]):
            return row
    return -1


@njit(cache=True, nogil=True)
def _peel(offsets: Array, indices: Array, labels: Array) -> Array:
    """Kahn's algorithm over the classes, each searched from its label when no arc into it is left: the rows it reaches."""
    waiting = np.zeros(len(labels), np.int64)
    for u in range(len(labels)):
        for arc in range(offsets[u], offsets[u + 1]):
            waiting[labels[indices[arc]]] += labels[indices[arc]] != labels[u]
    reached = np.zeros(len(labels), np.bool_)
    queue = np.empty(len(labels), labels.dtype)
    head = tail = 0
    for row in range(len(labels)):
        if labels[row] == row and waiting[row] == 0:
            reached[row] = True
            queue[tail] = row
            tail += 1
    while head < tail:
        u = queue[head]
        head += 1
        for arc in range(offsets[u], offsets[u + 1]):
            v = indices[arc]
            if labels[v] != labels[u]:
                v = labels[v]
                waiting[v] -= 1
                if waiting[v] > 0:
                    continue
            if not reached[v]:
                reached[v] = True
                queue[tail] = v
                tail += 1
    return reached
