"""The certificate of a reachability index over shards has the verdict and the reason of a single rank's certificate."""

from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import cached_property
from typing import Any

import numpy as np
import pytest

from benchmarks.graphs import wiki_vote
from kernels.answers import Certificate, Condensation, Csr, IndexPart, ReachabilityIndex, RowLabels
from kernels.graph import Array, Graph
from kernels.reachability import reachability
from kernels.reachability import sharded as over_shards
from kernels.reachability.certificate import certify_reachability as certify_on_one_rank
from kernels.reachability.certificate.sharded import RULES, certify_reachability
from tests.certificates.test_certificates_reachability import mutants, random_graph
from tests.graphs import NAMED_GRAPHS, EdgeList, graph_of
from tests.sharded.ranks import SIZES, bounds_of, evenly, on_shards

MUTANTS = 100  # 1,500 were run once
OF_NODES = ("level", "height", "low", "post", "first", "last", "reaches", "reached")


def cut(csr: Csr, nodes: range) -> Csr:
    first, last = int(csr.offsets[nodes.start]), int(csr.offsets[nodes.stop])
    return Csr(csr.offsets[nodes.start : nodes.stop + 1] - first, csr.indices[first:last], csr.weights)


def part_of(index: ReachabilityIndex, rows: range, nodes: range) -> IndexPart:
    """The part of the owner of rows and nodes. In a wrong index, rows get the labels of some existing node."""
    dag, labels = index.condensation, index.labels
    own, mine = slice(rows.start, rows.stop), slice(nodes.start, nodes.stop)
    node = np.clip(dag.node[own], 0, dag.num_nodes - 1)
    of_rows = RowLabels(dag.names[node], labels.level[node], labels.low[:, node], labels.post[:, node])
    condensation = Condensation(dag.node[own], dag.names[mine], cut(dag.children, nodes), cut(dag.parents, nodes))
    of_nodes = replace(labels, **{name: getattr(labels, name)[..., mine] for name in OF_NODES})
    return IndexPart(ReachabilityIndex(condensation, of_nodes), nodes, of_rows)


def verdicts(
    graph: Graph,
    bounds: Array,
    of_nodes: Array,
    indexes: Sequence[ReachabilityIndex],
    place: Callable[[Any], Any] = lambda it: it,
) -> list[Certificate]:
    """The certificate of each index, which is the same on all ranks; `place` moves shards to another memory."""

    def certify(shard, ranks):
        shard = place(shard)
        nodes = range(int(of_nodes[ranks.rank]), int(of_nodes[ranks.rank + 1]))
        return [certify_reachability(shard, ranks, part_of(index, shard.rows, nodes)) for index in indexes]

    of_ranks = on_shards(certify, graph, bounds)
    assert all(of_rank == of_ranks[0] for of_rank in of_ranks)
    return of_ranks[0]


def any_bounds(size: int, numbers: int, rng: np.random.Generator) -> Array:
    return bounds_of(rng.integers(0, numbers + 1, size - 1).tolist(), numbers)


def can_be_cut(index: ReachabilityIndex) -> bool:
    """Whether children and parents are valid rows, so that they can be divided over ranks."""
    csrs = (index.condensation.children, index.condensation.parents)
    return all(csr.offsets[0] == 0 and csr.offsets[-1] == len(csr.indices) and (np.diff(csr.offsets) >= 0).all() for csr in csrs)


def test_mutants_are_rejected_with_the_reason_of_a_single_rank() -> None:
    rng = np.random.default_rng(20261123)
    rejected = 0
    while rejected < MUTANTS:
        graph, size = random_graph(rng), int(rng.choice(SIZES))
        index = reachability(graph, int(rng.integers(1, 4)), int(rng.integers(2**63)), "tree")
        answers = [index, *filter(can_be_cut, mutants(index, rng))]
        of_nodes = any_bounds(size, index.condensation.num_nodes, rng)
        ours = verdicts(graph, any_bounds(size, graph.num_vertices, rng), of_nodes, answers)
        expected = [certify_on_one_rank(graph, answer) for answer in answers]
        assert [(verdict.holds, verdict.reason) for verdict in ours] == [(verdict.holds, verdict.reason) for verdict in expected]
        rejected += len(answers) - 1


@pytest.mark.parametrize(
    "load", [*(lambda edges=edges: graph_of(edges) for edges in NAMED_GRAPHS if len(edges.ids) < 50), wiki_vote]
)
def test_answers_of_the_kernel_hold(load) -> None:
    graph = load()

    def both(shard, ranks):
        return certify_reachability(shard, ranks, over_shards.reachability(shard, ranks, 4, 2).answer)

    for size in (1, 4):
        assert evenly(both, graph, size) == [Certificate(True, "", RULES)] * size


class TestReasons:
    graph = graph_of(EdgeList("cross", ((10, 20), (10, 30), (20, 40), (30, 40), (40, 50), (50, 40))))

    @cached_property
    def index(self) -> ReachabilityIndex:
        return reachability(self.graph, 2)

    def reason(self, index: ReachabilityIndex) -> str:
        (verdict,) = verdicts(self.graph, bounds_of([1, 3], 5), bounds_of([2, 2], 4), [index])
        assert (verdict.holds, verdict.reason) == (False, certify_on_one_rank(self.graph, index).reason)
        return verdict.reason

    def test_a_child_twice(self) -> None:
        children = Csr(np.array([0, 3, 4, 5, 5]), np.array([1, 1, 2, 3, 3], np.int32), None)
        index = replace(self.index, condensation=replace(self.index.condensation, children=children))
        assert self.reason(index) == "component 10: a child without an arc, a repeated child, or a wrong order"

    def test_of_another_method(self) -> None:
        index = replace(self.index, labels=replace(self.index.labels, method="dfs"))
        (verdict,) = verdicts(self.graph, bounds_of([1], 5), bounds_of([2], 4), [index])
        assert verdict.reason == "labels are of method 'dfs', which needs a single rank"

    @pytest.mark.parametrize("field", ["labels", "level", "low", "post"])
    def test_rows_with_the_labels_of_another_component(self, field) -> None:
        def certify(shard, ranks):
            part = part_of(self.index, shard.rows, (range(2), range(2, 4))[ranks.rank])
            wrong = getattr(part.rows, field).copy()
            wrong[..., 0] += ranks.rank
            return certify_reachability(shard, ranks, replace(part, rows=replace(part.rows, **{field: wrong})))

        reasons = {verdict.reason for verdict in on_shards(certify, self.graph, bounds_of([3], 5))}
        assert reasons == {f"vertex 40: its {field} is not its component's"}

    def test_ranks_with_wrong_ranges_of_nodes(self) -> None:
        def certify(shard, ranks):
            part = part_of(self.index, shard.rows, (range(2), range(2, 4))[ranks.rank])
            return certify_reachability(shard, ranks, replace(part, nodes=range(4)))

        reasons = {verdict.reason for verdict in on_shards(certify, self.graph, bounds_of([3], 5))}
        assert reasons == {"nodes are range(0, 4), not range(0, 2)"}
