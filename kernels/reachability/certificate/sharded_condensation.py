"""The part of the certificate that speaks of the condensation, over shards: rows and nodes each have their owners."""

from __future__ import annotations

from typing import Any

import numpy as np
from numba import njit

from kernels.answers import Components, Condensation
from kernels.arrays import frozen
from kernels.certificate.global_view import DistributedArray, GlobalView
from kernels.certificate.local_arcs import evidence
from kernels.certificate.rules import Broken, arc_name
from kernels.distributed.assembly import ghosts_of
from kernels.distributed.halo import Halo
from kernels.distributed.shard import Shard
from kernels.graph import ID, OFFSET, Array, Csr
from kernels.reachability.certificate import reasons
from kernels.reachability.certificate.condensation import Rows, require_csr
from kernels.scc.certificate.sharded import check_scc


class Names:
    """The names of all nodes, as the reasons read them."""

    def __init__(self, names: DistributedArray, num_nodes: int):
        self.names, self._num_nodes = _Counted(names, num_nodes), num_nodes


class _Counted:
    def __init__(self, spread: DistributedArray, length: int):
        self._spread, self._length = spread, length

    def __len__(self) -> int:
        return self._length

    def __getitem__(self, one: slice) -> Array:
        return self._spread[one]


def check_condensation(whole: GlobalView, on_device: Shard, condensation: Any, nodes: Any) -> tuple[GlobalView, Names]:
    """Raise Broken at the first broken rule; return the condensation as a graph over shards, and its names.

    Parameters
    ----------
    whole : GlobalView
        With NumPy arrays.
    on_device : Shard
        The same rank's, with arrays of either kind.
    condensation : Condensation
        Of the own rows and nodes.
    nodes : range
        The own nodes.
    """
    shard, communicator = whole.shard, whole.communicator
    is_one = isinstance(condensation, Condensation) and np.ndim(condensation.names) == 1
    whole.require("" if is_one else "names is not an array of one dimension")
    names = whole.form_of_rows("names", condensation.names, len(condensation.names))
    counts = np.concatenate(communicator.gather(np.array([len(names)], OFFSET)))
    bounds = np.concatenate([np.zeros(1, OFFSET), np.cumsum(counts)])
    num_nodes, own = int(bounds[-1]), range(int(bounds[shard.rank]), int(bounds[shard.rank + 1]))
    whole.require("" if nodes == own else f"nodes are {nodes!r}, not {own!r}")
    node = whole.form_of_rows("node", condensation.node, len(shard.ids))
    greatest = int(communicator.most(np.array([node.max(initial=-1)], OFFSET))[0])
    if greatest >= num_nodes:
        raise Broken(f"node has {greatest}, outside 0..{num_nodes - 1}")
    numbers = np.arange(own.start, own.stop, dtype=ID)
    none = Csr(np.zeros(len(own) + 1, OFFSET), names[:0], None)
    places = GlobalView(
        Shard(shard.rank, bounds, numbers, numbers.astype(node.dtype), none, none, names[:0], names[:0]), communicator
    )
    (named,) = places.rows.request(node, names)
    check_scc(on_device, communicator, Components(np.asarray(named, like=on_device.ghosts)))
    shown: Any = Names(places.spread(names), num_nodes)
    _require_numbered(whole, places, names, node, shown)
    children = _rows_of(whole, "children", condensation.children, len(own), num_nodes)
    parents = _rows_of(whole, "parents", condensation.parents, len(own), num_nodes)
    _require_children(whole, places, Halo(shard, communicator).extended(node), children, shown)
    _require_transposed(places, whole, children, parents, shown)
    csrs = Csr(*children, None), Csr(*parents, None)
    ghosts = ghosts_of(own, csrs)
    return GlobalView(Shard(shard.rank, bounds, numbers, numbers.astype(node.dtype), *csrs, ghosts, ghosts), communicator), shown


def _rows_of(whole: GlobalView, name: str, csr: Any, num_own: int, num_nodes: int) -> Rows:
    return whole.together(lambda: require_csr(name, csr, num_own, num_nodes, whole.shard.ghosts.dtype))


def _require_numbered(whole: GlobalView, places: GlobalView, names: Array, node: Array, shown: Any) -> None:
    """Raise Broken unless nodes ascend by the ids of their names, which are in them."""
    node_of_name, rank = whole.rows.request(names, node, whole.shard.positions)
    before = np.concatenate(
        [np.full_like(rank, -1, shape=(1,)), *whole.communicator.gather(rank[-1:])[: whole.communicator.rank]]
    )
    astray = (node_of_name != places.shard.ids) | (rank <= np.concatenate([before[-1:], rank])[: len(rank)])
    first = places.first_row(astray)
    if first >= 0:
        raise Broken(reasons.misnumbered(_graph(whole), shown, first))


def _graph(whole: GlobalView) -> Any:
    """`whole`, which has of a graph what reasons need."""
    return whole


def _require_children(whole: GlobalView, places: GlobalView, known: Array, children: Rows, shown: Any) -> None:
    """Raise Broken unless children are the arcs between nodes, each once; `known` are the nodes of own rows and ghosts."""
    shard, num_own = whole.shard, len(whole.shard.ids)
    out = shard.local_out
    tails, heads = np.repeat(known[:num_own], np.diff(out.offsets[: num_own + 1])), known[out.indices]
    keys = np.where(tails != heads, tails * np.int64(places.num_vertices) + heads, -1)  # below 2^63 for 3 * 10^9 nodes
    pairs, pair_of_arc = np.unique(keys, return_inverse=True)
    between = pairs[np.searchsorted(pairs, 0) :]
    found = np.zeros(len(children[1]), np.bool_)

    def are_children(tails_here: Array, heads_here: Array) -> Array:
        return _are_children(*children, tails_here, heads_here, found)

    present = np.ones(len(pairs), np.bool_)
    numbers = max(places.num_vertices, 1)
    present[len(pairs) - len(between) :] = places.rows.query(between // numbers, between % numbers, are_children)
    missing = np.flatnonzero(~present[pair_of_arc])[:1]
    arc = whole.first(*evidence(shard, None, int(missing[0]) if len(missing) else -1))
    if arc:
        src, dst, _ = arc
        raise Broken(f"{arc_name(whole, (int(src[0]), int(dst[0])))}: is not among the children")
    unfound = np.flatnonzero(~found)[:1]
    tail = places.first(np.searchsorted(children[0], unfound, side="right") - 1 + places.rows.start)
    if tail:
        named = reasons.node_of(_graph(whole), shown, int(tail[0][0]))
        raise Broken(f"{named}: a child without an arc, twice, or out of order")


def _require_transposed(places: GlobalView, whole: GlobalView, children: Rows, parents: Rows, shown: Any) -> None:
    """Raise Broken unless a node's parents are the nodes whose child it is, in order."""
    own = places.shard.ids
    heads = children[1].astype(OFFSET)
    order = np.argsort(heads, kind="stable")
    here, tails = places.rows.send(heads[order], np.repeat(own, np.diff(children[0]))[order])
    order = np.argsort(here, kind="stable")  # the ranks' parts ascend by tail, and so do a node's
    here, tails = here[order], tails[order]
    place = parents[0][here] + np.arange(len(here)) - np.searchsorted(here, here)
    fits = place < parents[0][here + 1]
    fits[fits] = parents[1][place[fits]] == tails[fits]
    wrong = np.sort(tails[~fits])[:1]
    told = places.first(wrong, key=wrong)
    count = np.bincount(here, minlength=len(own))
    node = int(told[0][0]) if told else places.first_row(count != np.diff(parents[0]))
    if node >= 0:
        raise Broken(f"{reasons.node_of(_graph(whole), shown, node)}: its children are not those whose parent it is")


@njit(cache=True, nogil=True)
def _find(offsets, indices, tails, heads, found):  # type: ignore[no-untyped-def]
    present = np.zeros(len(tails), np.bool_)
    for pair in range(len(tails)):
        begin, end = offsets[tails[pair]], offsets[tails[pair] + 1]
        place = begin + np.searchsorted(indices[begin:end], heads[pair])
        if place < end and indices[place] == heads[pair]:
            present[pair] = found[place] = True
    return present


def _are_children(offsets: Array, indices: Array, tails: Array, heads: Array, found: Array) -> Array:
    present: Array = _find(offsets, indices, frozen(tails), frozen(heads), found)
    return present
