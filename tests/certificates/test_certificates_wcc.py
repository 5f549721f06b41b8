"""Weak components are proved over few arcs of each row, and over all where these do not suffice."""

from dataclasses import replace

import numpy as np
import pytest

from kernels.arrays import frozen
from kernels.graph import Csr, Graph
from kernels.wcc import wcc
from kernels.wcc.certificate import certify_wcc
from kernels.wcc.certificate.cpu import _link


def graph_of(pairs, count, directed):
    """A graph of ids 0 to `count`, which are rows."""

    def csr(arcs):
        ordered = sorted(set(arcs))
        offsets = np.searchsorted([tail for tail, _ in ordered], np.arange(count + 1)).astype(np.int64)
        return Csr(offsets, np.array([head for _, head in ordered], np.int32), None)

    turned = [(dst, src) for src, dst in pairs]
    out = csr(pairs if directed else [*pairs, *turned])
    ids = np.arange(count)
    return Graph(ids, ids.astype(np.int32), out, csr(turned) if directed else out, directed)


SHAPES = {
    "arcs from a hub": ([(0, row) for row in range(1, 40)], 40, True),
    "arcs into a hub": ([(row, 39) for row in range(39)], 40, True),
    "late arcs join": ([(row, to) for row in (0, 1, 2) for to in (20, 21, 22 + row)] + [(30, 22), (30, 23)], 31, True),
    "undirected star": ([(0, row) for row in range(1, 40)], 40, False),
    "two cliques and a bridge": (
        [(a + add, b + add) for add in (0, 10) for a in range(10) for b in range(a)] + [(9, 19)], 20, False,
    ),
}  # fmt: skip


@pytest.mark.parametrize("shape", SHAPES)
def test_any_shape_is_proved_and_two_components_are_not_one(shape):
    pairs, count, directed = SHAPES[shape]
    graph = graph_of(pairs, count + 2, directed)  # and two vertices alone
    truth = wcc(graph)
    assert certify_wcc(graph, truth).holds
    for alone in (count, count + 1):
        labels = truth.labels.copy()
        labels[alone] = 0
        assert certify_wcc(graph, replace(truth, labels=labels)).reason.endswith("no arcs connect it to its label 0")


def test_two_arcs_of_each_row_link_what_is_dense():
    rng = np.random.default_rng(3)
    graph = graph_of(list(zip(*rng.integers(0, 200, (2, 4000)).tolist(), strict=True)), 200, False)
    labels, parent = frozen(wcc(graph).labels), np.arange(200, dtype=np.int32)
    indices = graph.out.indices.copy()
    begins, ends = graph.out.offsets[:-1], graph.out.offsets[1:]
    for row, (begin, end) in enumerate(zip(begins.tolist(), ends.tolist(), strict=True)):
        indices[begin + 2 : end] = row  # an arc that links nothing
    assert _link(frozen(graph.out.offsets), frozen(indices), parent, labels, 199, 2) == 0
