"""The edges of an answer's forest that a rank holds, in the order (weight, smaller id, larger id), which has no ties."""

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from kernels.answers import Forest
from kernels.certificate.global_view import GlobalView
from kernels.certificate.rules import Broken, out_of_order, outside
from kernels.cpu.compiled import njit
from kernels.distributed.columns import distinct
from kernels.distributed.searching import places_upto
from kernels.forest.certificate import reasons
from kernels.graph import OFFSET, Array


class OwnEdges(NamedTuple):
    """Own edges in ascending order."""

    # src, dst: index width [E]: rows of the whole graph; `src` are own rows.
    src: Array
    dst: Array
    weights: Array  # [E]
    heavy: Array  # [E]: keys in the order of the weights (`keys_of`)
    # low, high: index width [E]: positions of the endpoints in the order of external ids.
    low: Array
    high: Array

    def take(self, places: Array) -> "OwnEdges":
        """The edges at these places."""
        weights = self.weights[places]
        heavy = weights if self.heavy is self.weights else self.heavy[places]
        return OwnEdges(self.src[places], self.dst[places], weights, heavy, self.low[places], self.high[places])


class KnownRows(NamedTuple):
    """The rows at the ends of a rank's edges and arcs: n own ones, then f of other ranks. Arrays of index width."""

    foreign: Array  # [f]: ascending; the ghosts, and ends of edges that are none, which are no arcs
    positions: Array  # [n + f]: in the order of external ids
    # near, far: [E]: the numbers of the own edges' endpoints among these rows
    near: Array
    far: Array


def require_edges(view: GlobalView, forest: Forest) -> tuple[OwnEdges, KnownRows]:
    """Return the own edges in order; raise Broken unless they are distinct, ascend, and join rows in the right order."""
    shard, weights = view.shard, view.shard.out.weights
    length = len(forest.src) if isinstance(forest.src, type(shard.ghosts)) and forest.src.ndim else 0
    src = view.form_of_rows("src", forest.src, length)
    dst = view.form_of_rows("dst", forest.dst, length)
    stated = view.form("weights", forest.weights, length, np.dtype(np.int64) if weights is None else weights.dtype)
    foreign = np.flatnonzero((src < shard.rows.start) | (src >= shard.rows.stop))[:1]
    view.require(outside("src", src[foreign], 0, shard.rows.stop, shard.rows.start) if len(foreign) else "")
    known = _known_rows(view, src, dst)
    edges = OwnEdges(src, dst, stated, keys_of(stated), known.positions[known.near], known.positions[known.far])
    _require(view, edges, edges.low >= edges.high, 1, reasons.wrong_end)
    _require(view, edges, out_of_order(edges.low, edges.high), 2, reasons.not_ascending)
    order = np.argsort(edges.heavy, kind="stable").astype(src.dtype)  # stable: they ascend by ends already
    return edges.take(order), known._replace(near=known.near[order], far=known.far[order])


def _known_rows(view: GlobalView, src: Array, dst: Array) -> KnownRows:
    """The rows that this rank knows if it has edges from `src` to `dst`. A collective."""
    shard, start, num_own = view.shard, view.rows.start, len(view.shard.ids)
    is_foreign = (dst < start) | (dst >= view.rows.stop)
    others, foreign, positions = dst[is_foreign], shard.ghosts, shard.ghost_positions
    is_ghost = np.zeros(len(others), np.bool_, like=others)
    if len(foreign):
        is_ghost = foreign[np.maximum(places_upto(foreign, others) - 1, 0)] == others
    if view.any(not is_ghost.all()):
        foreign = distinct(np.concatenate([foreign, others[~is_ghost]]))
        (positions,) = view.rows.fetch(foreign, shard.positions)
    far = dst - start
    far[is_foreign] = places_upto(foreign, others) + (num_own - 1)
    return KnownRows(foreign, np.concatenate([shard.positions, positions]), src - start, far)


def require_none(view: GlobalView, edges: OwnEdges, wrong: Array, reason: Callable[..., str], *more: Any) -> None:
    """Raise Broken for the first edge of all ranks where `wrong`, bool [E], is true: `reason(view, src, dst, *more, 0)`."""
    first = edges.take(np.flatnonzero(wrong)[:1])
    contradiction = view.first(first.src, first.dst, first.weights, key=np.concatenate([first.heavy, first.low, first.high]))
    if contradiction:
        src, dst, weights = contradiction
        raise Broken(reason(view, src, dst, *(more or (weights,)), 0))


def _require(view: GlobalView, edges: OwnEdges, wrong: Array, shown: int, reason: Callable[..., str]) -> None:
    """Raise Broken for the least of the ranks' first wrong edges, by its endpoints; the reason shows `shown` edges."""
    place = np.flatnonzero(wrong)[:1]
    places = np.concatenate([place + step for step in range(shown)])
    ends = view.first(edges.src[places], edges.dst[places], key=np.concatenate([edges.low[place], edges.high[place]]))
    if ends:
        raise Broken(reason(view, *ends, 0))


def keys_of(weights: Array) -> Array:
    """Integers in the order of the weights: int64 for floats, where -0 equals 0 and NaN is greatest."""
    if weights.dtype.kind == "i":
        return weights
    doubles = weights.astype(np.float64)
    doubles[doubles == 0] = 0
    bits = doubles.view(OFFSET)
    bits = np.where(bits < 0, bits ^ np.iinfo(OFFSET).max, bits)
    return np.where(np.isnan(doubles), np.iinfo(OFFSET).max, bits)


def weights_of(keys: Array, dtype: np.dtype[Any]) -> Array:
    """The weights that have these keys."""
    if dtype.kind == "i":
        return keys
    return np.where(keys < 0, keys ^ np.iinfo(OFFSET).max, keys).view(np.float64).astype(dtype)


@njit(cache=True, nogil=True)
def greater_of(keys: Array, one: int, other: int) -> int:
    """The greater of two edges, given by their places in the order of their ends; any edge is greater than -1."""
    if one < 0 or other < 0:
        return max(one, other)
    return one if keys[one] > keys[other] or (keys[one] == keys[other] and one > other) else other
