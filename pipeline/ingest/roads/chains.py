"""Chains: the parts of streets between crossings and ends, each of which is an arc in the directions in which it is open.

A run is a longest part of a way whose nodes are all in the file and no barriers; a node that comes twice in a row counts once.
A crossing is a node that runs pass, or end at, at least twice, also the same run. A chain leads from one crossing or end of a
run to the next, over nodes that are neither.
"""

from dataclasses import dataclass

import numpy as np

from kernels.cpu.compiled import njit
from kernels.cpu.parallel import over_items, ranges
from kernels.graph import Array
from pipeline.ingest.roads.lengths import millimetres


@dataclass(frozen=True)
class Chains:
    """The chains of streets, in the order of the ways in the file and of the nodes of each way.

    Attributes:
        nodes (int32 or int64 [P]): Places of the nodes of all runs.
        way (int64 [C]): Number of each chain's way.
        first, last (int64 [C]): Where the nodes of each begin in `nodes`, and where its last one is.
        length (int64 [C]): Millimetres: the sum of those of its segments.
        whole (bool [W]): Of the ways, whether each has all its nodes, and no barrier.
        repeated: How many nodes came twice in a row.
    """

    nodes: Array
    way: Array
    first: Array
    last: Array
    length: Array
    whole: Array
    repeated: int

    @property
    def ends(self) -> tuple[Array, Array]:
        """Places of the first and the last node of each chain."""
        return self.nodes[self.first], self.nodes[self.last]

    def only(self, kept: Array) -> "Chains":
        """The chains for which `kept`, bool [C], is true."""
        way, first, last, length = (column[kept] for column in (self.way, self.first, self.last, self.length))
        return Chains(self.nodes, way, first, last, length, self.whole, self.repeated)


def chains_of(at: Array, ends: Array, passable: Array, units: Array) -> Chains:
    """Split ways into chains.

    Args:
        at (int [R]): Places of the ways' nodes.
        ends (int64 [W]): Where those of each way end.
        passable (bool [M]): Of the nodes, whether each is in the file and no barrier.
        units (int32 [M, 2]): Their longitudes and latitudes, in the seventh decimal of a degree.
    """
    nodes, run_way, run_end = np.empty_like(at), np.empty(len(at) // 2, np.int64), np.empty(len(at) // 2, np.int64)
    whole = np.ones(len(ends), np.bool_)
    runs, repeated = _runs(at, ends, passable, nodes, run_way, run_end, whole)
    run_way, run_end = run_way[:runs].copy(), run_end[:runs].copy()
    nodes = nodes[: run_end[-1] if runs else 0].copy()
    passes = np.zeros(len(passable), np.uint8)
    count = _count(nodes, run_end, passes)
    way, first, last = (np.empty(count, np.int64) for _ in range(3))
    _split(nodes, run_way, run_end, passes, way, first, last)
    length = np.empty(count, np.int64)
    over_items(ranges(count, len(nodes)), lambda part: measure(nodes, first, last, units, length, *part))
    return Chains(nodes, way, first, last, length, whole, repeated)


@njit(cache=True, nogil=True)
def _runs(at: Array, ends: Array, passable: Array, nodes: Array, run_way: Array, run_end: Array, whole: Array) -> tuple[int, int]:
    """Write the nodes of runs, their ways and where they end; returns how many there are, and how many nodes were repeated."""
    runs, filled, repeated, begin = 0, 0, 0, 0
    for way in range(len(ends)):
        start = filled
        for place in range(begin, ends[way] + 1):
            ended = place == ends[way]
            if not ended and passable[at[place]]:
                if filled > start and nodes[filled - 1] == at[place]:
                    repeated += 1
                else:
                    nodes[filled] = at[place]
                    filled += 1
                continue
            whole[way] = whole[way] and ended
            if filled - start >= 2:
                run_way[runs], run_end[runs] = way, filled
                runs += 1
                start = filled
            filled = start
        begin = ends[way]
    return runs, repeated


@njit(cache=True, nogil=True)
def _count(nodes: Array, run_end: Array, passes: Array) -> int:
    """Count how often runs pass each node, up to 2, which an end counts for; returns the number of chains."""
    begin, chains = 0, 0
    for run in range(len(run_end)):
        for place in range(begin, run_end[run]):
            passes[nodes[place]] = min(passes[nodes[place]] + 1, 2)
        passes[nodes[begin]] = passes[nodes[run_end[run] - 1]] = 2
        begin = run_end[run]
    begin = 0
    for run in range(len(run_end)):
        for place in range(begin + 1, run_end[run]):
            chains += passes[nodes[place]] == 2
        begin = run_end[run]
    return chains


@njit(cache=True, nogil=True)
def _split(nodes: Array, run_way: Array, run_end: Array, passes: Array, way: Array, first: Array, last: Array) -> None:
    begin, chain = 0, 0
    for run in range(len(run_end)):
        start = begin
        for place in range(begin + 1, run_end[run]):
            if passes[nodes[place]] == 2:
                way[chain], first[chain], last[chain] = run_way[run], start, place
                chain += 1
                start = place
        begin = run_end[run]


@njit(cache=True, nogil=True)
def measure(nodes: Array, first: Array, last: Array, units: Array, length: Array, begin: int, end: int) -> None:
    """The millimetres along nodes between two places in chains, for the pairs `begin` to `end`."""
    for chain in range(begin, end):
        total = 0
        for place in range(first[chain], last[chain]):
            one, other = nodes[place], nodes[place + 1]
            total += millimetres(units[one, 0], units[one, 1], units[other, 0], units[other, 1])
        length[chain] = total
