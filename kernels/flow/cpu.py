"""Maximum flows on the CPU: pairs on all cores, each by push-relabel with a queue of rows that hold an excess.

Flow starts on all arcs of the source at once. What a row holds is pushed to rows that are one lower; a row that can push to none
is lifted above the lowest to which it has a link. Heights are distances to the target or, of rows that do not reach it, V plus
distances to the source, to which their excess returns. Searches from both ends compute them at the beginning, and again whenever
lifting has read an eighth of the links.
"""

import numpy as np

from kernels.answers import Flows
from kernels.arrays import frozen
from kernels.cpu.compiled import njit
from kernels.cpu.parallel import over_items
from kernels.flow.joining import joined
from kernels.flow.network import Network, network_of
from kernels.graph import Array, Graph

_PAIRS = 4  # that a core solves before it takes others

State = tuple[Array, Array, Array, Array, Array]
# Of the links: what they can carry still. Of the rows: heights, excesses, the link that is tried next, and a queue of rows.


def solve(graph: Graph, src: Array, dst: Array) -> Flows:
    """Answer `kernels.flow.max_flow` on NumPy arrays."""
    network = Network(*map(frozen, network_of(graph)))
    parts = [slice(first, first + _PAIRS) for first in range(0, len(src), _PAIRS)] or [slice(0)]
    return joined(graph, src, dst, over_items(parts, lambda part: _solve(network, frozen(src[part]), frozen(dst[part]))))


@njit(cache=True, nogil=True)
def _solve(network: Network, src: Array, dst: Array) -> tuple[Array, Array, Array, Array, Array, Array, Array]:
    """The answers for some pairs, as `joined` takes them."""
    rows, links = len(network.offsets) - 1, len(network.heads)
    left, excess, tried = np.empty(links, np.int64), np.empty(rows, np.int64), np.empty(rows, np.int64)
    state = left, np.empty(rows, np.int64), excess, tried, np.empty(rows, network.heads.dtype)
    value, vertices = np.empty(len(src), np.int64), np.empty(len(src), np.int64)
    cuts, flows = np.empty(len(src), np.int64), np.empty(len(src), np.int64)
    cut_arcs, flow_arcs, amounts = np.empty(0, np.int64), np.empty(0, np.int64), np.empty(0, np.int64)
    listed, carried = np.empty(links, np.int64), np.empty(links, np.int64)
    for pair in range(len(src)):
        left[:] = network.capacity
        _push_all(network, state, src[pair], dst[pair])
        value[pair] = excess[dst[pair]]
        reached = excess  # which is read no more
        vertices[pair] = _reach(network, left, src[pair], state[4], reached)
        count = 0
        for row in range(rows):
            if reached[row]:
                for link in range(network.offsets[row], network.offsets[row + 1]):
                    if network.capacity[link] > 0 and not reached[network.heads[link]]:
                        listed[count] = network.arcs[link]
                        count += 1
        cut_arcs, cuts[pair] = np.append(cut_arcs, listed[:count]), count
        count = 0
        for link in range(links):
            if left[link] < network.capacity[link]:
                listed[count], carried[count] = network.arcs[link], network.capacity[link] - left[link]
                count += 1
        order = np.argsort(listed[:count])
        flow_arcs, amounts = np.append(flow_arcs, listed[:count][order]), np.append(amounts, carried[:count][order])
        flows[pair] = count
    return value, vertices, cuts, cut_arcs, flows, flow_arcs, amounts


@njit(cache=True, nogil=True)
def _push_all(network: Network, state: State, source: int, target: int) -> None:
    """Push a maximum flow from the source to the target; what each link can carry is its capacity before."""
    offsets, heads, _, back, _ = network
    left, height, excess, tried, queue = state
    rows = len(height)
    excess[:] = 0
    _set_heights(network, state, source, target, True)
    waiting, begin, count = np.zeros(rows, np.bool_), 0, 0
    waiting[source] = waiting[target] = True  # so that they never are in the queue
    for link in range(offsets[source], offsets[source + 1]):
        amount, head = left[link], heads[link]
        if head != source:
            left[link] = 0
            left[back[link]] += amount
            excess[head] += amount
            if amount and not waiting[head]:
                queue[count], waiting[head] = head, True
                count += 1
    tried[:] = offsets[:-1]
    work, most = 0, (rows + len(heads)) // 8
    held = np.empty_like(queue)
    while count:
        if work > most:
            work = 0
            for place in range(count):
                held[place] = queue[(begin + place) % rows]
            _set_heights(network, state, source, target, False)
            queue[:count], begin = held[:count], 0
            tried[:] = offsets[:-1]
        row = queue[begin]
        begin, count, waiting[row] = (begin + 1) % rows, count - 1, False
        while excess[row] > 0:
            if tried[row] == offsets[row + 1]:
                work += _lift(network, left, height, tried, row)
            link = tried[row]
            head = heads[link]
            if left[link] > 0 and height[row] == height[head] + 1:
                amount = min(excess[row], left[link])
                left[link] -= amount
                left[back[link]] += amount
                excess[row] -= amount
                excess[head] += amount
                if not waiting[head]:
                    queue[(begin + count) % rows], waiting[head] = head, True
                    count += 1
            if excess[row] > 0:
                tried[row] += 1


@njit(cache=True, nogil=True)
def _lift(network: Network, left: Array, height: Array, tried: Array, row: int) -> int:
    """Lift a row above the lowest to which it has a link, which is tried next; return how many links it has."""
    begin, end = network.offsets[row], network.offsets[row + 1]
    lowest = 2 * len(height)
    for link in range(begin, end):
        if left[link] > 0 and height[network.heads[link]] < lowest:
            lowest, tried[row] = height[network.heads[link]], link
    height[row] = lowest + 1
    return int(end - begin)


@njit(cache=True, nogil=True)
def _set_heights(network: Network, state: State, source: int, target: int, first: bool) -> None:
    """Distances to the target; of rows that do not reach it, V and the distances to the source.

    The first time the search ends at the source: no other row is farther than it, as far as is known.
    """
    offsets, heads, _, back, _ = network
    left, height, _, _, queue = state
    rows = len(height)
    height[:] = -1
    height[source], height[target] = rows, 0
    tail = 0
    for end in (target, source):
        queue[tail] = end
        head, tail = tail, tail + 1
        while head < tail:
            row = queue[head]
            head += 1
            for link in range(offsets[row], offsets[row + 1]):
                near = heads[link]
                if first and near == source and left[back[link]] > 0:
                    farthest = height[row] + 1
                    for other in range(rows):
                        height[other] = farthest if height[other] < 0 else height[other]
                    return
                if height[near] < 0 and left[back[link]] > 0:
                    height[near] = height[row] + 1
                    queue[tail] = near
                    tail += 1
    for row in range(rows):
        if height[row] < 0:
            height[row] = 2 * rows


@njit(cache=True, nogil=True)
def _reach(network: Network, left: Array, source: int, queue: Array, reached: Array) -> int:
    """Mark the rows that the source reaches by links that can carry more; return how many."""
    reached[:] = 0
    reached[source], queue[0], count, head = 1, source, 1, 0
    while head < count:
        row = queue[head]
        head += 1
        for link in range(network.offsets[row], network.offsets[row + 1]):
            near = network.heads[link]
            if left[link] > 0 and not reached[near]:
                reached[near] = 1
                queue[count] = near
                count += 1
    return count
