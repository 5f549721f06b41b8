"""The certificate of changes: every changed graph of thousands of random ones holds, and none that is wrong."""

from collections import Counter
from dataclasses import replace

import numpy as np
import pytest

from kernels.graph import Csr, Graph
from kernels.layout.certificate.changed import RULES, certify_changes
from kernels.layout.certificate.constants import FORWARD
from kernels.layout.certificate.cpu import arc_sums, sums_before
from kernels.layout.rules import ArcRules, Edges

MUTANTS = [600, pytest.param(100_000, marks=pytest.mark.nightly)]

TYPES = (np.int32, np.int64, np.float64)


def csr_of(arcs, ids, kind):
    """Rows of {(tail, head): weight}, by ids."""
    rows = [sorted((head, weight) for (tail, head), weight in arcs.items() if tail == own) for own in ids.tolist()]
    row_of = {own: row for row, own in enumerate(ids.tolist())}
    offsets = np.cumsum([0, *map(len, rows)], dtype=np.int64)
    indices = np.array([row_of[head] for row in rows for head, _ in row], np.int32)
    return Csr(offsets, indices, np.array([weight for row in rows for _, weight in row], kind))


def graph_of(arcs, ids, kind, directed):
    out = csr_of(arcs, ids, kind)
    into = csr_of({(head, tail): weight for (tail, head), weight in arcs.items()}, ids, kind) if directed else out
    return Graph(ids, np.argsort(ids).astype(np.int32), out, into, directed)


def both(arcs, directed):
    return arcs if directed else arcs | {(head, tail): weight for (tail, head), weight in arcs.items()}


def edges_of(edges, kind):
    src, dst, weight = (np.array(column) for column in zip(*edges, strict=True)) if edges else (np.empty(0, np.int64),) * 3
    return Edges(src.astype(np.int64), dst.astype(np.int64), weight.astype(kind))


class Night:
    """A random graph with its changes."""

    def __init__(self, rng):
        self.rng, self.directed = rng, bool(rng.random() < 0.5)
        old, new = int(rng.integers(1, 9)), int(rng.integers(0, 3))
        self.ids = rng.permutation(3 * (old + new))[: old + new].astype(np.int64)
        self.ids[old:] = np.sort(self.ids[old:])
        self.old, self.kind, self.old_kind = old, *(TYPES[number] for number in ((2, 2), (1, 1), (1, 0))[rng.integers(3)])
        stays, self.removed, self.put = {}, [], []
        for place, src in enumerate(self.ids.tolist()):
            for other, dst in enumerate(self.ids.tolist()[: None if self.directed else place]):
                edge, weights = (src, dst), rng.integers(0, 4, 2).tolist()
                had, has = (rng.random() < 0.5 and max(place, other) < old), rng.random() < 0.5
                if src == dst or not (had or has):
                    continue
                if had and has and rng.random() < 0.7:
                    stays[edge] = weights[0]
                    continue
                self.removed += [(*edge, weights[0])] * had
                self.put += [(*edge, weights[1])] * has
        self.stays = stays
        self.before = both(stays | {edge[:2]: edge[2] for edge in self.removed}, self.directed)
        self.after = both(stays | {edge[:2]: edge[2] for edge in self.put}, self.directed)

    def certificate(self, before=None, after=None, removed=None, put=None, new_ids=None, graph=None, old=None, moved=tuple):
        graph = graph or graph_of(self.after if after is None else after, self.ids, self.kind, self.directed)
        old = old or graph_of(self.before if before is None else before, self.ids[: self.old], self.old_kind, self.directed)
        lists = [
            edges_of(own if other is None else other, self.kind) for own, other in ((self.removed, removed), (self.put, put))
        ]
        rules = ArcRules(range(0), not self.directed, keep_self_loops=False, keep_parallel=False)
        degrees = np.diff(graph.out.offsets), np.diff(graph.into.offsets)
        added = self.ids[self.old :] if new_ids is None else new_ids
        return certify_changes(*moved((graph, old, *lists)), added, (rules, *degrees))

    def mutants(self):
        """What is wrong, and the arguments of `certificate`."""
        for name in ("after", "before"):
            arcs, ids = getattr(self, name), (self.ids if name == "after" else self.ids[: self.old]).tolist()
            if arcs:
                arc = [*arcs][self.rng.integers(len(arcs))]
                yield f"{name}: lost", {name: self._without(arcs, arc)}
                yield f"{name}: heavier", {name: arcs | both({arc: arcs[arc] + 1}, self.directed)}
                if not self.directed:
                    yield f"{name}: one direction", {name: arcs | {arc: arcs[arc] + 1}}
            absent = [(src, dst) for src in ids for dst in ids if src != dst and (src, dst) not in arcs]
            if absent:
                yield f"{name}: more", {name: arcs | both({absent[self.rng.integers(len(absent))]: 1}, self.directed)}
        for name in ("removed", "put"):
            if edges := getattr(self, name):
                yield f"{name}: fewer", {name: edges[1:]}
                yield f"{name}: another weight", {name: [(*edges[0][:2], edges[0][2] + 1), *edges[1:]]}
        if self.old < len(self.ids):
            yield "vertices", {"new_ids": self.ids[self.old :][1:]}
        yield from self.damaged()

    def damaged(self):
        """Arrays of the graph before that are not those of a graph; the edges agree with them."""
        rows = graph_of(self.before, self.ids[: self.old], self.old_kind, self.directed).out
        place_of = {own: place for place, own in enumerate(self.ids.tolist())}
        for edge in self.put:
            tail, head = edge[:2] if self.directed else edge[1::-1]
            if max(place_of[tail], place_of[head]) >= self.old:
                wide = csr_of(self.before | {(tail, head): edge[2]}, self.ids, self.old_kind)
                if place_of[tail] < self.old:
                    wide = replace(wide, offsets=wide.offsets[: self.old + 1])
                yield "before: beyond", self._with_out(wide) | {"put": [other for other in self.put if other != edge]}
                break
        if self.stays:
            edge, weight = next(iter(self.stays.items()))
            twice = rows
            for tail, head in both({edge: 0}, self.directed):
                row = place_of[tail]
                heads = twice.indices[twice.offsets[row] : twice.offsets[row + 1]].tolist()
                after = twice.offsets[row] + heads.index(place_of[head]) + 1
                offsets = twice.offsets + (np.arange(len(twice.offsets)) > row)
                indices = np.insert(twice.indices, after, place_of[head])
                twice = Csr(offsets, indices, np.insert(twice.weights, after, weight + 1))
            yield "before: twice", self._with_out(twice) | {"removed": [*self.removed, (*edge, weight + 1)]}
        if len(several := np.flatnonzero(np.diff(rows.offsets) > 1)):
            order, last = np.arange(len(rows.indices)), rows.offsets[self.rng.choice(several) + 1] - 1
            order[[last - 1, last]] = last, last - 1
            yield "before: swapped", self._with_out(Csr(rows.offsets, rows.indices[order], rows.weights[order]))
        other = f"{'i' if self.old_kind is np.float64 else 'f'}{rows.weights.itemsize}"
        for weights in (rows.weights.view(other), None):
            yield "before: weight type", self._with_out(replace(rows, weights=weights))

    def _with_out(self, out):
        old = graph_of(self.before, self.ids[: self.old], self.old_kind, self.directed)
        into = replace(old.into, weights=None) if out.weights is None else old.into
        return {"old": replace(old, out=out, into=into if self.directed else out)}

    def _without(self, arcs, arc):
        gone = both({arc: 0}, self.directed)
        return {one: weight for one, weight in arcs.items() if one not in gone}


@pytest.mark.parametrize("count", MUTANTS)
def test_every_wrong_change_is_refused(count):
    rng, tried = np.random.default_rng(count), Counter()
    while tried.total() < count:
        night = Night(rng)
        found = night.certificate()
        assert found.holds, (vars(night), found.reason)
        assert found.rules == RULES
        for name, arguments in night.mutants():
            if name != "before: one direction":  # a graph before was proved when it was made: only its edges count
                found = night.certificate(**arguments)
                assert not found.holds and found.reason, (name, vars(night), arguments)
            tried[name] += 1
    assert len(tried) == 17


def test_rows_stay_those_of_the_graph_before():
    rng = np.random.default_rng(5)
    night = Night(rng)
    while night.old < 2 or night.old == len(night.ids):
        night = Night(rng)
    turned = graph_of(night.after, night.ids[::-1].copy(), night.kind, night.directed)
    assert night.certificate(graph=turned).reason == "the rows of the previous graph have other vertices"


def test_damaged_arcs_of_the_graph_before_are_named():
    ids, edges = np.arange(3), {(0, 1): 1, (1, 2): 1, (2, 0): 1}
    graph = graph_of(edges, ids, np.int32, directed=True)
    keys = np.arange(5, dtype=np.uint64)
    sums = arc_sums(graph.out, ids, FORWARD, True, keys)[0]
    damaged = replace(graph.out, indices=np.array([1, 2, 7], np.int32))
    assert sums_before(graph.out, graph.out, sums, ids, (FORWARD, True), keys)[0].tolist() == sums.tolist()
    assert sums_before(damaged, graph.out, sums, ids, (FORWARD, True), keys)[1] == 2


IDS = np.array([1, 2, 3])
TWO = (np.array([0, 2, 2, 2]), np.array([1, 7], np.int32))  # offsets and weights of two arcs of the first row


def changed(before, after, removed=(), ids=IDS):
    kind = after.out.weights.dtype
    rules = ArcRules(range(0), False, keep_self_loops=False, keep_parallel=False)
    lists, degrees = (edges_of([*removed], kind), edges_of([], kind)), (np.diff(after.out.offsets), np.diff(after.into.offsets))
    return certify_changes(after, before, *lists, ids[len(before.ids) :], (rules, *degrees))


def with_out(graph, heads, offsets=TWO[0], weights=TWO[1]):
    return replace(graph, out=Csr(offsets, np.array(heads, np.int32), weights))


def test_a_graph_before_with_arcs_that_are_none_is_refused():
    """Beyond its rows, twice, or out of order: none was proved when it was made, so a state of it is damaged."""
    one, two = (graph_of(arcs, IDS, np.int32, True) for arcs in ({(1, 2): 7}, {(1, 2): 7, (1, 3): 1}))
    old = graph_of({(1, 2): 1}, IDS[:2], np.int32, True)
    beyond = with_out(old, [2], old.out.offsets, old.out.weights)
    assert not changed(beyond, graph_of({(1, 3): 1}, IDS, np.int32, True)).holds
    assert not changed(with_out(one, [1, 1]), one, [(1, 2, 1)]).holds
    assert not changed(with_out(two, [2, 1]), two).holds
    assert changed(two, two).holds
    more = csr_of({(1, 2): 1, (3, 1): 5}, IDS, np.int32)
    found = changed(replace(old, out=more), graph_of({(1, 2): 1, (3, 1): 5}, IDS, np.int32, True))
    assert found.reason == "the previous graph has 3 rows for 2 vertices"


def test_a_graph_with_other_weights_than_before_is_refused():
    """Also if their bits are the same, or if the weights that are new are 0."""
    after = graph_of({(1, 2): 0}, IDS, np.int32, True)
    bare = replace(after, out=replace(after.out, weights=None), into=replace(after.into, weights=None))
    reason = "the graph has other weights than before, or is directed where its edges are not"
    assert changed(bare, after).reason == reason
    bits = graph_of({(1, 2): np.float32(1).view(np.int32).item()}, IDS, np.int32, True)
    assert changed(graph_of({(1, 2): 1}, IDS, np.float32, True), bits).reason == reason
    double = np.array([1], np.float32).view(np.int32).astype(np.int64).view(np.float64).item()
    single, wide = (graph_of({(1, 2): weight}, IDS, kind, True) for weight, kind in ((1, np.float32), (double, np.float64)))
    assert changed(single, wide).reason == reason
    symmetric = graph_of({(1, 2): 1, (2, 1): 1}, IDS, np.int32, True)
    assert changed(symmetric, replace(symmetric, into=symmetric.out)).reason == reason


def test_only_arcs_that_differ_are_added():
    ids, edges = np.arange(6), {(0, number): number for number in range(1, 6)}
    keys, others = np.arange(5, dtype=np.uint64), edges | {(0, 3): 9, (1, 2): 4}
    old, new = (graph_of(arcs, ids, np.int32, directed=True).out for arcs in (edges, others))
    sums = [arc_sums(csr, ids, FORWARD, True, keys)[0] for csr in (old, new)]
    assert sums_before(old, new, sums[1], ids, (FORWARD, True), keys)[0].tolist() == sums[0].tolist()
    wrong = sums[1] + np.uint64(1)  # what both have is not read again
    assert sums_before(old, new, wrong, ids, (FORWARD, True), keys)[0].tolist() == (sums[0] + np.uint64(1)).tolist()
