"""The rules about the condensation, on NumPy arrays."""

from typing import Any

import numpy as np

from kernels.answers import Components, Condensation
from kernels.arrays import frozen
from kernels.certificate.rules import Broken, arc_ends, arc_name, require_array, require_rows
from kernels.cpu.compiled import njit
from kernels.graph import OFFSET, Array, Csr, Graph, index_dtype
from kernels.reachability.certificate import reasons
from kernels.scc.certificate import check_scc

Rows = tuple[Array, Array]


def check_condensation(graph: Graph, condensation: Condensation) -> tuple[Rows, Rows]:
    """Raise Broken at the first broken rule; return the children's and the parents' offsets and indices."""
    num_vertices = graph.num_vertices
    if not isinstance(condensation, Condensation) or np.ndim(condensation.names) != 1:
        raise Broken("names is not an array of one dimension")
    num_nodes = len(condensation.names)
    names = require_rows("names", condensation.names, num_nodes, num_vertices)
    node = require_rows("node", condensation.node, num_vertices, num_vertices)
    if num_vertices and node.max() >= num_nodes:
        raise Broken(f"node has {node.max()}, outside 0..{num_nodes - 1}")
    check_scc(graph, Components(names[node]))
    wrong = node[names] != np.arange(num_nodes)
    wrong[1:] |= graph.ids[names[1:]] <= graph.ids[names[:-1]]
    if wrong.any():
        raise Broken(reasons.misnumbered(graph, condensation, int(wrong.argmax())))
    index = index_dtype(num_vertices)
    children = require_csr("children", condensation.children, num_nodes, num_nodes, index)
    parents = require_csr("parents", condensation.parents, num_nodes, num_nodes, index)
    _check_arcs(graph, condensation, node, children)
    if (parent := _first_not_transposed(*children, *parents, parents[0][:-1].copy())) >= 0:
        raise Broken(f"{reasons.node_of(graph, condensation, parent)}: its children are not the nodes whose parent it is")
    return children, parents


def require_csr(name: str, csr: Any, num_rows: int, num_nodes: int, index: np.dtype[Any]) -> Rows:
    """Frozen offsets and indices of rows of nodes, or Broken."""
    if not isinstance(csr, Csr) or csr.weights is not None:
        raise Broken(f"{name} are not a Csr without weights")
    offsets = require_array(f"{name}.offsets", csr.offsets, num_rows + 1, OFFSET)
    if offsets[0] != 0 or (offsets[1:] < offsets[:-1]).any():
        raise Broken(f"{name}.offsets descend, or do not start at 0")
    indices = require_array(f"{name}.indices", csr.indices, int(offsets[-1]), index)
    if len(indices) and not (indices.min() >= 0 and indices.max() < num_nodes):
        raise Broken(f"{name}.indices are not all in 0..{num_nodes - 1}")
    return offsets, indices


def _check_arcs(graph: Graph, condensation: Condensation, node: Array, children: Rows) -> None:
    present = np.zeros(len(children[1]), np.bool_)
    if (arc := _first_missing(frozen(graph.out.offsets), frozen(graph.out.indices), node, *children, present)) >= 0:
        raise Broken(f"{arc_name(graph, arc_ends(graph, arc))}: is not among the children")
    if not present.all():
        tail = int(np.searchsorted(children[0], present.argmin(), side="right")) - 1
        raise Broken(f"{reasons.node_of(graph, condensation, tail)}: a child without an arc, a repeated child, or a wrong order")


@njit(cache=True, nogil=True)
def _first_missing(offsets: Array, indices: Array, node: Array, child_offsets: Array, children: Array, present: Array) -> int:
    """First arc between two nodes whose head is not among the tail's children, or -1; mark children that have an arc."""
    for row in range(len(node)):
        tail = node[row]
        for arc in range(offsets[row], offsets[row + 1]):
            head = node[indices[arc]]
            if head == tail:
                continue
            begin, end = child_offsets[tail], child_offsets[tail + 1]
            place = begin + np.searchsorted(children[begin:end], head)
            if place == end or children[place] != head:
                return arc
            present[place] = True
    return -1


@njit(cache=True, nogil=True)
def _first_not_transposed(offsets: Array, indices: Array, into_offsets: Array, into_indices: Array, expected: Array) -> int:
    """First node that is not the next parent of its children, or that has further parents, or -1."""
    for tail in range(len(offsets) - 1):
        for arc in range(offsets[tail], offsets[tail + 1]):
            place = expected[indices[arc]]
            if place == into_offsets[indices[arc] + 1] or into_indices[place] != tail:
                return tail
            expected[indices[arc]] += 1
    for head in range(len(offsets) - 1):
        if expected[head] != into_offsets[head + 1]:
            return head
    return -1
