"""The acyclic graph of the strong components over shards: every rank has a range of nodes, with their arcs.

Nodes are numbered as on one worker, in the order of external ids, so that the range of a rank are the components whose smallest
ids are among its even share of all ids. A component's arcs are many ranks': each drops copies before it sends, and whoever owns
the tail drops the rest.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from kernels.distributed.assembly import ghosts_of
from kernels.distributed.columns import distinct
from kernels.distributed.communicator import Communicator
from kernels.distributed.halo import Halo
from kernels.distributed.owners import Owners
from kernels.distributed.shard import Shard, ShardAnswer
from kernels.gpu.loader import to_host
from kernels.graph import ID, NO_ROW, OFFSET, Array, Csr
from kernels.scc.sharded import scc

_LARGEST = 3_037_000_499  # nodes, so that the number of a pair of them fits int64


@dataclass(frozen=True)
class Nodes:
    """What a rank knows of the components: see `kernels.answers.Condensation`. Arrays are NumPy's.

    Attributes
    ----------
    node : index width [n]
        For each own row, its component's node, of any rank.
    names : index width [c]
        For each own node, the row of smallest external id in its component.
    dag : Shard
        The own nodes and their arcs, `out` to children and `into` from parents; rows and ids are the nodes' numbers.
    """

    node: Array
    names: Array
    dag: Shard


def condense(shard: Shard, communicator: Communicator) -> ShardAnswer[Nodes]:
    """Shrink every strong component to a node. A collective.

    Notes
    -----
    Of a shard on a GPU the components are found there, the nodes here. The node of a giant component has its arcs on one
    rank, each once.
    """
    found = scc(shard, communicator)
    labels = to_host(found.answer.labels)
    node, names, owners = _numbered(shard, labels, communicator)
    if owners.bounds[-1] > _LARGEST:
        raise OverflowError(f"{owners.bounds[-1]} components, where {_LARGEST} can be numbered")
    known = to_host(Halo(shard, communicator).extended(np.asarray(node, like=shard.ghosts)))
    children, parents = _between(shard, known, owners)
    own = owners.own
    ids = np.arange(own.start, own.stop, dtype=ID)
    ghosts = ghosts_of(own, (children, parents))
    dag = Shard(communicator.rank, owners.bounds, ids, ids.astype(node.dtype), children, parents, ghosts, ghosts)
    return ShardAnswer(Nodes(node, names, dag), found.supersteps + owners.supersteps + 1)


def _numbered(shard: Shard, labels: Array, communicator: Communicator) -> tuple[Array, Array, Owners]:
    """Number the components by their smallest ids; return the node of each own row, the own nodes' names, and who owns nodes."""
    rows, ranks = np.arange(shard.rows.start, shard.rows.stop, dtype=labels.dtype), to_host(shard.positions)
    names = np.flatnonzero(labels == rows)
    names = names[np.argsort(ranks[names])]
    size = communicator.size
    places = Owners(np.arange(size + 1, dtype=OFFSET) * shard.num_vertices // size, communicator)
    here, told = places.send(ranks[names].astype(OFFSET), rows[names])
    told = told[np.argsort(here)]
    nodes = Owners.of_counts(len(told), communicator)
    owners_of_rows = Owners(shard.bounds, communicator)
    by_row = np.argsort(told)
    here, number = owners_of_rows.send(told[by_row].astype(OFFSET), by_row + nodes.own.start)
    numbers = np.full(len(labels), NO_ROW, labels.dtype)
    numbers[here] = number
    (node,) = owners_of_rows.request(labels.astype(OFFSET), numbers)
    nodes.supersteps += places.supersteps + owners_of_rows.supersteps
    return node, told, nodes


def _between(shard: Shard, known: Array, owners: Owners) -> tuple[Csr, Csr]:
    """The arcs of the own nodes to children, and from parents, each once; `known` are the nodes of own rows and ghosts."""
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


def _pairs(ends: tuple[Array, ...], num_nodes: int) -> tuple[Array, Array]:
    """Pairs of int64 numbers, ascending, each once."""
    keys = distinct(ends[0] * num_nodes + ends[1])
    return keys // max(num_nodes, 1), keys % max(num_nodes, 1)


def _rows(near: Array, far: Array, owners: Owners, index: np.dtype[Any]) -> Csr:
    degrees = np.bincount(near, minlength=len(owners.own))
    return Csr(np.concatenate([np.zeros(1, OFFSET), np.cumsum(degrees)]), far.astype(index), None)
