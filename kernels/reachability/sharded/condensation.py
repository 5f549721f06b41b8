"""The acyclic graph of the strong components over shards: every rank has a range of nodes, with their arcs.

Nodes are numbered as on a single rank, in the order of external ids; a rank gets the components whose smallest ids are in its
even share of all ids. The arcs of a component can come from many ranks: each drops copies before it sends, and the owner of
the tail drops the remaining ones.
"""

from dataclasses import dataclass
from typing import Any

import numpy as np

from kernels.distributed import Communicator, Halo, Owners, Shard, ShardAnswer
from kernels.distributed.assembly import ghosts_of
from kernels.distributed.columns import distinct
from kernels.gpu.loader import to_host
from kernels.graph import ID, NO_ROW, OFFSET, Array, Csr
from kernels.scc.sharded import scc

_LARGEST = 3_037_000_499  # nodes: a pair u * C + v then fits int64


@dataclass(frozen=True)
class Nodes:
    """A rank's part of a condensation, see `kernels.answers.Condensation`. Arrays are NumPy arrays."""

    node: Array  # index width [n]: for each own row, its component's node, which any rank can own
    names: Array  # index width [c]: for each own node, the row of smallest external id in its component
    dag: Shard  # the own nodes and their arcs, `out` to children and `into` from parents; its rows and ids are the nodes


def condense(shard: Shard, communicator: Communicator) -> ShardAnswer[Nodes]:
    """Shrink every strong component to a node. A collective.

    For a shard on a GPU the components are found there, and the rest is done on the CPU. All arcs of the node of a giant
    component are on one rank, without copies.
    """
    components = scc(shard, communicator)
    labels = to_host(components.answer.labels)
    node, names, owners = _numbered(shard, labels, communicator)
    if owners.bounds[-1] > _LARGEST:
        raise OverflowError(f"{owners.bounds[-1]} components, more than the limit of {_LARGEST}")
    known = to_host(Halo(shard, communicator).extended(np.asarray(node, like=shard.ghosts)))
    children, parents = _arcs_between_nodes(shard, known, owners)
    own = owners.own
    ids = np.arange(own.start, own.stop, dtype=ID)
    ghosts = ghosts_of(own, (children, parents))
    dag = Shard(communicator.rank, owners.bounds, ids, ids.astype(node.dtype), children, parents, ghosts, ghosts, directed=True)
    return ShardAnswer(Nodes(node, names, dag), components.supersteps + owners.supersteps + 1)


def _numbered(shard: Shard, labels: Array, communicator: Communicator) -> tuple[Array, Array, Owners]:
    """Number the components by their smallest ids; return the own rows' nodes, the own nodes' names, and the nodes' owners."""
    rows, positions = np.arange(shard.rows.start, shard.rows.stop, dtype=labels.dtype), to_host(shard.positions)
    names = np.flatnonzero(labels == rows)
    names = names[np.argsort(positions[names])]
    size = communicator.size
    places = Owners(np.arange(size + 1, dtype=OFFSET) * shard.num_vertices // size, communicator)
    here, received = places.send(positions[names].astype(OFFSET), rows[names])
    received = received[np.argsort(here)]
    nodes = Owners.of_counts(len(received), communicator)
    owners_of_rows = Owners(shard.bounds, communicator)
    by_row = np.argsort(received)
    here, number = owners_of_rows.send(received[by_row].astype(OFFSET), by_row + nodes.own.start)
    numbers = np.full(len(labels), NO_ROW, labels.dtype)
    numbers[here] = number
    (node,) = owners_of_rows.request(labels.astype(OFFSET), numbers)
    nodes.supersteps += places.supersteps + owners_of_rows.supersteps
    return node, received, nodes


def _arcs_between_nodes(shard: Shard, known: Array, owners: Owners) -> tuple[Csr, Csr]:
    """The arcs of the own nodes to children and from parents, without copies; `known` has the nodes of own rows and ghosts."""
    num_nodes, num_own = int(owners.bounds[-1]), len(shard.ids)
    node = known.astype(OFFSET)
    tails = np.repeat(node[:num_own], np.diff(to_host(shard.local_out.offsets[: num_own + 1])))
    heads = node[to_host(shard.local_out.indices)]
    between = tails != heads
    tails, heads = _pairs((tails[between], heads[between]), num_nodes)
    tails, heads = _pairs(owners.send(tails, heads), num_nodes)
    children = _rows(tails, heads, owners, known.dtype)
    heads, tails = _pairs((heads, tails + owners.own.start), num_nodes)
    heads, tails = _pairs(owners.send(heads, tails), num_nodes)
    return children, _rows(heads, tails, owners, known.dtype)


def _pairs(arcs: tuple[Array, ...], num_nodes: int) -> tuple[Array, Array]:
    """Pairs of int64 nodes, ascending, without copies."""
    keys = distinct(arcs[0] * num_nodes + arcs[1])
    return keys // max(num_nodes, 1), keys % max(num_nodes, 1)


def _rows(tails: Array, heads: Array, owners: Owners, index: np.dtype[Any]) -> Csr:
    degrees = np.bincount(tails, minlength=len(owners.own))
    return Csr(np.concatenate([np.zeros(1, OFFSET), np.cumsum(degrees)]), heads.astype(index), None)
