"""The rules about the condensation, over shards: rows and nodes each have their owners."""

from typing import Any

import numpy as np

from kernels.answers import Components, Condensation
from kernels.arrays import frozen
from kernels.certificate.global_view import DistributedArray, GlobalView, evidence
from kernels.certificate.rules import Broken, arc_name
from kernels.cpu.compiled import njit
from kernels.distributed import Halo, Shard
from kernels.distributed.assembly import ghosts_of
from kernels.graph import ID, OFFSET, Array, Csr
from kernels.reachability.certificate import reasons
from kernels.reachability.certificate.condensation import Rows, require_csr
from kernels.scc.certificate.sharded import check_scc


class NodeNames:
    """The names of all nodes, for the reasons; stands for a `Condensation` there."""

    def __init__(self, names: DistributedArray, num_nodes: int):
        self.names = _Counted(names, num_nodes)


class _Counted:
    def __init__(self, spread: DistributedArray, length: int):
        self._spread, self._length = spread, length

    def __len__(self) -> int:
        return self._length

    def __getitem__(self, one: slice) -> Array:
        return self._spread[one]


def check_condensation(view: GlobalView, on_device: Shard, condensation: Any, nodes: Any) -> tuple[GlobalView, NodeNames]:
    """Raise Broken at the first broken rule; return the condensation as a graph over shards, and its names.

    Args:
        view: With NumPy arrays.
        on_device: The same shard, with arrays of either backend.
        condensation: Of the own rows and nodes.
        nodes: The own nodes.
    """
    shard, communicator = view.shard, view.communicator
    is_one = isinstance(condensation, Condensation) and np.ndim(condensation.names) == 1
    view.require("" if is_one else "names is not an array of one dimension")
    names = view.form_of_rows("names", condensation.names, len(condensation.names))
    counts = np.concatenate(communicator.gather(np.array([len(names)], OFFSET)))
    bounds = np.concatenate([np.zeros(1, OFFSET), np.cumsum(counts)])
    num_nodes, own = int(bounds[-1]), range(int(bounds[shard.rank]), int(bounds[shard.rank + 1]))
    view.require("" if nodes == own else f"nodes are {nodes!r}, not {own!r}")
    node = view.form_of_rows("node", condensation.node, len(shard.ids))
    greatest = communicator.max(int(node.max(initial=-1)))
    if greatest >= num_nodes:
        raise Broken(f"node has {greatest}, outside 0..{num_nodes - 1}")
    numbers = np.arange(own.start, own.stop, dtype=ID)
    none = Csr(np.zeros(len(own) + 1, OFFSET), names[:0], None)
    nodes_view = GlobalView(
        Shard(shard.rank, bounds, numbers, numbers.astype(node.dtype), none, none, names[:0], names[:0], True), communicator
    )
    (named,) = nodes_view.rows.request(node, names)
    check_scc(on_device, communicator, Components(np.asarray(named, like=on_device.ghosts)))
    shown: NodeNames = NodeNames(nodes_view.spread(names), num_nodes)
    _require_numbered(view, nodes_view, names, node, shown)
    children = _require_csr(view, "children", condensation.children, len(own), num_nodes)
    parents = _require_csr(view, "parents", condensation.parents, len(own), num_nodes)
    _require_children(view, nodes_view, Halo(shard, communicator).extended(node), children, shown)
    _require_transposed(nodes_view, view, children, parents, shown)
    csrs = Csr(*children, None), Csr(*parents, None)
    ghosts = ghosts_of(own, csrs)
    dag = Shard(shard.rank, bounds, numbers, numbers.astype(node.dtype), *csrs, ghosts, ghosts, directed=True)
    return GlobalView(dag, communicator), shown


def _require_csr(view: GlobalView, name: str, csr: Any, num_own: int, num_nodes: int) -> Rows:
    return view.together(lambda: require_csr(name, csr, num_own, num_nodes, view.shard.ghosts.dtype))


def _require_numbered(view: GlobalView, nodes_view: GlobalView, names: Array, node: Array, shown: NodeNames) -> None:
    """Raise Broken unless nodes ascend by the ids of their names, and each node's name is in it."""
    node_of_name, position = view.rows.request(names, node, view.shard.positions)
    last_positions = view.communicator.gather(position[-1:])[: view.communicator.rank]
    before = np.concatenate([np.full_like(position, -1, shape=(1,)), *last_positions])
    wrong = (node_of_name != nodes_view.shard.ids) | (position <= np.concatenate([before[-1:], position])[: len(position)])
    first = nodes_view.first_row(wrong)
    if first >= 0:
        raise Broken(reasons.misnumbered(view, shown, first))


def _require_children(view: GlobalView, nodes_view: GlobalView, known: Array, children: Rows, shown: NodeNames) -> None:
    """Raise Broken unless children are the arcs between nodes without copies; `known` has the nodes of own rows and ghosts."""
    shard, num_own = view.shard, len(view.shard.ids)
    out = shard.local_out
    tails, heads = np.repeat(known[:num_own], np.diff(out.offsets[: num_own + 1])), known[out.indices]
    keys = np.where(tails != heads, tails * np.int64(nodes_view.num_vertices) + heads, -1)  # below 2^63 for 3 * 10^9 nodes
    pairs, pair_of_arc = np.unique(keys, return_inverse=True)
    between = pairs[np.searchsorted(pairs, 0) :]
    matched = np.zeros(len(children[1]), np.bool_)

    def are_children(tails_here: Array, heads_here: Array) -> Array:
        present: Array = _find(*children, frozen(tails_here), frozen(heads_here), matched)
        return present

    present = np.ones(len(pairs), np.bool_)
    num_nodes = max(nodes_view.num_vertices, 1)
    present[len(pairs) - len(between) :] = nodes_view.rows.query(between // num_nodes, between % num_nodes, are_children)
    missing = np.flatnonzero(~present[pair_of_arc])[:1]
    arc = view.first(*evidence(shard, None, int(missing[0]) if len(missing) else -1))
    if arc:
        src, dst, _ = arc
        raise Broken(f"{arc_name(view, (int(src[0]), int(dst[0])))}: is not among the children")
    unmatched = np.flatnonzero(~matched)[:1]
    tail = nodes_view.first(np.searchsorted(children[0], unmatched, side="right") - 1 + nodes_view.rows.start)
    if tail:
        named = reasons.node_of(view, shown, int(tail[0][0]))
        raise Broken(f"{named}: a child without an arc, a repeated child, or a wrong order")


def _require_transposed(nodes_view: GlobalView, view: GlobalView, children: Rows, parents: Rows, shown: NodeNames) -> None:
    """Raise Broken unless a node's parents are the nodes whose child it is, in order."""
    own = nodes_view.shard.ids
    heads = children[1].astype(OFFSET)
    order = np.argsort(heads, kind="stable")
    here, tails = nodes_view.rows.send(heads[order], np.repeat(own, np.diff(children[0]))[order])
    order = np.argsort(here, kind="stable")  # ranks send tails in ascending order, so those of a head ascend
    here, tails = here[order], tails[order]
    place = parents[0][here] + np.arange(len(here)) - np.searchsorted(here, here)
    fits = place < parents[0][here + 1]
    fits[fits] = parents[1][place[fits]] == tails[fits]
    wrong = np.sort(tails[~fits])[:1]
    wrong_nodes = nodes_view.first(wrong, key=wrong)
    count = np.bincount(here, minlength=len(own))
    node = int(wrong_nodes[0][0]) if wrong_nodes else nodes_view.first_row(count != np.diff(parents[0]))
    if node >= 0:
        raise Broken(f"{reasons.node_of(view, shown, node)}: its children are not the nodes whose parent it is")


@njit(cache=True, nogil=True)
def _find(offsets: Array, indices: Array, tails: Array, heads: Array, matched: Array) -> Array:
    """Whether each head is among the children of its tail; mark these children in `matched`."""
    present = np.zeros(len(tails), np.bool_)
    for pair in range(len(tails)):
        begin, end = offsets[tails[pair]], offsets[tails[pair] + 1]
        place = begin + np.searchsorted(indices[begin:end], heads[pair])
        if place < end and indices[place] == heads[pair]:
            present[pair] = matched[place] = True
    return present
