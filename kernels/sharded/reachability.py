"""The reachability index over shards: what `kernels.reachability.reachability` gives, to the byte, by method "tree".

Every rank condenses, labels and keeps a range of the nodes (`kernels.sharded.condensation`). A label is a sweep along the arcs or
against them (`kernels.sharded.sweeps`), and sweeps that go the same way go together: seven in all, two of which find their order.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from kernels.answers import Condensation, Labels, ReachabilityIndex
from kernels.backend import frozen, is_cupy, require_numpy
from kernels.graph import NO_ROW, OFFSET, Array, Csr
from kernels.reachability import METHODS, NUM_SUPPORTS
from kernels.reachability.supports import bands_of, best_of_bands, gather
from kernels.sharded.communicator import Communicator
from kernels.sharded.condensation import condense
from kernels.sharded.halo import Halo
from kernels.sharded.local_graph import local_graph
from kernels.sharded.owners import Owners
from kernels.sharded.shard import Part, Shard
from kernels.sharded.sweeps import Work, plan, sweep
from kernels.sharded.trees import Forest, Way


@dataclass(frozen=True)
class RowLabels:
    """What the table of labels says of the own rows.

    Attributes
    ----------
    labels : index width [n]
        For each row, the row of smallest external id in its component.
    level : int32 [n]
    low, post : index width [D, n]
        Of its component.
    """

    labels: Array
    level: Array
    low: Array
    post: Array


@dataclass(frozen=True)
class IndexPart:
    """One rank's part of an index.

    Attributes
    ----------
    index : ReachabilityIndex
        Of the n own rows (`condensation.node`) and the c own nodes (all else), but `supports` whole; what it names are rows and
        nodes of the whole graph. The ranks' arrays one after the other, offsets shifted, are those of one worker.
    nodes : range
        The own nodes.
    rows : RowLabels
        Of the own rows.
    """

    index: ReachabilityIndex
    nodes: range
    rows: RowLabels


def reachability(
    shard: Shard, communicator: Communicator, dimensions: int = 3, seed: int = 0, method: str | None = None
) -> Part[IndexPart]:
    """Build the index of a graph. A collective.

    Parameters
    ----------
    shard, communicator
    dimensions, seed, method
        As of `kernels.reachability.label`.

    Raises
    ------
    ValueError
        If there is no such number of dimensions, seed or method; also for "dfs", which only one worker can find.
    TypeError
        If the shard's arrays belong to a backend without this kernel.
    PeerLost
        See `Communicator`.

    Notes
    -----
    A rank takes memory for its rows, its nodes, their arcs and their ghosts. A sweep takes one superstep more than the path that
    leads from rank to rank most often. Of a shard on a GPU only the components are found there: sweeps run on the CPU, and the
    answer's arrays are NumPy's.
    """
    if not is_cupy(shard.out):
        require_numpy(shard.out, "reachability over shards")
    if (method or METHODS[0]) != "tree":
        raise ValueError(f"reachability over shards: method {method!r} needs one worker; here there is 'tree'")
    if dimensions < 1:
        raise ValueError(f"reachability over shards: {dimensions} dimensions, where 1 is the least")
    if not 0 <= seed < 2**64:
        raise ValueError(f"reachability over shards: seed {seed} is not in 0..{2**64 - 1}")
    condensed = condense(shard, communicator)
    nodes = condensed.answer
    labels, supersteps = _label(nodes.dag, communicator, dimensions, seed)
    owners = Owners(nodes.dag.bounds, communicator)
    index = ReachabilityIndex(Condensation(nodes.node, nodes.names, nodes.dag.out, nodes.dag.into), labels)
    part = IndexPart(index, nodes.dag.rows, labels_of_rows(owners, index))
    return Part(part, condensed.supersteps + supersteps + owners.supersteps)


def labels_of_rows(owners: Owners, index: ReachabilityIndex) -> RowLabels:
    """The own rows' labels, from the owners of the nodes, each of whom has the part of the index of `IndexPart`. A collective."""
    dag, labels = index.condensation, index.labels
    name, level, *numbers = owners.ask(dag.node.astype(OFFSET), dag.names, labels.level, *labels.low, *labels.post)
    return RowLabels(name, level, np.stack(numbers[: labels.dimensions]), np.stack(numbers[labels.dimensions :]))


def _label(dag: Shard, communicator: Communicator, dimensions: int, seed: int) -> tuple[Labels, int]:
    """Label the own nodes; return how many supersteps it took, too."""
    halo, arcs, num_own = Halo(dag, communicator), local_graph(dag), len(dag.ids)
    along, level = plan(halo, dag.local_into, arcs.out)
    against, height = plan(halo, dag.local_out, arcs.into)
    ahead, behind = Way(dag.local_into, dag.local_out, level, along), Way(dag.local_out, dag.local_into, height, against)
    supports = _supports(dag, communicator, level[:num_own])
    reaches, reached = _own_bits(dag, supports), _own_bits(dag, supports)
    forests = [Forest(halo, behind if dimension % 2 else ahead, seed, dimension) for dimension in range(dimensions)]
    forward, backward = forests[::2], forests[1::2]
    supersteps = along.supersteps + against.supersteps
    supersteps += sweep(halo, against, _gathering(dag.local_out, reaches), *(forest.sizing() for forest in forward))
    supersteps += sweep(halo, along, _gathering(dag.local_into, reached), *(forest.sizing() for forest in backward))
    supersteps += sweep(halo, along, *(forest.placing() for forest in forward))
    backward_placing, forward_widening = [forest.placing() for forest in backward], [forest.widening() for forest in forward]
    supersteps += sweep(halo, against, *backward_placing, *forward_widening)
    supersteps += sweep(halo, along, *(forest.widening() for forest in backward))

    def stacked(name: str) -> Array:
        return np.stack([getattr(forest, name)[:num_own] for forest in forests])

    labels = Labels(
        "tree", seed, level[:num_own].copy(), height[:num_own].copy(), stacked("low"), stacked("post"), stacked("first"),
        stacked("last"), supports, reaches[:num_own].copy(), reached[:num_own].copy(), (False,) * dimensions,
    )  # fmt: skip
    return labels, supersteps


def _gathering(near: Csr, bits: Array) -> Work:
    """Each node gets the bits of what it comes after."""
    rows = frozen(near.offsets), frozen(near.indices)
    return Work(lambda nodes: gather(*rows, nodes, bits), [bits])


def _supports(dag: Shard, communicator: Communicator, level: Array) -> Array:
    """Choose the best of the ranks' best."""
    supports = np.full(NUM_SUPPORTS, NO_ROW, dag.ghosts.dtype)
    if not dag.num_vertices:
        return supports
    num_levels = 1 + int(communicator.most(np.array([level.max(initial=0)]))[0])
    bands, share = bands_of(num_levels)
    best, scores = best_of_bands(dag.into.offsets, dag.out.offsets, level, num_levels, supports.dtype)
    best[best != NO_ROW] += dag.rows.start
    found, scored = np.stack(communicator.gather(best)), np.stack(communicator.gather(scores))
    for band in range(bands):
        part = slice(band * share, (band + 1) * share)
        nodes, score = found[:, part].ravel(), scored[:, part].ravel()
        order = np.lexsort((nodes, -score))[:share]
        supports[part] = nodes[order]
    return supports


def _own_bits(dag: Shard, supports: Array) -> Array:
    """Each node's bit, where it is a support: uint64 [n + g]."""
    bits = np.zeros(len(dag.local_rows), np.uint64)
    own = np.flatnonzero((supports >= dag.rows.start) & (supports < dag.rows.stop))
    bits[supports[own] - dag.rows.start] = np.uint64(1) << own.astype(np.uint64)
    return bits
