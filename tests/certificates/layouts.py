"""Random layouts with what they state, and wrong ones made from them."""

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, replace

import numpy as np

from kernels.distributed.communicator import SingleRank
from kernels.graph import Array, Csr, Graph
from kernels.layout.building import build_csr
from kernels.layout.certificate.claim import Claim
from kernels.layout.rules import ArcRules, Edges

Arc = tuple[int, int, float]  # rows of tail and head, and the weight, 0 without weights
WEIGHTS = (None, np.int32, np.int64, np.float32, np.float64)


@dataclass(frozen=True)
class Layout:
    """An edge list and its stored graph, with arcs by rows."""

    edges: Edges
    rules: ArcRules
    graph: Graph
    claim: Claim

    @property
    def arcs(self) -> list[Arc]:
        return arcs_of(self.graph.out)

    @property
    def in_arcs(self) -> list[Arc]:
        return [(src, dst, weight) for dst, src, weight in arcs_of(self.graph.into)]


def random_layout(rng: np.random.Generator, most_ids: int = 7) -> Layout:
    """A layout of a few edges, with parallel ones, self-loops and isolated vertices, by any rules."""
    count, ids = int(rng.integers(0, 3 * most_ids)), int(rng.integers(1, most_ids + 1))
    spread = int(rng.choice([1, 3, 10**12]))
    src, dst = (spread * rng.integers(0, ids, (2, count)) + 2).astype(np.int64)
    dtype = WEIGHTS[rng.integers(len(WEIGHTS))]
    edges = Edges(src, dst, None if dtype is None else rng.integers(0, 4, count).astype(dtype))
    declared = range(int(rng.integers(0, 4)), int(rng.integers(4, 8))) if rng.random() < 0.3 else range(0)
    rules = ArcRules(declared, *(bool(rng.random() < 0.5) for _ in range(3)))
    return layout_of(edges, rules, (None, 3, 2**62)[rng.integers(3)])


def layout_of(edges: Edges, rules: ArcRules, window: int | None) -> Layout:
    """The right layout."""
    part = build_csr(edges, rules, window, SingleRank())
    out = part.take(0, "out")
    graph = Graph(part.ids, part.rows_by_id, out, part.take(0, "in") if "in" in part.directions else out, part.directed)
    count, loops = len(edges.src), int((edges.src == edges.dst).sum())
    dropped, added = 0 if rules.keep_self_loops else loops, count - loops if rules.both else 0
    parallel = count - dropped + added - graph.num_arcs
    listed = edges.take(slice(0)).with_parts(part.dropped)
    degrees = part.degrees("out"), part.degrees("in")
    return Layout(edges, rules, graph, Claim(len(part.ids), graph.num_arcs, dropped, added, parallel, *degrees, listed))


def arcs_of(csr: Csr) -> list[Arc]:
    rows = np.repeat(np.arange(len(csr.offsets) - 1), np.diff(csr.offsets)).tolist()
    weights = [0] * len(csr.indices) if csr.weights is None else csr.weights.tolist()
    return list(zip(rows, csr.indices.tolist(), weights, strict=True))


def csr_of(arcs: list[Arc], ids: Array, like: Csr) -> Csr:
    """The rows of arcs, in order."""
    ordered = sorted(arcs, key=lambda arc: (arc[0], ids[arc[1]], arc[2]))
    offsets = np.concatenate([[0], np.cumsum(np.bincount([arc[0] for arc in ordered], minlength=len(ids)))]).astype(np.int64)
    weights = None if like.weights is None else np.array([arc[2] for arc in ordered], like.weights.dtype)
    return Csr(offsets, np.array([arc[1] for arc in ordered], like.indices.dtype), weights)


def stated(layout: Layout, graph: Graph) -> Layout:
    """The layout with another graph, of which it states the right numbers of vertices and arcs, and the right degrees."""
    claim, more = layout.claim, graph.num_arcs - layout.claim.arcs
    degrees = np.diff(graph.out.offsets), np.diff(graph.into.offsets)
    parallel = claim.parallel_arcs_dropped - more
    claim = replace(claim, arcs=graph.num_arcs, vertices=len(graph.ids), parallel_arcs_dropped=parallel)
    return replace(layout, graph=graph, claim=replace(claim, out_degrees=degrees[0], in_degrees=degrees[1]))


def with_arcs(layout: Layout, arcs: list[Arc], in_arcs: list[Arc] | None = None) -> Layout:
    graph = layout.graph
    out = csr_of(arcs, graph.ids, graph.out)
    backward = [(dst, src, weight) for src, dst, weight in (arcs if in_arcs is None else in_arcs)]
    into = out if layout.rules.both else csr_of(backward, graph.ids, graph.out)
    return stated(layout, Graph(graph.ids, graph.rows_by_id, out, into, graph.directed))


def mutants(layout: Layout, rng: np.random.Generator) -> Iterator[tuple[str, Layout]]:
    """Wrong layouts of the same edges, each with the name of what is wrong."""
    for name, changed in [*_arc_changes(layout, rng), *_listed_changes(layout)]:
        if _content(changed) != _content(layout):
            yield name, changed
    yield from _other_changes(layout, rng)


def _content(layout: Layout) -> tuple[Counter[tuple[int, int, float]], ...]:
    ids = layout.graph.ids.tolist()
    return tuple(Counter((ids[src], ids[dst], w) for src, dst, w in arcs) for arcs in (layout.arcs, layout.in_arcs))


def _arc_changes(layout: Layout, rng: np.random.Generator) -> Iterator[tuple[str, Layout]]:
    """Lost, added, changed and swapped arcs: in both directions, in one, and for an undirected graph in one of both arcs."""
    arcs, rows = layout.arcs, len(layout.graph.ids)
    weighted = layout.graph.out.weights is not None

    def other(arc: Arc, place: int) -> Arc:
        changed = list(arc)
        changed[place] = (
            int(rng.integers(rows)) if place < 2 else arc[2] + float(rng.choice([-1, 1, 2])) if arc[2] else arc[2] + 1
        )
        return (changed[0], changed[1], changed[2])

    def reverse(arc: Arc) -> Arc:
        return arc[1], arc[0], arc[2]

    for _ in range(2):
        if rows:
            added = int(rng.integers(rows)), int(rng.integers(rows)), float(rng.integers(0, 4)) if weighted else 0
            yield from _in_directions(layout, "added", [], [added], rng)
        if not arcs:
            continue
        arc, partner = (arcs[rng.integers(len(arcs))] for _ in range(2))
        yield from _in_directions(layout, "lost", [arc], [], rng)
        yield from _in_directions(layout, "twice", [], [arc], rng)
        yield from _in_directions(layout, "head", [arc], [other(arc, 1)], rng)
        yield from _in_directions(layout, "tail", [arc], [other(arc, 0)], rng)
        yield from _in_directions(layout, "turned", [arc], [reverse(arc)], rng)
        if weighted:
            yield from _in_directions(layout, "weight", [arc], [other(arc, 2)], rng)
            swapped = [(arc[0], arc[1], partner[2]), (partner[0], partner[1], arc[2])]
            yield from _in_directions(layout, "swapped weights", [arc, partner], swapped, rng)
        swapped = [(arc[0], partner[1], arc[2]), (partner[0], arc[1], partner[2])]
        if arc != partner:
            yield from _in_directions(layout, "swapped heads", [arc, partner], swapped, rng)


def _in_directions(
    layout: Layout, name: str, lost: list[Arc], added: list[Arc], rng: np.random.Generator
) -> Iterator[tuple[str, Layout]]:
    def changed(arcs: list[Arc], pairs: bool) -> list[Arc]:
        counts = Counter(arcs)
        for sign, part in ((-1, lost), (1, added)):
            for arc in part:
                counts[arc] += sign
                if pairs and arc[0] != arc[1]:
                    counts[arc[1], arc[0], arc[2]] += sign
        return list(counts.elements())

    arcs, in_arcs = layout.arcs, layout.in_arcs
    if layout.rules.both:
        yield f"{name}, both arcs", with_arcs(layout, changed(arcs, True))
        yield f"{name}, one arc", with_arcs(layout, changed(arcs, False))
        return
    yield name, with_arcs(layout, changed(arcs, False))
    yield f"{name}, out only", with_arcs(layout, changed(arcs, False), in_arcs)
    yield f"{name}, in only", with_arcs(layout, arcs, changed(in_arcs, False))


def _listed_changes(layout: Layout) -> Iterator[tuple[str, Layout]]:
    """Layouts whose list of dropped edges makes up for the arcs that are missing, so that the fingerprints are right."""
    ids, listed = layout.graph.ids, layout.claim.dropped
    weighted = layout.graph.out.weights is not None

    def listing(changed: Layout, edges: list[tuple[int, int, float]]) -> Layout:
        src, dst = (np.array([edge[end] for edge in edges], np.int64) for end in (0, 1))
        weights = None if listed.weights is None else np.array([edge[2] for edge in edges], listed.weights.dtype)
        return replace(changed, claim=replace(changed.claim, dropped=Edges(src, dst, weights)))

    weights = [0] * len(listed.src) if listed.weights is None else listed.weights.tolist()
    edges = list(zip(listed.src.tolist(), listed.dst.tolist(), weights, strict=True))
    row_of = {int(vertex): row for row, vertex in enumerate(ids)}
    for src, dst, weight in layout.arcs[:3]:
        lost = {(src, dst), (dst, src)} if layout.rules.both else {(src, dst)}
        rest = [arc for arc in layout.arcs if arc[:2] not in lost]
        yield "lost, but listed", listing(with_arcs(layout, rest), [*edges, (int(ids[src]), int(ids[dst]), weight)])
    for number, (src, dst, weight) in enumerate(edges if weighted else []):
        ends = row_of[src], row_of[dst]
        both = {ends, ends[::-1]} if layout.rules.both else {ends}
        (least,) = {arc[2] for arc in layout.arcs if arc[:2] in both}
        heavier = [(arc[0], arc[1], weight if arc[:2] in both else arc[2]) for arc in layout.arcs]
        others = edges[:number] + edges[number + 1 :]
        yield "heavier of parallel arcs", listing(with_arcs(layout, heavier), [*others, (src, dst, least)])


def _other_changes(layout: Layout, rng: np.random.Generator) -> Iterator[tuple[str, Layout]]:
    """Wrong counts, degrees, ids, orders and arrays."""
    graph, claim = layout.graph, layout.claim
    for name in ("vertices", "arcs", "self_loops_dropped", "arcs_added", "parallel_arcs_dropped"):
        for more in (-1, 1):
            yield name, replace(layout, claim=replace(claim, **{name: getattr(claim, name) + more}))
    for name in ("out_degrees", "in_degrees"):
        yield name, replace(layout, claim=replace(claim, **{name: _changed(getattr(claim, name), rng)}))
    yield "id", replace(layout, graph=replace(graph, ids=_changed(graph.ids, rng, 10**15)))
    yield "rows_by_id", replace(layout, graph=replace(graph, rows_by_id=_changed(graph.rows_by_id, rng)))
    if graph.num_vertices > 1:
        yield "swapped ids", replace(layout, graph=replace(graph, ids=_rolled(graph.ids)))
        yield "swapped rows_by_id", replace(layout, graph=replace(graph, rows_by_id=_rolled(graph.rows_by_id)))
    offsets = np.append(graph.out.offsets, graph.out.offsets[-1])
    out = Csr(offsets, graph.out.indices, graph.out.weights)
    into = out if graph.symmetric else Csr(np.append(graph.into.offsets, graph.into.offsets[-1]), *_columns(graph.into))
    rows = np.append(graph.rows_by_id, np.int32(graph.num_vertices))
    ids = np.append(graph.ids, graph.ids.max(initial=0) + 10**6)
    yield "a vertex more", stated(layout, Graph(ids, rows, out, into, graph.directed))
    yield "direction", replace(layout, graph=replace(graph, directed=not graph.directed))
    for name, out in _malformed(graph.out, rng):
        yield name, replace(layout, graph=replace(graph, out=out, into=out if graph.symmetric else graph.into))
    if not graph.symmetric:
        for name, into in _malformed(graph.into, rng):
            yield f"{name} of in-arcs", replace(layout, graph=replace(graph, into=into))


def _malformed(csr: Csr, rng: np.random.Generator) -> Iterator[tuple[str, Csr]]:
    yield "offsets", Csr(csr.offsets - 1, *_columns(csr))
    yield "fewer offsets", Csr(csr.offsets[:-1], *_columns(csr))
    yield "type of indices", Csr(csr.offsets, csr.indices.astype(np.int64), csr.weights)
    if len(csr.indices):
        indices = csr.indices.copy()
        indices[rng.integers(len(indices))] = rng.choice([-1, len(csr.offsets) - 1, 2**31 - 1])
        yield "index", Csr(csr.offsets, indices, csr.weights)
        yield "fewer indices", Csr(csr.offsets, csr.indices[:-1], csr.weights)
    wide = np.flatnonzero(np.diff(csr.offsets) > 1)
    if len(wide):
        first = int(csr.offsets[wide[0]])
        order = np.arange(len(csr.indices))
        order[[first, first + 1]] = first + 1, first
        other = Csr(csr.offsets, csr.indices[order], None if csr.weights is None else csr.weights[order])
        if arcs_of(other) != arcs_of(csr):
            yield "order of arcs", other
    if csr.weights is None:
        yield "weights", Csr(csr.offsets, csr.indices, np.ones(len(csr.indices), np.int32))
    else:
        yield "no weights", Csr(csr.offsets, csr.indices, None)
        yield (
            "fewer weights",
            Csr(csr.offsets, csr.indices, csr.weights[1:] if len(csr.weights) else np.zeros(1, csr.weights.dtype)),
        )


def _columns(csr: Csr) -> tuple[Array, Array | None]:
    return csr.indices, csr.weights


def _changed(array: Array, rng: np.random.Generator, most: int = 3) -> Array:
    changed = array.copy()
    if len(changed):
        changed[rng.integers(len(changed))] += int(rng.choice([-1, 1, most]))
        return changed
    return np.append(changed, changed.dtype.type(0))


def _rolled(array: Array) -> Array:
    return np.roll(array, 1)
