"""The certificate of flows: true flows hold, and no mutant of a table or of the flow that proves it does."""

from collections.abc import Iterator
from dataclasses import replace

import numpy as np
import pytest

from kernels.answers import Flows
from kernels.flow import max_flow
from kernels.flow.certificate import certify_flows
from kernels.graph import Graph
from tests.certificates.test_certificates_mutants import random_graph

MUTANTS = [2_000, pytest.param(100_000, marks=pytest.mark.nightly)]


def mutants(graph: Graph, truth: Flows, rng: np.random.Generator) -> Iterator[Flows]:
    """Every array changed; the flow only so that it is no flow, for another maximum flow proves the same table."""
    n = graph.num_vertices
    for change in (-1, 1, int(rng.integers(2, 9))):
        one = np.arange(len(truth.src)) == rng.integers(len(truth.src))
        yield replace(truth, value=truth.value + one.astype(truth.value.dtype) * change)
        yield replace(truth, vertices=truth.vertices + one * change)
    for name in ("src", "dst", "cut_src", "cut_dst"):
        rows = getattr(truth, name)
        if len(rows):
            place = rng.integers(len(rows))
            yield replace(truth, **{name: np.where(np.arange(len(rows)) == place, (rows + rng.integers(1, n)) % n, rows)})
            yield replace(truth, **{name: rows[:-1]})
            yield replace(truth, **{name: rows.astype(np.int16)})
    for begins, arrays in (("cut_begins", ("cut_src", "cut_dst")), ("flow_begins", ("flow_arcs", "amounts"))):
        first = getattr(truth, arrays[0])
        if len(first):
            place = int(rng.integers(len(first)))
            behind = getattr(truth, begins) > place
            less = {name: np.delete(getattr(truth, name), place) for name in arrays}
            yield replace(truth, **less, **{begins: getattr(truth, begins) - behind})
            twice = {name: np.insert(getattr(truth, name), place, getattr(truth, name)[place]) for name in arrays}
            yield replace(truth, **twice, **{begins: getattr(truth, begins) + behind})
    if len(truth.amounts):
        place = np.arange(len(truth.amounts)) == rng.integers(len(truth.amounts))
        yield replace(truth, amounts=truth.amounts + place)
        yield replace(truth, amounts=truth.amounts - place)
        yield replace(truth, amounts=truth.amounts * -1)
        yield replace(truth, flow_arcs=truth.flow_arcs + graph.num_arcs * place)


@pytest.mark.parametrize("number", MUTANTS)
def test_true_flows_hold_and_mutants_do_not(number):
    rng = np.random.default_rng(20161123)
    refused = graphs = 0
    while refused < number:
        _, graph = random_graph(rng)
        if graph.num_vertices < 2:
            continue
        pairs = np.array([rng.choice(graph.num_vertices, 2, replace=False) for _ in range(3)], graph.rows_by_id.dtype)
        truth = max_flow(graph, *pairs.T.copy())
        verdict = certify_flows(graph, truth)
        assert verdict.holds, verdict.reason
        for mutant in mutants(graph, truth, rng):
            assert not certify_flows(graph, mutant).holds, (graph, truth, mutant)
            refused += 1
        graphs += 1
    assert graphs > number // 50
