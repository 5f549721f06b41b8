"""The certificate of weak components on NumPy arrays: a scan for arcs between classes, and a union-find over some arcs."""

from functools import partial

import numpy as np

from kernels.answers import Components
from kernels.arrays import frozen
from kernels.certificate.rules import Broken, arc_ends, require_labels
from kernels.cpu.compiled import njit
from kernels.cpu.parallel import first_over_rows
from kernels.distributed.shard import Shard
from kernels.graph import Array, Csr, Graph
from kernels.wcc.certificate import reasons

_FIRST = 2  # arcs of each row, which link most rows


def check(graph: Graph, components: Components) -> None:
    """Raise Broken at the first rule of weak components that is broken."""
    labels = require_labels(graph, components.labels)
    arc = first_across(graph.out, len(labels), labels)
    if arc >= 0:
        raise Broken(reasons.two_labels(graph, labels, arc_ends(graph, arc)))
    parent = np.arange(len(labels), dtype=labels.dtype)
    # No arc joins two classes, so with a link for every row that is not a label, each class is one tree
    links, arcs = np.count_nonzero(labels != parent), (frozen(graph.out.offsets), frozen(graph.out.indices))
    for most in (_FIRST, graph.num_arcs):
        links = _link(*arcs, parent, frozen(labels), links, most)
    if links == 0 or _unite(*arcs, parent, len(parent), links):
        return
    _flatten(parent)
    apart = parent != parent[labels]
    if apart.any():
        raise Broken(reasons.apart(graph, labels, int(apart.argmax())))


def first_across(out: Csr, num_rows: int, labels: Array) -> int:
    """The first out-arc of the first `num_rows` rows that joins two classes, or -1; `labels` are those of all rows named."""
    across = partial(_first_across, frozen(out.offsets), frozen(out.indices), frozen(labels))
    return first_over_rows(out.first_rows(num_rows), across)


def trees(shard: Shard) -> Array:
    """The smallest local row that the arcs of own rows connect with each local row: index width [n + g]."""
    parent = np.arange(shard.num_local, dtype=shard.ghosts.dtype)
    for csr in (shard.local_out,) if shard.symmetric else (shard.local_out, shard.local_into):
        _unite(frozen(csr.offsets), frozen(csr.indices), parent, len(shard.ids), -1)
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
def _link(offsets: Array, indices: Array, parent: Array, labels: Array, links: int, most: int) -> int:
    """Link roots, as `_unite` does, over up to `most` arcs of each row that is not yet linked with its label.

    Returns how many of the wanted links are missing. Few arcs of each row suffice for most rows of a large component.
    """
    for u in range(len(labels)):
        if links == 0:
            return 0
        if _root(parent, u) == _root(parent, labels[u]):
            continue
        for arc in range(offsets[u], min(offsets[u] + most, offsets[u + 1])):
            one, other = _root(parent, u), _root(parent, indices[arc])
            if one != other:
                parent[max(one, other)] = min(one, other)
                links -= 1
    return links


@njit(cache=True, nogil=True)
def _unite(offsets: Array, indices: Array, parent: Array, num_own: int, links: int) -> bool:
    """Link roots, the greater to the smaller, over the arcs of own rows; stop and return True after this many links."""
    for u in range(num_own):
        for arc in range(offsets[u], offsets[u + 1]):
            one, other = _root(parent, u), _root(parent, indices[arc])
            if one != other:
                parent[max(one, other)] = min(one, other)
                links -= 1
        if links == 0:
            return True
    return False


@njit(cache=True, nogil=True)
def _flatten(parent: Array) -> None:
    for row in range(len(parent)):
        parent[row] = parent[parent[row]]
