"""From the rows of a file of changes to changed pairs of rows of the stored graph, by the rules of docs/changes.md."""

from dataclasses import dataclass

import numpy as np

from kernels.cpu.parallel import inverse, searched
from kernels.graph import ID, OFFSET, Array, Graph, index_dtype
from kernels.layout.merging.pairs import find, repeated, sorted_pairs
from kernels.layout.rules import Edges
from pipeline.changes.rows import DELETE, INSERT, OPERATIONS, UPDATE, ChangeRows
from pipeline.runtime.backend import Backend, bring, fetch
from pipeline.store.deltas import Pairs

REASONS = {  # what a row can be refused for, by the name under which such rows are counted
    "unknown_vertex": "a vertex is not in the graph",
    "repeated": "an earlier row of the file changes the same edge",
    "missing_edge": "the graph has no such edge",
    "existing_edge": "the graph has this edge already",
    "no_weights": "the graph has no weights to update",
    "no_rows": "the weight of an edge is the number of its rows, which is at least 1",
}


@dataclass(frozen=True)
class ChangeRules:
    """How rows that do not fit the graph are treated."""

    both: bool  # an edge is two arcs, so that a pair and its reverse are the same
    keep_self_loops: bool
    counts: bool  # rows that cannot be applied are counted and left out; otherwise the first one is an error
    weighs_rows: bool = False  # the weight of an edge is the number of its rows in the source


@dataclass(frozen=True)
class Resolved:
    """The effect of a file of changes on a graph, as NumPy arrays."""

    pairs: Pairs  # sorted by their rows
    new_ids: Array  # int64, ascending: of vertices that the graph did not have
    # removed, put: by ids: the edges that the graph no longer has, and those that it has instead or in addition.
    removed: Edges
    put: Edges
    counts: dict[str, int]  # deleted, inserted and updated edges, by the name of the operation
    violations: dict[str, int]  # rows that were left out, by reason


def resolve(graph: Graph, listed: ChangeRows, ids: tuple[Array, Array], rules: ChangeRules, backend: Backend) -> Resolved:
    """Look up the edges of a file of changes in the graph, whose arrays are where `backend` computes.

    Args:
        ids (int64 [C]): `src` and `dst` of each row.

    Raises:
        BadInput: The first row that cannot be applied, unless such rows are counted.
    """
    ops, vertices = listed.ops, graph.num_vertices
    ends = np.split(_rows_of(graph, np.concatenate(ids), backend), 2)
    unknown, (src, dst) = _numbered(ids, ends, vertices)
    was, weights = _edges_of(graph, ends, backend)
    wrong = {
        "unknown_vertex": ((ends[0] < 0) | (ends[1] < 0)) & ((ops != INSERT) | (np.minimum(*ids) < 0)),
        "repeated": fetch(repeated(bring(src, backend), bring(dst, backend), rules.both)),
        "missing_edge": ~was & (ops != INSERT),
        "existing_edge": was & (ops == INSERT),
        "no_weights": (ops == UPDATE) if listed.weights is None else np.zeros(len(ops), np.bool_),
        "no_rows": _without_rows(listed) if rules.weighs_rows else np.zeros(len(ops), np.bool_),
    }
    left, violations = np.ones(len(ops), np.bool_), dict[str, int]()
    for name, mask in wrong.items():
        violations |= {name: int((mask & left).sum())}
        left &= ~mask
    if not rules.counts and not left.all():
        row = int(left.argmin())
        raise listed.bad(row, f"{listed.shown(row)}: {next(REASONS[name] for name, mask in wrong.items() if mask[row])}")
    used = np.zeros(len(unknown), np.bool_)
    for of_end in (src, dst):
        used[of_end[left & (of_end >= vertices)] - vertices] = True
    for of_end in (src, dst):
        new = np.flatnonzero(of_end >= vertices)
        of_end[new] = vertices - 1 + np.cumsum(used)[of_end[new] - vertices]
    new_ids = unknown[used]
    has_edge = np.arange(len(ops)) < len(ops) - listed.alone
    applied = np.flatnonzero(left & has_edge & ((src != dst) | rules.keep_self_loops))
    tails, heads = (bring(of_end[applied], backend) for of_end in (src, dst))
    order = applied[fetch(sorted_pairs(tails, heads, vertices + len(new_ids)))]
    puts, given = ops != DELETE, None
    if listed.weights is not None and weights is not None:
        fits = weights.dtype.kind == "f" or int(listed.weights.max(initial=0)) <= np.iinfo(weights.dtype).max
        given = listed.weights.astype(weights.dtype if fits else np.int64)
    width = index_dtype(vertices + len(new_ids))
    pairs = Pairs(src[order].astype(width), dst[order].astype(width), was[order], puts[order], _taken(given, order))

    def edges(of: Array, of_weights: Array | None) -> Edges:
        return Edges(ids[0][of], ids[1][of], _taken(of_weights, of))

    counts = {name: int((ops[applied] == op).sum()) for op, name in enumerate(OPERATIONS)}
    return Resolved(pairs, new_ids, edges(order[was[order]], weights), edges(order[puts[order]], given), counts, violations)


def _without_rows(listed: ChangeRows) -> Array:
    """The rows that would put an edge of weight 0."""
    put = (listed.ops != DELETE) & (np.arange(len(listed.ops)) < len(listed.ops) - listed.alone)
    return put & (listed.weights == 0) if listed.weights is not None else np.zeros(len(put), np.bool_)


def _rows_of(graph: Graph, ids: Array, backend: Backend) -> Array:
    """The rows of ids as a NumPy array, int64; -1 for an id without a vertex."""
    if not graph.num_vertices or not len(ids):
        return np.full(len(ids), -1, OFFSET)
    ascending, wanted = graph.ids[graph.rows_by_id], bring(ids, backend)
    positions = np.minimum(searched(ascending, wanted), graph.num_vertices - 1)
    rows = graph.rows_by_id[positions].astype(OFFSET)
    rows[ascending[positions] != wanted] = -1
    return fetch(rows)


def _edges_of(graph: Graph, ends: list[Array], backend: Backend) -> tuple[Array, Array | None]:
    """Whether the graph has each edge, and the weights of those that it has."""
    kind = None if graph.out.weights is None else graph.out.weights.dtype
    was, weights = np.zeros(len(ends[0]), np.bool_), None if kind is None else np.zeros(len(ends[0]), kind)
    known = np.flatnonzero((ends[0] >= 0) & (ends[1] >= 0))
    if len(known):
        width = graph.rows_by_id.dtype
        src, dst = (bring(end[known].astype(width), backend) for end in ends)
        positions = find(graph.out, src, dst, inverse(graph.rows_by_id))
        was[known] = fetch(positions.exist)
        if weights is not None and graph.num_arcs:
            weights[known] = fetch(graph.out.weights[np.minimum(positions.places, graph.num_arcs - 1)])  # type: ignore[index]
    return was, weights


def _numbered(ids: tuple[Array, Array], ends: list[Array], vertices: int) -> tuple[Array, list[Array]]:
    """The ids without a vertex, ascending, and numbers of all ends: rows, then positions among these ids."""
    new = np.sort(np.concatenate([of_end[rows < 0] for of_end, rows in zip(ids, ends, strict=True)])).astype(ID)
    new = new[np.diff(new, prepend=new[:1] - 1) != 0]
    numbers = [rows.copy() for rows in ends]
    for of_end, own in zip(ids, numbers, strict=True):
        unknown = np.flatnonzero(own < 0)
        own[unknown] = vertices + searched(new, of_end[unknown])
    return new, numbers


def _taken(weights: Array | None, positions: Array) -> Array | None:
    return None if weights is None else weights[positions]
