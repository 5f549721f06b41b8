"""The reachability index over shards: what `kernels.reachability.reachability` gives, to the byte, by method "tree".

Every rank condenses, labels and keeps a range of the nodes (condensation.py). A label is a sweep along or against the arcs
(sweeps.py); sweeps in one direction run together: seven in all, two of which find their order.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from kernels.answers import Condensation, Labels, ReachabilityIndex
from kernels.arrays import is_cupy, require_numpy
from kernels.distributed.assembly import to_device
from kernels.distributed.communicator import Communicator
from kernels.distributed.halo import Halo
from kernels.distributed.local_graph import local_graph
from kernels.distributed.owners import Owners
from kernels.distributed.shard import Shard, ShardAnswer
from kernels.gpu import loader as cuda
from kernels.gpu.loader import to_host
from kernels.graph import NO_ROW, OFFSET, Array
from kernels.reachability.constants import NUM_SUPPORTS
from kernels.reachability.definitions import METHODS, require_arguments
from kernels.reachability.labels.supports import bands_of, best_of_bands
from kernels.reachability.sharded.condensation import condense
from kernels.reachability.sharded.sweeps import Way, plan, sweep
from kernels.reachability.sharded.trees import Forest, measuring, placing, widening

# What sweeps hold on a GPU at their peak, by hand: of a node or ghost offsets, order, depths and bits, and numbers of each
# dimension; of an arc of either direction its end by number and by ghost, and the 32 bytes of `cuda.by_ghost`.
_NODE_BYTES, _LABELS, _ARC_BYTES = 160, 8, 32


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
) -> ShardAnswer[IndexPart]:
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
    leads from rank to rank most often. Of a shard on a GPU the components are found there, and sweeps run there where all ranks'
    GPUs have room for them, beside arcs that lie in their memory. Nodes are numbered and supports are chosen on the CPU, and the
    answer's arrays are NumPy's.
    """
    if not is_cupy(shard.out):
        require_numpy(shard.out, "reachability over shards")
    if (method or METHODS[0]) != "tree":
        raise ValueError(f"reachability over shards: method {method!r} needs one worker; here there is 'tree'")
    require_arguments("reachability over shards", dimensions, seed, "tree")
    condensed = condense(shard, communicator)
    nodes = condensed.answer
    on_gpu = is_cupy(shard.out) and _fit_gpus(shard, nodes.dag, dimensions, communicator)
    labels, supersteps = _label(nodes.dag, communicator, dimensions, seed, on_gpu=on_gpu)
    owners = Owners(nodes.dag.bounds, communicator)
    index = ReachabilityIndex(Condensation(nodes.node, nodes.names, nodes.dag.out, nodes.dag.into), labels)
    part = IndexPart(index, nodes.dag.rows, labels_of_rows(owners, index))
    return ShardAnswer(part, condensed.supersteps + supersteps + owners.supersteps)


def labels_of_rows(owners: Owners, index: ReachabilityIndex) -> RowLabels:
    """The own rows' labels, from the owners of the nodes, each of whom has the part of the index of `IndexPart`. A collective."""
    dag, labels = index.condensation, index.labels
    name, level, *numbers = owners.request(dag.node.astype(OFFSET), dag.names, labels.level, *labels.low, *labels.post)
    return RowLabels(name, level, np.stack(numbers[: labels.dimensions]), np.stack(numbers[labels.dimensions :]))


def _fit_gpus(shard: Shard, dag: Shard, dimensions: int, communicator: Communicator) -> bool:
    """Whether the arcs of all ranks lie in the memory of their GPUs, and what sweeps take fits in beside them. A collective."""
    from kernels.distributed.gpu.memory import memory_of

    is_there = memory_of(shard.local_out.indices) == memory_of(shard.local_into.indices) == "device"
    num_arcs, width = len(dag.out.indices) + len(dag.into.indices), dag.ghosts.dtype.itemsize
    of_nodes = (len(dag.ids) + dag.num_ghosts) * (_NODE_BYTES + _LABELS * width * dimensions)
    fits = is_there and of_nodes + num_arcs * (_ARC_BYTES + 2 * width) < cuda.free_bytes()
    return bool(communicator.least(np.array([fits], OFFSET))[0])


def _label(dag: Shard, communicator: Communicator, dimensions: int, seed: int, *, on_gpu: bool) -> tuple[Labels, int]:
    """Label the own nodes; return how many supersteps it took, too. Arrays are NumPy's before and after."""
    swept = to_device(dag) if on_gpu else dag
    halo, arcs, num_own = Halo(swept, communicator), local_graph(swept), len(dag.ids)
    along, level = plan(halo, swept.local_into, arcs.out)
    against, height = plan(halo, swept.local_out, arcs.into)
    ahead = Way(swept.local_into, swept.local_out, level, along)
    behind = Way(swept.local_out, swept.local_into, height, against)
    supports = _supports(dag, communicator, to_host(level[:num_own]))
    own_bits = _own_bits(dag, supports)
    reaches, reached = (np.array(own_bits, like=level) for _ in range(2))
    forests = [Forest(halo, behind if dimension % 2 else ahead, seed, dimension) for dimension in range(dimensions)]
    forward, backward = forests[::2], forests[1::2]
    supersteps = along.supersteps + against.supersteps
    supersteps += sweep(halo, against, *measuring(behind, reaches, forward))
    supersteps += sweep(halo, along, *measuring(ahead, reached, backward))
    supersteps += sweep(halo, along, *placing(forward))
    supersteps += sweep(halo, against, *placing(backward), *widening(forward))
    supersteps += sweep(halo, along, *widening(backward))

    def of_own(values: Array) -> Array:
        return to_host(values[:num_own].copy())

    def stacked(name: str) -> Array:
        return np.stack([of_own(getattr(forest, name)) for forest in forests])

    labels = Labels(
        "tree", seed, of_own(level), of_own(height), stacked("low"), stacked("post"), stacked("first"), stacked("last"),
        supports, of_own(reaches), of_own(reached), (False,) * dimensions,
    )  # fmt: skip
    return labels, supersteps


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
