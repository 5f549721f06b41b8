"""Forests of method "tree" over shards, and the intervals that they give: `kernels.reachability` defines both.

A node's owner draws its parent. The numbers of a subtree begin at those of its parent plus the sizes of the siblings that are
visited before. The parent's owner can add these sizes up before the parent's own numbers are known.
"""

from collections.abc import Sequence

import numpy as np

from kernels.arrays import frozen, is_cupy
from kernels.cpu.compiled import njit
from kernels.distributed.columns import exchange_columns
from kernels.distributed.halo import Halo
from kernels.graph import NO_ROW, OFFSET, Array
from kernels.reachability.keys import key, salt_of
from kernels.reachability.labels.numbering import widen
from kernels.reachability.labels.supports import gather_bits
from kernels.reachability.sharded.forest import NumberedForest
from kernels.reachability.sharded.schedule import ScheduledDag, SweepWork


def draw_forest(halo: Halo, direction: ScheduledDag, seed: int, dimension: int) -> NumberedForest:
    """Draw the forest of one dimension. A collective."""
    shard, into = halo.shard, direction.into
    numbers, num_own = shard.local_rows, len(shard.ids)
    ascending = dimension == 0
    salt = np.uint64(0) if ascending else salt_of(seed, dimension)
    parent = np.full_like(numbers[:num_own], NO_ROW)
    if is_cupy(into):
        from kernels.reachability.sharded import sweeps_cuda as cuda

        cuda.draw_parents(direction, numbers, ascending, salt, parent)
    else:
        _draw_parents(frozen(into.offsets), frozen(into.indices), numbers, direction.depth, salt, ascending, parent)
    of_ghosts = halo.refresh(np.where(parent == NO_ROW, parent, numbers[parent])) - shard.rows.start
    of_ghosts[(of_ghosts < 0) | (of_ghosts >= num_own)] = NO_ROW
    size, before, first = (np.zeros_like(numbers) for _ in range(3))
    parents = np.concatenate([parent, of_ghosts])
    return NumberedForest(direction, numbers, shard.num_vertices, num_own, ascending, salt, parents, size, before, first)


def measuring(direction: ScheduledDag, bits: Array, forests: Sequence[NumberedForest]) -> list[SweepWork]:
    """Gather the `bits` (uint64 [n + g]) along in-arcs, and size the subtrees of forests of the other direction.

    On the CPU this also fills `before`.
    """
    if is_cupy(direction.into):
        from kernels.reachability.sharded import sweeps_cuda as cuda

        return cuda.measuring(direction, bits, forests)
    rows = frozen(direction.into.offsets), frozen(direction.into.indices)
    return [SweepWork(lambda nodes: gather_bits(*rows, nodes, bits), [bits]), *(_sizing(forest) for forest in forests)]


def placing(halo: Halo, forests: Sequence[NumberedForest]) -> list[SweepWork]:
    """Fill the first number of each subtree; sizes are known. A collective."""
    if not forests:
        return []
    if is_cupy(forests[0].direction.out):
        from kernels.reachability.sharded import sweeps_cuda as cuda

        for forest in forests:
            cuda.fill_before(forest)
        works = [cuda.placing(forest) for forest in forests]
    else:
        works = [_placing(forest) for forest in forests]
    for forest in forests:
        _send_before(halo, forest)
        _place_roots(halo, forest)
    return works


def widening(forests: Sequence[NumberedForest]) -> list[SweepWork]:
    """Fill the extremes of what each node reaches, in a sweep against the arcs; first numbers are known."""
    if forests and is_cupy(forests[0].direction.out):
        from kernels.reachability.sharded import sweeps_cuda as cuda

        return cuda.widening(forests)
    return [_widening(forest) for forest in forests]


def _send_before(halo: Halo, forest: NumberedForest) -> None:
    """Send `before` of ghosts whose parents are own nodes to the ghosts' owners. A collective."""
    shard = halo.shard
    children = np.flatnonzero(forest.parent[forest.num_own :] != NO_ROW)
    cuts = np.searchsorted(children, np.asarray(shard.ghost_bounds[1:-1], like=children)).tolist()
    columns = np.split(shard.ghosts[children], cuts), np.split(forest.before[forest.num_own :][children], cuts)
    nodes, before = exchange_columns(halo.communicator, *columns)
    forest.before[nodes - shard.rows.start] = before


def _place_roots(halo: Halo, forest: NumberedForest) -> None:
    """Fill the first numbers of the roots' subtrees; roots are visited as the heads of a virtual node. A collective."""
    communicator = halo.communicator
    roots = np.flatnonzero(forest.parent[: forest.num_own] == NO_ROW)
    sizes = forest.size[roots].astype(OFFSET)
    counts = np.stack(communicator.gather(np.array([len(roots), int(sizes.sum())], OFFSET)))
    (count, total), (first, taken) = counts.sum(axis=0).tolist(), counts[: communicator.rank].sum(axis=0).tolist()
    if not count:
        return
    turn = 0 if forest.ascending else int(key(forest.salt, forest.num_nodes, forest.num_nodes))
    start, backwards = (turn >> 1) % count, turn % 2 == 1
    upto = taken + np.cumsum(sizes)
    # `zero` is the sum of the sizes of the roots before the one that is visited first; backwards it includes that root's own.
    at = start - first
    zero = communicator.sum(int(upto[at] - (0 if backwards else sizes[at])) if at in range(len(roots)) else 0)
    before = (zero - upto if backwards else upto - sizes - zero) % total
    forest.first[roots] = 1 + before


def _sizing(forest: NumberedForest) -> SweepWork:
    rows = frozen(forest.direction.out.offsets), frozen(forest.direction.out.indices)
    trees, turn = (forest.parent, forest.size, forest.before), (forest.salt, forest.ascending, forest.num_nodes)
    return SweepWork(lambda nodes: _add_sizes(*rows, nodes, forest.numbers, *trees, *turn), [forest.size])


def _placing(forest: NumberedForest) -> SweepWork:
    return SweepWork(lambda nodes: _place(nodes, forest.parent, forest.before, forest.first), [forest.first])


def _widening(forest: NumberedForest) -> SweepWork:
    forest.last = forest.first + forest.size - 1
    forest.low, forest.post = forest.last.copy(), forest.last.copy()
    rows = frozen(forest.direction.out.offsets), frozen(forest.direction.out.indices)
    return SweepWork(lambda nodes: widen(*rows, nodes[::-1].copy(), forest.low, forest.post), [forest.low, forest.post])


@njit(cache=True, nogil=True)
def _draw_parents(
    offsets: Array, indices: Array, numbers: Array, depth: Array, salt: np.uint64, ascending: bool, parent: Array
) -> None:
    """Draw each own node's parent, a local node; the tails of a row ascend by their numbers."""
    for node in range(len(parent)):
        smallest = np.uint64(0)
        for arc in range(offsets[node], offsets[node + 1]):
            tail = indices[arc]
            if depth[tail] == depth[node] - 1:
                if ascending:
                    parent[node] = tail
                    break
                drawn = key(salt, numbers[tail], numbers[node])
                if parent[node] < 0 or drawn < smallest:
                    smallest = drawn
                    parent[node] = tail


@njit(cache=True, nogil=True)
def _add_sizes(
    offsets: Array, indices: Array, nodes: Array, numbers: Array, parent: Array, size: Array, before: Array,
    salt: np.uint64, ascending: bool, num_nodes: int,
) -> None:  # fmt: skip
    """Size the subtrees of `nodes`, and fill `before` of their children, in the turned order of the row."""
    for node in nodes:
        begin, length = offsets[node], offsets[node + 1] - offsets[node]
        turn = np.uint64(0) if ascending else key(salt, numbers[node], num_nodes)
        place = np.int64((turn >> np.uint64(1)) % np.uint64(length)) if length else 0
        step = -1 if turn & np.uint64(1) else 1
        taken = 0
        for _ in range(length):
            child = indices[begin + place]
            if parent[child] == node:
                before[child] = taken
                taken += size[child]
            place += step
            if place == length:
                place = 0
            elif place < 0:
                place = length - 1
        size[node] = taken + 1


@njit(cache=True, nogil=True)
def _place(nodes: Array, parent: Array, before: Array, first: Array) -> None:
    for node in nodes:
        if parent[node] >= 0:
            first[node] = first[parent[node]] + before[node]
