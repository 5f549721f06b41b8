"""Turn restrictions as OpenStreetMap's relations state them, and whom they concern.

https://wiki.openstreetmap.org/wiki/Relation:restriction
"""

from collections import Counter
from collections.abc import Mapping, Sequence
from typing import NamedTuple

from pipeline.config.roads import OsmConfig
from pipeline.ingest.roads.rules import TravelRules

NODE, WAY = 0, 1  # types of members, as PBF numbers them
TYPE, RESTRICTION = b"type", b"restriction"
_CONDITIONAL = ":conditional"
_HOURS = ("day_on", "day_off", "hour_on", "hour_off")  # an older form of conditions
_VALUES = {
    **dict.fromkeys(["no_left_turn", "no_right_turn", "no_straight_on", "no_u_turn", "no_entry", "no_exit"], False),
    **dict.fromkeys(["only_left_turn", "only_right_turn", "only_straight_on", "only_u_turn"], True),
}  # whether the movement is the only one that is permitted
_FROM, _TO, _VIA = "from", "to", "via"


class Member(NamedTuple):
    """A member of a relation: its type, the id of the node or way, and its role."""

    type: int
    id: int
    role: str


class Restriction(NamedTuple):
    """A movement that a relation forbids, or the only one that it permits: over ways, each of which ends at the next one's node.

    `via` has these nodes; None if they are not stated, because there are ways between the first and the last.
    """

    relation: int
    only: bool
    ways: tuple[int, ...]
    via: tuple[int, ...] | None


class TurnRelations:
    """The turn restrictions of a file, while its relations are added.

    Attributes:
        keys: Keys of relations that matter.
        restrictions: Those that concern who travels.
        left: How many relations are not among them, by the reason.
    """

    def __init__(self, config: OsmConfig) -> None:
        self._modes = TravelRules.of(config).access[1:]  # without `access`, which is everyone's
        stated = ["restriction", *(f"restriction:{mode}" for mode in self._modes)]
        self._stated = stated[::-1]  # the most specific first
        conditional = [key + _CONDITIONAL for key in stated]
        self.keys = frozenset(["type", "except", *stated, *conditional, *_HOURS])
        self.restrictions: list[Restriction] = []
        self.left: Counter[str] = Counter()
        self._seen: set[int] = set()

    @property
    def read(self) -> int:
        """How many relations are restrictions, also of others and broken ones."""
        return len(self._seen)

    def add(self, relation: int, tags: Mapping[str, str], members: Sequence[Member]) -> None:
        """Add a relation that is a restriction; of one that comes twice, the first counts."""
        if tags.get("type") != "restriction" or relation in self._seen:
            return
        self._seen.add(relation)
        only = self._judge(tags)
        ends = only if isinstance(only, str) else _ends(members)
        if isinstance(ends, str):
            self.left[ends] += 1
            return
        froms, via, tos = ends
        if len(froms) * len(tos) > 1 and (only or min(len(froms), len(tos)) > 1):
            self.left["several ways `from` or `to`, where one is due"] += 1
            return
        node = (via[0].id,) if via[0].type == NODE else None
        ways = () if node else tuple(member.id for member in via)
        self.restrictions += [Restriction(relation, bool(only), (one, *ways, other), node) for one in froms for other in tos]

    def _judge(self, tags: Mapping[str, str]) -> bool | str:
        """Whether the movement is the only one that is permitted; or why the restriction does not concern who travels."""
        excepted = {mode.strip() for mode in tags.get("except", "").split(";")}
        if excepted & set(self._modes):
            return "except"
        key = next((key for key in self._stated if key in tags), None)
        if key is None:
            return "conditional" if any(key + _CONDITIONAL in tags for key in self._stated) else "for others"
        if any(name in tags for name in _HOURS):
            return "conditional"
        return _VALUES.get(tags[key], "another value")


def _ends(members: Sequence[Member]) -> tuple[list[int], list[Member], list[int]] | str:
    """The ways `from`, the members `via` and the ways `to` of a restriction; or what is wrong with them."""
    of_role = {role: [member for member in members if member.role == role] for role in (_FROM, _VIA, _TO)}
    for role, of_one in of_role.items():
        if not of_one:
            return f"no member `{role}`"
        if role != _VIA and any(member.type != WAY for member in of_one):
            return f"a member `{role}` that is no way"
    via = of_role[_VIA]
    if not (all(member.type == WAY for member in via) or (len(via) == 1 and via[0].type == NODE)):
        return "members `via` that are neither one node nor ways"
    return [member.id for member in of_role[_FROM]], via, [member.id for member in of_role[_TO]]
