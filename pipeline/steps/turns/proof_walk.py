"""What restrictions forbid behind the rows of a split graph, by following rows and remembering ways: for its proof."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import numpy as np

from kernels.graph import Array

# How far a path is on a restriction: its number, the way on which it is or goes on to, and whether it goes against this way;
# None if it is at the node where this way begins.
Progress = tuple[int, int, bool | None]
Memory = frozenset[Progress]
_NOTHING: Memory = frozenset()


class Walk:
    """The rows that paths reach while they are on a restriction over more than two ways; others need to remember one arc."""

    def __init__(
        self, streets: Any, restrictions: Sequence[Mapping[str, Any]], src: Array, dst: Array, arc: Array, rows: Array
    ) -> None:
        """`streets` as `StreetRows`; `src`, `dst` and `arc` of the split graph's rows, of which `rows` are arcs."""
        self._streets, self._dst, self._arc = streets, dst, arc
        self._short = np.unique(np.array([*self._pairs(one for one in restrictions if len(one["ways"]) == 2)], np.int64))
        self._long = [one for one in restrictions if len(one["ways"]) > 2]
        begins = [np.flatnonzero((streets.way == one["ways"][0]) & (streets.dst == one["nodes"][0])) for one in self._long]
        self._armed: dict[int, set[Progress]] = {}
        for number, arcs in enumerate(begins):
            for first in arcs.tolist():
                self._armed.setdefault(first, set()).add((number, 1, None))
        self._rows_of = _grouped(src, rows)
        arming = rows[np.isin(arc[rows], np.array(sorted(self._armed), np.int64))].tolist()
        reached = self._follow([(row, self._after(_NOTHING, row)) for row in arming], frozenset())
        self._vertices = {int(dst[row]) for row in reached}
        self._all = np.array(sorted(self._vertices), np.int64)
        from_others = [*arming, *rows[np.isin(dst[rows], self._all)].tolist()]
        begin = {row for row in from_others if int(src[row]) not in self._vertices}
        self._items = self._follow([(row, self._after(_NOTHING, row)) for row in begin], self._vertices)

    def remembers(self, vertices: Array) -> Array:
        """Whether more than one arc has to be remembered at vertices of the split graph, bool [n]."""
        known: Array = np.isin(vertices, self._all)
        return known

    def forbids(self, first: Array, second: Array) -> Array:
        """Whether restrictions of two ways forbid movements from one arc to another, or these turn round at a place, bool [n]."""
        streets = self._streets
        back = np.isin(streets.dst[first], streets.places)
        back[back] = streets.street[first[back]] == streets.street[second[back]]
        forbidden: Array = back | np.isin(self._key(first, second), self._short)
        return forbidden

    def movements(self, rows: Array) -> list[tuple[int, int, bool]]:
        """Of the rows that enter vertices where more is remembered: with each arc behind it, and whether it is forbidden."""
        movements = []
        for row in rows[self.remembers(self._dst[rows])].tolist():
            last = int(self._arc[row])
            second = self._streets.behind(self._streets.dst[last : last + 1])[1]
            by_pairs = self.forbids(np.full(len(second), last), second).tolist()
            for memory in self._items.get(row, ()):
                for arc, never in zip(second.tolist(), by_pairs, strict=True):
                    movements.append((row, arc, never or self._ends(memory, arc)))
        return movements

    def _key(self, first: Any, second: Any) -> Any:
        return first * len(self._streets.src) + second

    def _pairs(self, restrictions: Iterator[Mapping[str, Any]]) -> Iterator[int]:
        way, src, dst = self._streets.way, self._streets.src, self._streets.dst
        for one in restrictions:
            (node,), (before, after) = one["nodes"], one["ways"]
            leaving = np.flatnonzero(src == node)
            wrong = leaving[(way[leaving] == after) != one["only"]]
            for first in np.flatnonzero((dst == node) & (way == before)).tolist():
                yield from self._key(first, wrong).tolist()

    def _after(self, memory: Memory, row: int) -> Memory:
        """What is remembered behind a row, if this is remembered before it."""
        arc = int(self._arc[row])
        way, node, against = int(self._streets.way[arc]), int(self._streets.dst[arc]), bool(self._streets.against[arc])
        now = set(self._armed.get(arc, ()))
        for number, place, going in memory:
            ways, nodes = self._long[number]["ways"], self._long[number]["nodes"]
            if place < len(nodes) and ways[place] == way and going in (None, against):
                now.add((number, place + 1, None) if nodes[place] == node else (number, place, against))
        return frozenset(now)

    def _ends(self, memory: Memory, arc: int) -> bool:
        """Whether a restriction forbids an arc."""
        way = int(self._streets.way[arc])
        at_last = (self._long[number] for number, place, _ in memory if place == len(self._long[number]["nodes"]))
        return any((one["ways"][-1] == way) != one["only"] for one in at_last)

    def _follow(self, items: list[tuple[int, Memory]], vertices: "frozenset[int] | set[int]") -> dict[int, set[Memory]]:
        """What is remembered behind each row, as long as there is something to remember, or it enters one of some vertices."""
        remembered = dict[int, set[Memory]]()
        while items:
            row, memory = items.pop()
            if (not memory and int(self._dst[row]) not in vertices) or memory in remembered.setdefault(row, set()):
                continue
            remembered[row].add(memory)
            items += [(after, self._after(memory, after)) for after in self._rows_of(int(self._dst[row]))]
        return {row: memories for row, memories in remembered.items() if memories}


def _grouped(src: Array, rows: Array) -> Any:
    """A function from a vertex to the rows that leave it."""
    order = rows[np.argsort(src[rows], kind="stable")]
    ascending = src[order]

    def of(vertex: int) -> list[int]:
        low, high = np.searchsorted(ascending, [vertex, vertex + 1])
        leaving: list[int] = order[low:high].tolist()
        return leaving

    return of
