"""The reachability index over shards: the same bytes as `kernels.reachability.reachability`, by method "tree".

Every rank condenses, labels and keeps a range of the nodes (condensation.py). A label is a sweep along or against the arcs
(schedule.py). Sweeps in one direction run together: there are seven, two of which find the order of the nodes (sweeps.py).
"""

import numpy as np

from kernels.answers import Condensation, IndexPart, Labels, ReachabilityIndex, RowLabels
from kernels.arrays import is_cupy, require_numpy
from kernels.distributed import Communicator, Halo, Owners, Shard, ShardAnswer, local_graph
from kernels.distributed.assembly import to_device
from kernels.gpu import loader as cuda
from kernels.gpu.loader import to_host
from kernels.graph import NO_ROW, OFFSET, Array
from kernels.reachability.constants import NUM_SUPPORTS
from kernels.reachability.definitions import METHODS, require_arguments
from kernels.reachability.labels.supports import bands_of, best_of_bands
from kernels.reachability.sharded.condensation import condense
from kernels.reachability.sharded.schedule import ScheduledDag, sweep
from kernels.reachability.sharded.sweeps import find_schedule
from kernels.reachability.sharded.trees import draw_forest, measuring, placing, widening

# Peak memory of sweeps on a GPU, estimated by hand. Per node or ghost: offsets, order, depths and bits, and the numbers of each
# dimension. Per arc and direction: its head as a node and as a ghost, and 32 bytes of what orders the arcs by ghost.
_NODE_BYTES, _LABELS, _ARC_BYTES = 160, 8, 32


def reachability(
    shard: Shard, communicator: Communicator, dimensions: int = 3, seed: int = 0, method: str | None = None
) -> ShardAnswer[IndexPart]:
    """Build the index of a graph. A collective.

    Args:
        dimensions, seed, method: As of `kernels.reachability.label`.

    Raises:
        ValueError: If the number of dimensions, the seed or the method is not valid; "dfs" is not, because it needs a single
            rank.

    A rank takes memory for its rows, its nodes, their arcs and their ghosts. A sweep takes one superstep more than the largest
    number of changes of rank on a path. For a shard on a GPU the components are found there; sweeps run there if on all ranks
    the arcs are in GPU memory and enough of it is free for the sweeps. Nodes are numbered and supports are chosen on the CPU, and
    the answer's arrays are NumPy arrays.
    """
    if not is_cupy(shard.out):
        require_numpy(shard.out, "reachability over shards")
    if (method or METHODS[0]) != "tree":
        raise ValueError(f"reachability over shards: method {method!r} needs a single rank; over shards there is 'tree'")
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
    """Request the own rows' labels from the owners of their nodes; `index` is a rank's part, as in `IndexPart`. A collective."""
    dag, labels = index.condensation, index.labels
    name, level, *numbers = owners.request(dag.node.astype(OFFSET), dag.names, labels.level, *labels.low, *labels.post)
    return RowLabels(name, level, np.stack(numbers[: labels.dimensions]), np.stack(numbers[labels.dimensions :]))


def _fit_gpus(shard: Shard, dag: Shard, dimensions: int, communicator: Communicator) -> bool:
    """Whether on all ranks the arcs are in GPU memory, and enough of it is free for sweeps. A collective."""
    from kernels.distributed.gpu.memory import memory_of

    on_device = memory_of(shard.local_out.indices) == memory_of(shard.local_into.indices) == "device"
    num_arcs, width = len(dag.out.indices) + len(dag.into.indices), dag.ghosts.dtype.itemsize
    of_nodes = (len(dag.ids) + dag.num_ghosts) * (_NODE_BYTES + _LABELS * width * dimensions)
    fits = on_device and of_nodes + num_arcs * (_ARC_BYTES + 2 * width) < cuda.free_bytes()
    return communicator.all(fits)


def _label(dag: Shard, communicator: Communicator, dimensions: int, seed: int, *, on_gpu: bool) -> tuple[Labels, int]:
    """Label the own nodes; also return the number of supersteps. Arguments and labels are NumPy arrays."""
    swept = to_device(dag) if on_gpu else dag
    halo, arcs, num_own = Halo(swept, communicator), local_graph(swept), len(dag.ids)
    along, level = find_schedule(halo, swept.local_into, arcs.out)
    against, height = find_schedule(halo, swept.local_out, arcs.into)
    ahead = ScheduledDag(swept.local_into, swept.local_out, level, along)
    behind = ScheduledDag(swept.local_out, swept.local_into, height, against)
    supports = _supports(dag, communicator, to_host(level[:num_own]))
    own_bits = _own_bits(dag, supports)
    reaches, reached = (np.array(own_bits, like=level) for _ in range(2))
    forests = [draw_forest(halo, behind if dimension % 2 else ahead, seed, dimension) for dimension in range(dimensions)]
    forward, backward = forests[::2], forests[1::2]
    supersteps = along.supersteps + against.supersteps
    supersteps += sweep(halo, against, *measuring(behind, reaches, forward))
    supersteps += sweep(halo, along, *measuring(ahead, reached, backward))
    supersteps += sweep(halo, along, *placing(halo, forward))
    supersteps += sweep(halo, against, *placing(halo, backward), *widening(forward))
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
    """Choose the best of the ranks' best nodes of each band."""
    supports = np.full(NUM_SUPPORTS, NO_ROW, dag.ghosts.dtype)
    if not dag.num_vertices:
        return supports
    num_levels = 1 + communicator.max(int(level.max(initial=0)))
    bands, share = bands_of(num_levels)
    best, scores = best_of_bands(dag.into.offsets, dag.out.offsets, level, num_levels, supports.dtype)
    best[best != NO_ROW] += dag.rows.start
    candidates, scored = np.stack(communicator.gather(best)), np.stack(communicator.gather(scores))
    for band in range(bands):
        part = slice(band * share, (band + 1) * share)
        nodes, score = candidates[:, part].ravel(), scored[:, part].ravel()
        order = np.lexsort((nodes, -score))[:share]
        supports[part] = nodes[order]
    return supports


def _own_bits(dag: Shard, supports: Array) -> Array:
    """The bit of each own node that is a support: uint64 [n + g]."""
    bits = np.zeros(dag.num_local, np.uint64)
    own = np.flatnonzero((supports >= dag.rows.start) & (supports < dag.rows.stop))
    bits[supports[own] - dag.rows.start] = np.uint64(1) << own.astype(np.uint64)
    return bits
