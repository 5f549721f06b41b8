"""The certificate of strong components on NumPy arrays: Kahn's algorithm over the classes."""

from typing import NamedTuple

import numpy as np

from kernels.answers import Components
from kernels.arrays import frozen
from kernels.certificate.rules import Broken, require_labels
from kernels.cpu.compiled import njit
from kernels.graph import Array, Csr, Graph
from kernels.scc.certificate import reasons


class ClassSearch(NamedTuple):
    """State of a search inside the classes of one rank: n own rows, g ghosts, and k classes that own rows or ghosts belong to."""

    classes: Array  # index width [n + g]: numbers of the classes, 0 to k - 1
    label_rows: Array  # index width [k]: the own row that is a class's label; -1 where another rank owns it
    unread: Array  # int64 [n]: arcs into the class of which an own row is the label that no rank has read yet; lowered
    read: Array  # int64 [k]: arcs read into a class whose label another rank owns, until they are sent to it; raised
    unreached: Array  # uint32 [n + g]: 0 where reached, own rows and ghosts; lowered


def check(graph: Graph, components: Components) -> None:
    """Raise Broken at the first rule of strong components that is broken."""
    labels = require_labels(graph, components.labels)
    _require_covered(graph, graph.out, labels, forward=True)
    if not graph.symmetric:
        _require_covered(graph, graph.into, labels, forward=False)


def _require_covered(graph: Graph, csr: Csr, labels: Array, *, forward: bool) -> None:
    reached = _search_classes(frozen(csr.offsets), frozen(csr.indices), labels)
    if reached.all():
        return
    # A class was searched if its label is reached. If all of these are covered, the others lie on or behind a cycle.
    uncovered = ~reached & reached[labels]
    if uncovered.any():
        raise Broken(reasons.uncovered(graph, labels, int(uncovered.argmax()), forward))
    raise Broken(reasons.cyclic(graph, labels, int(reached.argmin())))


def count_entering(arcs: Csr, classes: Array, num_own: int, entering: Array) -> None:
    """Add to `entering` [classes] how many arcs of own rows lead into each class from another one."""
    _count_entering(frozen(arcs.offsets), frozen(arcs.indices), frozen(classes), num_own, entering)


def search(arcs: Csr, state: ClassSearch, waits: bool, starts: Array) -> None:
    """Search inside the classes from `starts` (index width [S], own rows reached just now), along the arcs of own rows.

    If `waits`, a class is searched only when all arcs into it have been read.
    """
    arrays = frozen(state.classes), frozen(state.label_rows), len(state.unread), waits, state.unread, state.read, state.unreached
    _search(frozen(arcs.offsets), frozen(arcs.indices), *arrays, starts)


@njit(cache=True, nogil=True)
def _count_entering(offsets: Array, indices: Array, classes: Array, num_own: int, entering: Array) -> None:
    for u in range(num_own):
        for arc in range(offsets[u], offsets[u + 1]):
            entering[classes[indices[arc]]] += classes[indices[arc]] != classes[u]


@njit(cache=True, nogil=True)
def _search_classes(offsets: Array, indices: Array, labels: Array) -> Array:
    """Kahn's algorithm over the classes, each searched from its label once all arcs into it were read: the rows reached."""
    waiting = np.zeros(len(labels), np.int64)
    _count_entering(offsets, indices, labels, len(labels), waiting)
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


@njit(cache=True, nogil=True)
def _search(
    offsets: Array, indices: Array, classes: Array, label_rows: Array, num_own: int, waits: bool, unread: Array, read: Array,
    unreached: Array, starts: Array,
) -> None:  # fmt: skip
    stack = np.empty(num_own + 1, np.int64)
    for start in starts:
        stack[0], size = start, 1
        while size:
            size -= 1
            u = stack[size]
            for arc in range(offsets[u], offsets[u + 1]):
                v = indices[arc]
                if classes[v] != classes[u]:
                    if not waits:
                        continue
                    label = label_rows[classes[v]]
                    if label < 0:
                        read[classes[v]] += 1
                        continue
                    unread[label] -= 1
                    if unread[label] > 0:
                        continue
                    v = label
                if unreached[v]:
                    unreached[v] = 0
                    if v < num_own:
                        stack[size] = v
                        size += 1
