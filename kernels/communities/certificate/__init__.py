"""Proof of communities: the votes of every row are counted again, by sorting; connectivity and modularity are stated.

Modularity is the share of arcs within communities, less that of a random graph of the same degrees: with A arcs, I of them within
communities, of which c has out_c tails and in_c heads, it is I / A - sum of out_c in_c / A^2 (Newman, Girvan: Finding and
Evaluating Community Structure in Networks, Physical Review E 69, 2004; directed: Leicht, Newman, Physical Review Letters 100,
2008). All are integers, so it is stated as a fraction.

The certificate proves that no row prefers another label, not that no other communities have this property.
"""

import numpy as np

from kernels.answers import Certificate, Components
from kernels.arrays import is_cupy
from kernels.certificate.rules import NAMED, Broken, require_labels
from kernels.communities.certificate.figures import ArcSums, arcs_inside, connected, modularity, products, within
from kernels.communities.certificate.votes import another, first_astray
from kernels.distributed.lists import running
from kernels.graph import Array, Csr, Graph
from kernels.wcc import wcc

RULES = (
    NAMED,
    "no vertex has more arcs to another community than within its own",
)


def certify_communities(graph: Graph, answer: Components) -> Certificate:
    """Prove communities. O(A log A) time, in blocks of rows. A malformed answer does not hold; nothing is raised."""
    try:
        if is_cupy(graph):
            from kernels.certificate.launches import require_held

            require_held(_holds, _check, graph, answer)
        else:
            _check(graph, answer)
    except Broken as broken:
        return Certificate(False, str(broken), RULES)
    labels = answer.labels
    named = int((labels == np.arange(len(labels), dtype=labels.dtype, like=labels)).sum())
    apart, numbers = parts_apart(graph, labels), sums_of(graph.out, graph.into, labels)
    return Certificate(True, "", (*RULES, connected(apart, named), modularity(graph.num_arcs, numbers)))


def _check(graph: Graph, answer: Components) -> None:
    _require_preferred(graph, require_labels(graph, answer.labels))


def _holds(graph: Graph, answer: Components) -> bool:
    """Whether the rules hold on the GPU."""
    from kernels.certificate.launches import require_device_form

    labels = require_device_form("labels", answer.labels, graph.num_vertices, graph.rows_by_id.dtype)
    if ((labels < 0) | (labels >= graph.num_vertices)).any():
        return False
    if (labels[labels] != labels).any() or (graph.ids[labels] > graph.ids).any():
        return False
    _require_preferred(graph, labels)
    return True


def _require_preferred(graph: Graph, labels: Array) -> None:
    """Raise Broken for the first row that prefers another label."""
    if astray := first_astray(graph.out, graph.into, labels, graph.num_vertices, graph.num_vertices):
        raise Broken(another(graph, labels[astray.row], astray))


def parts_apart(graph: Graph, labels: Array) -> int:
    """Number of communities that are not connected."""
    out = within(graph.out, labels)
    into = out if graph.symmetric else within(graph.into, labels)
    parts = wcc(Graph(graph.ids, graph.rows_by_id, out, into, graph.directed)).labels
    first = parts == np.arange(len(parts), dtype=parts.dtype, like=parts)
    return len(np.unique(labels[first & (labels != parts)]))


def sums_of(out: Csr, into: Csr, labels: Array) -> ArcSums:
    """The sums of a graph."""
    tails, heads = (_sums(labels, np.diff(side.offsets)) for side in (out, into))
    return ArcSums(arcs_inside(out, labels), *products(tails, heads))


def _sums(labels: Array, degrees: Array) -> Array:
    """The sum of the degrees of each label's rows, int64 [V]."""
    order = np.argsort(labels, kind="stable")
    cuts = np.searchsorted(labels[order], np.arange(len(labels) + 1, dtype=labels.dtype, like=labels))
    sums: Array = np.diff(running(degrees[order])[cuts])
    return sums
