"""The edges that one rank can decide on, by Borůvka's rounds over its own arcs, on CPUs.

First the forest of all edges here is found, of which ghosts take some, too: an edge outside it is outside the forest of the
graph (the cycle property). Then rounds over its edges find the safe ones. All arcs of own rows are known here, so the lightest
edge of a tree of own rows is the lightest one that leaves it in the whole graph (the cut property). If it leads to a ghost, the
tree waits until all ranks join; another tree may still join it by an edge of its own.

In the first round a row takes the lightest of its arcs, and only edges between different trees are listed after it: on a dense
graph few. No arc is copied. An edge is an own row and the number of one of its arcs: out-arcs first, then in-arcs. The order of
edges is (weight, smaller id, larger id); of arcs between the same two rows with one weight, those from the smaller id come first.
"""

from typing import NamedTuple

import numpy as np

from kernels.arrays import frozen
from kernels.components.union_find import root_of
from kernels.cpu.compiled import UNCOUNTED, njit
from kernels.distributed import Shard
from kernels.graph import Array, Csr, index_dtype

_NONE = -1


class EdgesOfRows(NamedTuple):
    """Edges of a rank, each from its end of smaller external id; arrays [E]."""

    # src, dst: index width: local rows.
    src: Array
    dst: Array
    weights: Array


class Decided(NamedTuple):
    """What a rank can say about the edges of its own rows without the others."""

    safe: EdgesOfRows  # those that are in the forest of the graph
    # Those that may be in it and belong to this rank: edges to ghosts belong to the owner of the smaller external id.
    left: EdgesOfRows
    tree: Array  # index width [n]: the number of each own row's tree by the safe edges: 0, 1, ...


class _Arcs(NamedTuple):
    """The arcs of the own rows; a pair has the out-arcs, and the in-arcs or none of them if they are the same."""

    offsets: tuple[Array, Array]
    heads: tuple[Array, Array]
    weights: tuple[Array, Array]  # empty if the graph has none
    positions: tuple[Array, Array]  # of the own rows, and of the ghosts


def decide(shard: Shard) -> Decided:
    """Find the edges that are certainly in the forest of the graph, and those that may be."""
    num_own, arcs = len(shard.ids), _arcs_of(shard)
    rows, chosen = _forest(arcs, num_own + shard.num_ghosts, num_own)
    tree = np.arange(num_own + shard.num_ghosts, dtype=shard.ghosts.dtype)
    size, begin = _join(arcs, rows, chosen, len(rows), len(rows), tree, num_own)
    safe, number = _edges(shard, arcs, rows[begin:], chosen[begin:]), _numbered(tree[:num_own])
    stop = _put_own_first(arcs, rows[:size], chosen[:size])
    return Decided(safe, _edges(shard, arcs, rows[:stop], chosen[:stop]), number)


def _arcs_of(shard: Shard) -> _Arcs:
    out, into = shard.local_out, shard.local_into
    if shard.symmetric:
        into = Csr(np.zeros_like(out.offsets), out.indices[:0], None if out.weights is None else out.weights[:0])
    weights = [frozen(np.empty(0) if side.weights is None else side.weights) for side in (out, into)]
    return _Arcs(
        (frozen(out.offsets), frozen(into.offsets)),
        (frozen(out.indices), frozen(into.indices)),
        (weights[0], weights[1]),
        (frozen(shard.positions), frozen(shard.ghost_positions)),
    )


def _forest(arcs: _Arcs, num_rows: int, num_own: int) -> tuple[Array, Array]:
    """The forest of all edges here: their own rows (index width), and the numbers of their arcs."""
    kinds = arcs.heads[0].dtype, index_dtype(len(arcs.heads[0]) + len(arcs.heads[1]))
    taken, tree = tuple(np.full(num_rows, _NONE, kind) for kind in kinds), np.arange(num_rows, dtype=kinds[0])
    _take_lightest(arcs, num_own, *taken, np.empty(num_rows - num_own, arcs.weights[0].dtype))
    joined = _join_rows(arcs, num_own, *taken, tree)
    size = _list(arcs, tree, num_own, *(np.empty(0, kind) for kind in kinds))
    rows, chosen = (np.concatenate([np.empty(size, kind), of[:joined]]) for kind, of in zip(kinds, taken, strict=True))
    del taken
    _list(arcs, tree, num_own, rows[:size], chosen[:size])
    _, begin = _join(arcs, rows, chosen, size, size, tree, num_rows)
    return rows[begin:].copy(), chosen[begin:].copy()


def _numbered(tree: Array) -> Array:
    """The number of each row's tree, which is named by one of its rows: 0, 1, ..."""
    number: Array = np.cumsum(tree == np.arange(len(tree), dtype=tree.dtype), dtype=tree.dtype)
    return number[tree] - 1


def _edges(shard: Shard, arcs: _Arcs, rows: Array, chosen: Array) -> EdgesOfRows:
    weights = np.ones(len(rows), np.int64 if shard.out.weights is None else shard.out.weights.dtype)
    edges = EdgesOfRows(np.empty_like(rows), np.empty_like(rows), weights)
    _write(arcs, rows, chosen, *edges)
    return edges


@njit(cache=True, **UNCOUNTED)
def _head(heads: tuple[Array, Array], arc: int) -> int:
    first = len(heads[0])
    head: int = heads[0][arc] if arc < first else heads[1][arc - first]
    return head


@njit(cache=True, **UNCOUNTED)
def _position(positions: tuple[Array, Array], row: int) -> int:
    first = len(positions[0])
    position: int = positions[0][row] if row < first else positions[1][row - first]
    return position


@njit(cache=True, **UNCOUNTED)
def _take_lightest(arcs: _Arcs, num_own: int, rows: Array, chosen: Array, lightest: Array) -> None:
    """Find the lightest edge of each row that has one. A row's arcs ascend by their heads: of equal weights the first is taken.

    `rows` and `chosen` [n + g] come in as -1, and get own rows and arcs; `lightest` [g] gets the weights of the edges of ghosts.
    """
    weighted, positions = len(arcs.weights[0]) + len(arcs.weights[1]) > 0, arcs.positions[0]
    for row in range(num_own):
        for side in range(2):
            best, begin = _NONE, side * len(arcs.heads[0])
            for place in range(arcs.offsets[side][row], arcs.offsets[side][row + 1]):
                head = arcs.heads[side][place]
                if head != row and (best < 0 or (weighted and arcs.weights[side][place] < arcs.weights[side][best])):
                    best = place
                if head >= num_own:
                    ghost, held = head - num_own, rows[head]
                    weight = arcs.weights[side][place] if weighted else 0
                    same = held >= 0 and weight == lightest[ghost]
                    if held < 0 or weight < lightest[ghost] or (same and positions[row] < positions[held]):
                        rows[head], chosen[head], lightest[ghost] = row, begin + place, weight
            if best >= 0 and (rows[row] < 0 or _is_less(arcs, row, begin + best, row, chosen[row])):
                rows[row], chosen[row] = row, begin + best


@njit(cache=True, nogil=True)
def _join_rows(arcs: _Arcs, num_own: int, rows: Array, chosen: Array, tree: Array) -> int:
    """Join rows by their lightest edges; `tree` comes in as 0, 1, ... Put those that did first; returns their number."""
    for row in range(len(tree)):
        if rows[row] < 0:
            continue
        other = _head(arcs.heads, chosen[row]) if row < num_own else rows[row]
        # As in `_hook`
        if other < row or (_head(arcs.heads, chosen[other]) if other < num_own else rows[other]) != row:
            tree[row] = other
    joined = 0
    for row in range(len(tree)):
        tree[row] = root_of(tree, row)
        if tree[row] != row:
            rows[joined], chosen[joined] = rows[row], chosen[row]
            joined += 1
    return joined


@njit(cache=True, **UNCOUNTED)
def _list(arcs: _Arcs, tree: Array, num_own: int, rows: Array, chosen: Array) -> int:
    """List the edges between trees, one between own rows once, if the arrays are long enough; return their number."""
    size = 0
    for side in range(2):
        begin = side * len(arcs.heads[0])
        for row in range(num_own):
            for place in range(arcs.offsets[side][row], arcs.offsets[side][row + 1]):
                head = arcs.heads[side][place]
                if tree[row] != tree[head] and (head >= num_own or arcs.positions[0][row] < arcs.positions[0][head]):
                    if size < len(rows):
                        rows[size], chosen[size] = row, begin + place
                    size += 1
    return size


@njit(cache=True, **UNCOUNTED)
def _write(arcs: _Arcs, rows: Array, chosen: Array, src: Array, dst: Array, weights: Array) -> None:
    for edge in range(len(rows)):
        near, far = rows[edge], _head(arcs.heads, chosen[edge])
        ascends = _position(arcs.positions, near) < _position(arcs.positions, far)
        src[edge], dst[edge] = (near, far) if ascends else (far, near)
        if len(arcs.weights[0]) + len(arcs.weights[1]):
            weights[edge] = _head(arcs.weights, chosen[edge])


@njit(cache=True, **UNCOUNTED)
def _put_own_first(arcs: _Arcs, rows: Array, chosen: Array) -> int:
    """Put the edges before the others whose end of smaller external id is an own row; return their number."""
    num_own, size = len(arcs.positions[0]), 0
    for edge in range(len(rows)):
        row, head = rows[edge], _head(arcs.heads, chosen[edge])
        if head < num_own or _position(arcs.positions, row) < _position(arcs.positions, head):
            rows[edge], rows[size] = rows[size], rows[edge]
            chosen[edge], chosen[size] = chosen[size], chosen[edge]
            size += 1
    return size


@njit(cache=True, **UNCOUNTED)
def _is_less(arcs: _Arcs, row: int, arc: int, other_row: int, other_arc: int) -> bool:
    """Whether the edge of an arc is before that of another arc."""
    if len(arcs.weights[0]) + len(arcs.weights[1]):
        is_less: bool = _head(arcs.weights, arc) < _head(arcs.weights, other_arc)
        if is_less or _head(arcs.weights, arc) > _head(arcs.weights, other_arc):
            return is_less
    near, far = _position(arcs.positions, row), _position(arcs.positions, _head(arcs.heads, arc))
    other_near, other_far = _position(arcs.positions, other_row), _position(arcs.positions, _head(arcs.heads, other_arc))
    one, other = min(near, far), min(other_near, other_far)
    if one == other:
        one, other = max(near, far), max(other_near, other_far)
    if one == other:
        num_out = len(arcs.heads[0])
        one, other = (arc < num_out) != (near < far), (other_arc < num_out) != (other_near < other_far)  # 0 from the smaller id
    if one == other:
        one, other = arc, other_arc
    is_before: bool = one < other
    return is_before


@njit(cache=True, nogil=True)
def _join(arcs: _Arcs, rows: Array, chosen: Array, size: int, end: int, tree: Array, takers: int) -> tuple[int, int]:
    """Join trees by their lightest edges, until each such edge leads to a row from `takers` on, which is never joined.

    Args:
        rows, chosen: The edges to begin with are the first `size`; entries from `end` on are kept. Others are overwritten.
        tree (index width [n + g]): The tree of each local row, named by one of its rows; updated.

    Returns: the number of edges between different trees, which are the first ones, and where those that joined trees begin,
        which are before `end`.
    """
    best, up = np.empty_like(tree), np.empty_like(tree)
    joined = 1
    while joined:
        best[:] = _NONE
        size, end = _offer(arcs, rows, chosen, size, end, tree, best[:takers])
        for row in range(len(up)):
            up[row] = row
        joined = _hook(arcs, rows, chosen, tree, best[:takers], up)
        for row in range(len(tree)):
            tree[row] = root_of(up, tree[row])
    return size, end


@njit(cache=True, **UNCOUNTED)
def _offer(
    arcs: _Arcs, rows: Array, chosen: Array, size: int, end: int, tree: Array, best: Array
) -> tuple[int, int]:  # fmt: skip
    """Find the lightest edge of each tree, drop the edges inside trees, and move those that are marked before `end`."""
    kept, edge = 0, 0
    while edge < size:
        row, arc = rows[edge], chosen[edge]
        if arc < 0:
            end -= 1
            if end < size:  # the last edge that was not read yet is there
                size = end
                rows[edge], chosen[edge] = rows[end], chosen[end]
            else:
                edge += 1
            rows[end], chosen[end] = row, ~arc
            continue
        edge += 1
        near, far = tree[row], tree[_head(arcs.heads, arc)]
        if near == far:
            continue
        rows[kept], chosen[kept] = row, arc
        for taker in (near, far):
            if taker < len(best):
                held = best[taker]
                if held < 0 or _is_less(arcs, row, arc, rows[held], chosen[held]):
                    best[taker] = kept
        kept += 1
    return kept, end


@njit(cache=True, **UNCOUNTED)
def _hook(arcs: _Arcs, rows: Array, chosen: Array, tree: Array, best: Array, up: Array) -> int:
    """Let each tree point to the other end of its lightest edge, and mark this edge; return how many trees do so."""
    joined = 0
    for root in range(len(best)):
        if best[root] < 0:
            continue
        other = _other_end(arcs, rows, chosen, tree, best[root], root)
        # Two trees that take the same edge lead to each other: the smaller one is a root. No cycle is longer.
        if other < len(best) and (
            other < root or best[other] < 0 or _other_end(arcs, rows, chosen, tree, best[other], other) != root
        ):
            up[root] = other
            joined += 1
    for root in range(len(best)):
        if up[root] != root:
            chosen[best[root]] = ~chosen[best[root]]
    return joined


@njit(cache=True, **UNCOUNTED)
def _other_end(arcs: _Arcs, rows: Array, chosen: Array, tree: Array, edge: int, one: int) -> int:
    near, far = tree[rows[edge]], tree[_head(arcs.heads, chosen[edge])]
    other: int = far if near == one else near
    return other
