"""Turn restrictions as forbidden sequences of arcs, and what is to be remembered of a path so that it takes none.

A state is a prefix of a forbidden sequence, at least one arc and not the whole sequence; as in Aho and Corasick's search for
words (1975), a path is in the state of the longest prefix with which its arcs end.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from kernels.graph import Array
from pipeline.errors import Damaged
from pipeline.steps.turns.arcs import StreetArcs
from pipeline.tables.streets import restricted_ways

Arcs = tuple[int, ...]


def forbidden_sequences(arcs: StreetArcs, restrictions: Sequence[Mapping[str, Any]]) -> set[Arcs]:
    """The sequences of arcs that restrictions forbid: one for each, or all others behind the ways of one that prescribes."""
    of_ways, forbidden = _OfWays(arcs, {way for one in restrictions for way in one["ways"]}), set[Arcs]()
    for one in restrictions:
        *before, last = of_ways.arcs_of(one["ways"], one["nodes"])
        wrong = [other for other in arcs.after_one(before[-1]) if other != last] if one["only"] else [last]
        forbidden.update((*before, arc) for arc in wrong)
    return forbidden


class _OfWays:
    """The arcs of some ways."""

    def __init__(self, arcs: StreetArcs, ways: set[int]) -> None:
        way = restricted_ways(arcs.streets)[arcs.street]
        wanted = np.flatnonzero(np.isin(way, np.array(sorted(ways), np.int64)))
        self._of_way: dict[int, list[tuple[int, int, int, bool]]] = {}
        tails, heads = (arcs.ids[ends[wanted]].tolist() for ends in (arcs.tail, arcs.head))
        columns = way[wanted].tolist(), wanted.tolist(), tails, heads, arcs.against[wanted].tolist()
        for of_way, *arc in zip(*columns, strict=True):
            self._of_way.setdefault(of_way, []).append(tuple(arc))

    def arcs_of(self, ways: Sequence[int], nodes: Sequence[int]) -> Arcs:
        """The arcs of a movement over ways that meet at nodes."""
        first, last = self._of_way[ways[0]], self._of_way[ways[-1]]
        sequence = [self._single(ways[0], [arc for arc, _, head, _ in first if head == nodes[0]])]
        for way, node in zip(ways[1:-1], nodes[:-1], strict=True):
            begins = [against for _, tail, _, against in self._of_way[way] if tail == node]
            step = [arc for arc, _, _, against in self._of_way[way] if against == self._single(way, begins)]
            sequence += reversed(step) if begins[0] else step
        return (*sequence, self._single(ways[-1], [arc for arc, tail, _, _ in last if tail == nodes[-1]]))

    def _single(self, way: int, arcs: Sequence[Any]) -> Any:
        if len(arcs) != 1:
            raise Damaged(f"a turn restriction names way {way}, of which {len(arcs)} arcs meet its node, not one")
        return arcs[0]


@dataclass(frozen=True)
class Prefixes:
    """The states of forbidden sequences: those of one arc first, ascending, and then the longer ones.

    Attributes:
        singles (int64 [S]): The arcs of the first.
        others: The arcs of each longer one.
        forbidden: Movements, a state and an arc, that no path may take.
        longer: The states of longer prefixes, to which movements lead that are not forbidden.
    """

    singles: Array
    others: list[Arcs]
    forbidden: list[tuple[int, int]]
    longer: list[tuple[int, int, int]]

    @staticmethod
    def of(sequences: Iterable[Arcs], single: Array) -> "Prefixes":
        """Those of forbidden sequences; each arc of `single`, int64 [n], is a state, too."""
        whole = set(sequences)
        prefixes = {sequence[:length] for sequence in whole for length in range(1, len(sequence))}
        children = dict[Arcs, set[int]]()
        for arcs in {*whole, *(arcs for arcs in prefixes if len(arcs) > 1)}:
            children.setdefault(arcs[:-1], set()).add(arcs[-1])
        singles = np.union1d(single, np.array([arc for arc, *more in prefixes if not more], np.int64))
        # A prefix that contains a forbidden sequence is never reached.
        longer_ones = sorted((arcs for arcs in prefixes if len(arcs) > 1), key=lambda arcs: (len(arcs), arcs))
        others = [arcs for arcs in longer_ones if not _contains(arcs, whole)]
        number = {arcs: place for place, arcs in enumerate(others, len(singles))}
        begun = sorted(arcs for arcs in children if len(arcs) == 1)
        numbers = np.searchsorted(singles, np.array(begun, np.int64).ravel()).tolist()
        forbidden, longer = [], []
        for state, arcs in (*zip(numbers, begun, strict=True), *enumerate(others, len(singles))):
            never, leads = set[int](), dict[int, int]()
            for suffix in (arcs[first:] for first in range(len(arcs))):  # the longest first
                for arc in children.get(suffix, ()):
                    if (*suffix, arc) in whole:
                        never.add(arc)
                    elif (*suffix, arc) in number:
                        leads.setdefault(arc, number[(*suffix, arc)])
            forbidden += [(state, arc) for arc in sorted(never)]
            longer += [(state, arc, leads[arc]) for arc in sorted(leads.keys() - never)]
        return Prefixes(singles, others, forbidden, longer)

    @property
    def last(self) -> Array:
        """The last arc of each state, int64 [n]."""
        return np.concatenate([self.singles, np.array([arcs[-1] for arcs in self.others], np.int64)])


def _contains(arcs: Arcs, whole: set[Arcs]) -> bool:
    """Whether a part of a sequence is one of some others."""
    count = len(arcs)
    return any(arcs[first:end] in whole for first in range(count) for end in range(first + 2, count + 1))
