"""The certificate of weak components on NumPy arrays: a scan for arcs between classes, and a union-find over the arcs."""

from __future__ import annotations

from functools import partial

import numpy as np
from numba import njit

from kernels.answers import Components
from kernels.arrays import frozen
from kernels.certificate.local_arcs import first_found, of_own_rows
from kernels.certificate.rules import Broken, arc_ends, require_labels
from kernels.cpu.parallel import over_rows
from kernels.distributed.shard import Shard
from kernels.graph import Array, Graph
from kernels.wcc.certificate import reasons


def check(graph: Graph, components: Components) -> None:
    """Raise Broken at the first rule of weak components that is broken."""
    labels = require_labels(graph, components.labels)
    offsets, indices = frozen(graph.out.offsets), frozen(graph.out.indices)
    arc = _first_across(offsets, indices, labels, 0, len(labels))
    if arc >= 0:
        raise Broken(reasons.two_labels(graph, labels, arc_ends(graph, arc)))
    row = _first_apart(offsets, indices, labels)
    if row >= 0:
        raise Broken(reasons.apart(graph, labels, row))


def first_across(shard: Shard, labels: Array) -> int:
    """The first out-arc of own rows that joins two classes, or -1; `labels` are [n + g]."""
    out = of_own_rows(shard, shard.local_out)
    return first_found(over_rows(out, partial(_first_across, frozen(out.offsets), frozen(out.indices), frozen(labels))))


def trees(shard: Shard) -> Array:
    """The smallest local row that the arcs of own rows connect with each local row: index width [n + g]."""
    parent = np.arange(len(shard.local_rows), dtype=shard.ghosts.dtype)
    for csr in (shard.local_out,) if shard.symmetric else (shard.local_out, shard.local_into):
        _unite(frozen(csr.offsets), frozen(csr.indices), parent, len(shard.ids))
    _flatten(parent)
    return parent


@njit(cache=True, nogil=True)
def _first_across(offsets: Array, indices: Array, labels: Array, begin: int, end: int) -> int:
    """First arc of rows `begin:end` whose endpoints have two labels, or -1."""
    for u in range(begin, end):
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
            return -1  # every class is one tree: there were V - classes joins, each inside one class
    for row in range(len(labels)):
        if _root(parent, row) != _root(parent, labels[row]):
            return row
    return -1


@njit(cache=True, nogil=True)
def _unite(offsets: Array, indices: Array, parent: Array, num_own: int) -> None:
    for u in range(num_own):
        for arc in range(offsets[u], offsets[u + 1]):
            one, other = _root(parent, u), _root(parent, indices[arc])
            parent[max(one, other)] = min(one, other)


@njit(cache=True, nogil=True)
def _flatten(parent: Array) -> None:
    for row in range(len(parent)):
        parent[row] = parent[parent[row]]
