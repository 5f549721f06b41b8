"""The certificates of components on NumPy arrays: a union-find over the arcs, and Kahn's algorithm over the classes."""

from __future__ import annotations

import numpy as np
from numba import njit

from kernels.answers import Components
from kernels.arrays import frozen
from kernels.certificate.rules import Broken, arc_ends, require_labels
from kernels.components.certificate import reasons
from kernels.graph import Array, Csr, Graph


def check_weak(graph: Graph, components: Components) -> None:
    """Raise Broken at the first rule of weak components that is broken."""
    labels = require_labels(graph, components.labels)
    offsets, indices = frozen(graph.out.offsets), frozen(graph.out.indices)
    arc = _first_arc_between(offsets, indices, labels)
    if arc >= 0:
        raise Broken(reasons.two_labels(graph, labels, arc_ends(graph, arc)))
    row = _first_apart(offsets, indices, labels)
    if row >= 0:
        raise Broken(reasons.apart(graph, labels, row))


def check_strong(graph: Graph, components: Components) -> None:
    """Raise Broken at the first rule of strong components that is broken."""
    labels = require_labels(graph, components.labels)
    _require_peeled(graph, graph.out, labels, forward=True)
    if not graph.symmetric:
        _require_peeled(graph, graph.into, labels, forward=False)


def _require_peeled(graph: Graph, csr: Csr, labels: Array, *, forward: bool) -> None:
    reached = _peel(frozen(csr.offsets), frozen(csr.indices), labels)
    if reached.all():
        return
    # a class whose label is reached was searched; if those are whole, what is left waits for itself
    uncovered = ~reached & reached[labels]
    if uncovered.any():
        raise Broken(reasons.uncovered(graph, labels, int(uncovered.argmax()), forward))
    raise Broken(reasons.cyclic(graph, labels, int(reached.argmin())))


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
