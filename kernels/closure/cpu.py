"""The closure on the CPU: each core unites the bits of a block of 64 vertices along the arcs that lead to them.

A block visits only the nodes that reach one of its vertices, in an order in which a node comes before all that reach it; those
that wait are bits, too. So the work is in proportion to the pairs, not to the square of the number of vertices.
"""

from collections.abc import Callable
from itertools import pairwise
from typing import Any

import numpy as np

from kernels.answers import Closure, Condensation
from kernels.arrays import frozen, unsigned
from kernels.closure.order import by_height
from kernels.cpu.compiled import njit
from kernels.cpu.parallel import cores, over_items, ranges_of_rows, worth_threads
from kernels.graph import OFFSET, Array, Graph

_RANGES = 16  # of blocks, for each core


def list_pairs(
    graph: Graph, nodes: Condensation, columns: range, require: Callable[[int], None], limit: int
) -> Closure:  # fmt: skip
    """Answer `kernels.closure.closure` on NumPy arrays.

    Args:
        columns: Positions of the second vertices of the pairs.
        require: Is called with this rank's number of pairs, or with more than `limit`; a collective.
    """
    sizes = np.bincount(nodes.node, minlength=nodes.num_nodes)
    rows_by_id, row = frozen(graph.rows_by_id), graph.rows_by_id.dtype
    order, _ = by_height(nodes)
    place = np.empty_like(order)
    place[order] = np.arange(len(order), dtype=order.dtype)
    node_of = frozen(nodes.node[rows_by_id])
    alone = np.where(sizes == 1, graph.positions[nodes.names], -1).astype(np.int64)  # the position of a node that misses itself
    tails = np.repeat(np.arange(graph.num_vertices, dtype=row), np.diff(graph.out.offsets))
    alone[nodes.node[tails[tails == graph.out.indices]]] = -1
    parents = unsigned(nodes.parents.offsets), unsigned(nodes.parents.indices)
    count = -(-len(columns) // 64)
    parts = min(count, cores() * _RANGES) if worth_threads(graph.num_vertices + graph.num_arcs) else 1
    cuts = np.linspace(0, count, max(parts, 1) + 1).astype(np.int64).tolist()
    bounds = columns.start, columns.stop
    total = np.zeros(1, np.int64)  # to which all parts add without locks, so that they end soon after it exceeds the limit

    def unite(part: tuple[int, int]) -> tuple[Array, Array, Array]:
        of_nodes = node_of, alone, frozen(sizes)
        united: tuple[Array, Array, Array] = _unite(part, bounds, (order, place, *parents), of_nodes, total, limit)
        return united

    united = over_items(pairwise(cuts), unite)
    require(int(total[0]))
    blocks, owners, words = (np.concatenate(arrays) for arrays in zip(*united, strict=True))
    offsets, blocks, words = _by_node(owners, blocks, words, nodes.num_nodes)
    lengths = np.zeros(nodes.num_nodes + 1, OFFSET)
    _count(offsets, words, lengths)
    begins = np.concatenate([[0], np.cumsum(lengths[node_of])])
    require(int(begins[-1]))
    vertex, reached = np.empty(int(begins[-1]), row), np.empty(int(begins[-1]), row)

    def fill(part: tuple[int, int]) -> None:
        _fill(part, columns.start, (offsets, blocks, words), (node_of, rows_by_id), (begins, vertex, reached))

    over_items(ranges_of_rows(begins), fill)
    return Closure(vertex, reached)


@njit(cache=True, nogil=True)
def _ones(word: np.uint64) -> int:
    """Number of ones (Warren: Hacker's Delight. 2012, 5-1)."""
    word -= (word >> np.uint64(1)) & np.uint64(0x5555555555555555)
    word = (word & np.uint64(0x3333333333333333)) + ((word >> np.uint64(2)) & np.uint64(0x3333333333333333))
    word = (word + (word >> np.uint64(4))) & np.uint64(0x0F0F0F0F0F0F0F0F)
    return int((word * np.uint64(0x0101010101010101)) >> np.uint64(56))


@njit(cache=True, nogil=True)
def _first(word: np.uint64) -> Any:
    """The place of the lowest one."""
    return _ones((word & (~word + np.uint64(1))) - np.uint64(1))


@njit(cache=True, nogil=True)
def _unite(
    part: tuple[int, int],
    bounds: tuple[int, int],
    dag: tuple[Array, Array, Array, Array],
    of_nodes: tuple[Array, Array, Array],
    total: Array,
    limit: int,
) -> tuple[Array, Array, Array]:
    """The words of blocks `part` of positions in `bounds`: of each its block, its node, and its bits, where there are any."""
    order, place, offsets, indices = dag
    node_of, alone, sizes = of_nodes
    one = np.uint64(1)
    bits, waits = np.zeros(len(order), np.uint64), np.zeros((len(order) >> 6) + 1, np.uint64)
    blocks, nodes, words = np.empty(1024, np.int32), np.empty(1024, order.dtype), np.empty(1024, np.uint64)
    count = 0
    for block in range(part[0], part[1]):
        pairs = 0
        first = bounds[0] + (block << 6)
        for position in range(first, min(first + 64, bounds[1])):
            here = place[node_of[position]]
            bits[here] |= one << np.uint64(position - first)
            waits[here >> 6] |= one << np.uint64(here & 63)
        for group in range(len(waits)):
            while waits[group]:  # uniting adds only to higher places
                here = (group << 6) + _first(waits[group])
                waits[group] &= waits[group] - one
                node, word = order[here], bits[here]
                bits[here] = 0
                for arc in range(offsets[node], offsets[node + 1]):
                    parent = place[indices[arc]]
                    bits[parent] |= word
                    waits[parent >> 6] |= one << np.uint64(parent & 63)
                if first <= alone[node] < first + 64:
                    word &= ~(one << np.uint64(alone[node] - first))
                if word:
                    if count == len(words):
                        blocks = np.append(blocks, np.empty_like(blocks))
                        nodes = np.append(nodes, np.empty_like(nodes))
                        words = np.append(words, np.empty_like(words))
                    blocks[count], nodes[count], words[count] = block, node, word
                    count += 1
                    pairs += _ones(word) * sizes[node]
        total[0] += pairs
        if total[0] > limit:
            break
    return blocks[:count], nodes[:count], words[:count]


@njit(cache=True, nogil=True)
def _by_node(owners: Array, blocks: Array, words: Array, num_nodes: int) -> tuple[Array, Array, Array]:
    """Words sorted by node, with their blocks, and where those of each node begin, int64 [C + 1]."""
    offsets = np.zeros(num_nodes + 1, np.int64)
    for node in owners:
        offsets[node + 1] += 1
    offsets = np.cumsum(offsets)
    cursor, block, word = offsets[:-1].copy(), np.empty_like(blocks), np.empty_like(words)
    for number, node in enumerate(owners):
        block[cursor[node]], word[cursor[node]] = blocks[number], words[number]
        cursor[node] += 1
    return offsets, block, word


@njit(cache=True, nogil=True)
def _count(offsets: Array, words: Array, lengths: Array) -> None:
    for node in range(len(offsets) - 1):
        for number in range(offsets[node], offsets[node + 1]):
            lengths[node] += _ones(words[number])


@njit(cache=True, nogil=True)
def _fill(
    part: tuple[int, int],
    start: int,
    of_nodes: tuple[Array, Array, Array],
    of_positions: tuple[Array, Array],
    pairs: tuple[Array, Array, Array],
) -> None:
    """Write the pairs of some positions: blocks, from `start` on, ascend, so what a vertex reaches ascends by external id."""
    offsets, blocks, words = of_nodes
    node_of, rows_by_id = of_positions
    begins, vertex, reached = pairs
    for position in range(part[0], part[1]):
        at = begins[position]
        node = node_of[position]
        for number in range(offsets[node], offsets[node + 1]):
            word, first = words[number], start + (blocks[number] << 6)
            while word:
                vertex[at], reached[at] = rows_by_id[position], rows_by_id[first + _first(word)]
                word &= word - np.uint64(1)
                at += 1
