"""The hierarchy of a forest's edges over all ranks, in which the greatest edge between two vertices is on their paths up.

Borůvka's rounds on the forest's edges only (King: A simpler minimum spanning tree verification algorithm, Algorithmica 18, 1997):
in a round every node takes its least edge, chains of such nodes are shortened by pointer jumping (Wyllie, 1979), and nodes that
are connected become one node of the next level. So there are at most log2 V levels. A node is named by one of its rows and
belongs to that row's owner; edges are not moved.

The levels are not kept. A rank climbs with its own rows and ghosts: of each it has the node on the present level, and the
greatest edge on the path there. The endpoints of an arc are looked up on the level on which their paths meet.
"""

from collections.abc import Iterator
from itertools import pairwise
from typing import NamedTuple

import numpy as np

from kernels.arrays import is_cupy_array
from kernels.certificate.global_view import GlobalView
from kernels.distributed.columns import lower_at
from kernels.distributed.owners import Owners
from kernels.forest.certificate.edges import KnownRows, OwnEdges
from kernels.graph import Array

_NONE = -1
_BLOCK = {False: 1 << 17, True: 1 << 26}  # rows whose greatest edges are replaced at a time, on a CPU and on a GPU


class Keys(NamedTuple):
    """The keys that order edges, as in `OwnEdges`."""

    heavy: Array
    low: Array
    high: Array

    def take(self, places: Array) -> "Keys":
        """The keys at these places."""
        return Keys(*(column[places] for column in self))


class Level(NamedTuple):
    """Where the rows that a rank knows are on a level and on the next one: arrays [n + f], of index width except `top.heavy`."""

    before: Array  # the number of the node on this level; -1 if its tree was complete below
    after: Array  # the number of the node on the next level; -1 if its tree is complete
    top: Keys  # the greatest edge on the path up to the next level; undefined for a row whose tree is complete


def levels(view: GlobalView, edges: OwnEdges, known: KnownRows, joined: Array) -> Iterator[Level]:
    """Join the edges of all ranks, level by level; each is valid until the next one. A collective, with equally many levels.

    Args:
        joined (bool [E]): Which own edges joined two nodes; marked in place. An edge that did not is the greatest on a cycle.
    """
    rows, own = view.rows, np.arange(view.rows.start, view.rows.stop, dtype=known.foreign.dtype, like=known.foreign)
    num_own, nodes = len(own), np.concatenate([own, known.foreign])
    del own
    before, place = (np.arange(count, dtype=nodes.dtype, like=nodes) for count in (len(nodes), len(edges.src)))
    top: Keys | None = None
    while view.any(len(place) > 0):
        over, chosen = _next_level(rows, nodes, num_own, (before[known.near[place]], before[known.far[place]]), place, edges)
        for end in (known.near, known.far):
            node = before[end[place]]
            joined[place[(chosen.low[node] == edges.low[place]) & (chosen.high[node] == edges.high[place])]] = True
        moves = chosen.low >= 0  # marks, which take an eighth of numbers
        nodes, number = rows.distinct(over[moves])
        num_own = int(np.count_nonzero((nodes >= rows.start) & (nodes < rows.stop)))
        above = np.full_like(over, _NONE, shape=(len(over) + 1,))  # its last entry is that of -1
        above[:-1][moves] = number
        after = above[before]
        top = chosen if top is None else _raised(top, chosen, before, after)
        del over, chosen, moves, number, above
        yield Level(before, after, top)
        before = after
        place = place[before[known.near[place]] != before[known.far[place]]]
    if top is None:
        top = Keys(*(np.full_like(column, _NONE, shape=before.shape) for column in (edges.heavy, before, before)))
    yield Level(before, np.full_like(before, _NONE), top)


def _next_level(
    rows: Owners, nodes: Array, num_own: int, ends: tuple[Array, Array], place: Array, edges: OwnEdges
) -> tuple[Array, Keys]:
    """Let each node take its least edge; return the nodes that `nodes` become part of, and these edges (low -1 if none).

    Args:
        nodes (index width [K]): This rank's, the first `num_own` of which belong to it.
        ends (index width [L] each): Which of `nodes` are at the ends of the edges `place` of `edges`.
    """
    above, chosen = _least(rows, nodes, num_own, ends, place, edges)
    taking = np.flatnonzero(chosen.low >= 0).astype(nodes.dtype)
    # Two nodes that take the same edge lead to each other: the smaller one ends the chain. No cycle is longer.
    (back,) = rows.request(above[taking], above)
    number = taking + rows.start
    ends_here = (back == number) & (number < above[taking])
    above[taking[ends_here]] = number[ends_here]
    del back, number, ends_here
    _jump(rows, above, taking)
    own, columns = nodes[:num_own] - rows.start, (above, *chosen)
    replies = rows.fetch(nodes[num_own:], *columns)
    over, *keys = (np.concatenate([column[own], reply]) for column, reply in zip(columns, replies, strict=True))
    return over, Keys(*keys)


def _least(
    rows: Owners, nodes: Array, num_own: int, ends: tuple[Array, Array], place: Array, edges: OwnEdges
) -> tuple[Array, Keys]:
    """For each own row, the other end of the least of all ranks' edges of that node, and the edge; the row and -1 if none."""
    first = np.full_like(nodes, len(place))
    for end in ends:  # the edges ascend: the first one is the least
        lower_at(first, end, np.arange(len(place), dtype=first.dtype, like=first))

    def of_nodes(part: range) -> tuple[Array, Array, Keys]:
        those = np.flatnonzero(first[part.start : part.stop] < len(place)) + part.start
        edge = first[those]
        others = nodes[np.where(ends[0][edge] == those, ends[1][edge], ends[0][edge])]
        return nodes[those], others, Keys(edges.heavy, edges.low, edges.high).take(place[edge])

    above = np.arange(rows.start, rows.stop, dtype=nodes.dtype, like=nodes)
    chosen = Keys(*(np.full_like(above, _NONE, column.dtype) for column in (edges.heavy, edges.low, edges.high)))
    own, others, offered = of_nodes(range(num_own))
    _take(above, chosen, own - rows.start, others, offered)
    del own, others, offered
    for block in rows.blocks(len(nodes) - num_own, nodes):
        foreign, others, offered = of_nodes(range(num_own + block.start, min(num_own + block.stop, len(nodes))))
        here, others, *columns = rows.send(foreign, others, *offered)
        offered = Keys(*columns)
        # Of one sender they ascend, so a part in which they do names no node twice
        cuts = [0, *(np.flatnonzero(here[1:] <= here[:-1]) + 1).tolist(), len(here)]
        for part in (slice(*cut) for cut in pairwise(cuts)):
            those, keys = here[part], Keys(*(column[part] for column in offered))
            held = chosen.take(those)
            less = np.flatnonzero((held.low < 0) | _is_less(keys, held))
            _take(above, chosen, those[less], others[part][less], keys.take(less))
    return above, chosen


def _take(above: Array, chosen: Keys, nodes: Array, others: Array, edges: Keys) -> None:
    above[nodes] = others
    for column, of_edge in zip(chosen, edges, strict=True):
        column[nodes] = of_edge


def _is_less(one: Keys, other: Keys) -> Array:
    ends = (one.low < other.low) | ((one.low == other.low) & (one.high < other.high))
    less: Array = (one.heavy < other.heavy) | ((one.heavy == other.heavy) & ends)
    return less


def _jump(rows: Owners, above: Array, moving: Array) -> None:
    """Let `above` be the end of each chain, by pointer jumping: as far as possible among own rows before each exchange."""
    while rows.communicator.any(len(moving)):
        _jump_here(rows, above, moving)
        (further,) = rows.request(above[moving], above)
        moves = np.flatnonzero(further != above[moving])
        moving = moving[moves]
        above[moving] = further[moves]


def _jump_here(rows: Owners, above: Array, moving: Array) -> None:
    changed = True
    while changed:
        up = above[moving]
        own = (up >= rows.start) & (up < rows.stop)
        further = np.where(own, above[np.where(own, up - rows.start, 0)], up)
        changed = bool((further != up).any())
        above[moving] = further


def _raised(top: Keys, chosen: Keys, node: Array, after: Array) -> Keys:
    """`top` where each row that moves has the edge that its node took, if this is greater. It is changed in place."""
    block = _BLOCK[is_cupy_array(node)]
    for begin in range(0, len(node), block):
        rows = np.flatnonzero(after[begin : begin + block] >= 0) + begin
        offered = chosen.take(node[rows])
        greater = np.flatnonzero(_is_less(top.take(rows), offered))
        for column, of_edge in zip(top, offered.take(greater), strict=True):
            column[rows[greater]] = of_edge
    return top
