"""What the rules of a segment say of a place along it: a street of a profile, or why it is none.

Of the rules of a list that apply to a traveller, a direction and a place, the last one counts. Rules for some times, and for some
sizes of vehicles, are left out, as conditional restrictions of OpenStreetMap are. A direction that is closed to all modes is
closed to traffic: people on foot may go there.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

from pipeline.config.roads import OsmConfig
from pipeline.ingest.formats.overture.columns import LISTS
from pipeline.ingest.roads.profile import Profile, Street
from pipeline.ingest.roads.rules import TravelRules

Row = Mapping[str, Any]
HEADINGS = ("forward", "backward")
MODES = {"motorcar": "car"}  # by keys of OpenStreetMap; other keys have the same name
PURPOSES = {"as_customer", "at_destination", "to_deliver"}  # of people who may enter where others may not
CLOSING = {"is_under_construction", "is_abandoned"}
UNITS = {"km/h": "km/h", "mph": "mph"}
LINKS = {"motorway", "trunk", "primary", "secondary", "tertiary"}


@dataclass(frozen=True)
class _Said:
    """What the rules say of a place."""

    highway: str | None
    surface: str | None
    closed: bool
    limits: tuple[str, str]  # by direction; empty without one
    permitted: tuple[bool | None, bool | None]


@dataclass
class RoadRules:
    """The rules for one profile; `streets` are those that it has found."""

    profile: Profile
    modes: frozenset[str]
    on_foot: bool
    streets: list[Street] = field(default_factory=list)
    _verdicts: dict[_Said, int | str] = field(default_factory=dict)
    _numbers: dict[Street, int] = field(default_factory=dict)

    @staticmethod
    def of(config: OsmConfig) -> "RoadRules":
        """The rules of a profile with the changes that a configuration states."""
        rules = TravelRules.of(config)
        modes = frozenset(MODES.get(key, key) for key in rules.access)
        return RoadRules(Profile(config), modes, rules.oneway[0] != "oneway")

    def verdict(self, row: Row, at: float) -> int | str:
        """The number of the street at a place along a segment, a share of its length; or why it is none. Raises ValueError."""
        said = self._said(row, at)
        if said not in self._verdicts:
            self._verdicts[said] = self._judge(said)
        return self._verdicts[said]

    def concerns(self, when: Row | None) -> bool:
        """Whether a prohibited transition is one for the traveller, perhaps at some times only."""
        if not when or when.get("recognized") or when.get("using"):
            return not when
        return not when.get("mode") or not self.modes.isdisjoint(when["mode"])

    def _judge(self, said: _Said) -> int | str:
        if said.highway is None:
            return "no class"
        if said.closed:
            return "under construction or abandoned"
        tags = {"highway": said.highway, "surface": said.surface or ""}
        tags |= {f"maxspeed:{heading}": limit for heading, limit in zip(HEADINGS, said.limits, strict=True) if limit}
        permitted = {f":{heading}": may for heading, may in zip(HEADINGS, said.permitted, strict=True)}
        judged = self.profile.judge(tags, permitted)
        if isinstance(judged, str):
            return judged.replace("highway", "class")
        if judged not in self._numbers:
            self._numbers[judged] = len(self.streets)
            self.streets.append(judged)
        return self._numbers[judged]

    def _said(self, row: Row, at: float) -> _Said:
        highway, link = row["class"], row.get("subclass") == "link"
        for rule in _there(row, "subclass_rules", at):
            link |= rule.get("value") == "link"
        flags = {flag for rule in _there(row, "road_flags", at) for flag in rule.get("values") or ()}
        if (link or "is_link" in flags) and highway in LINKS:
            highway += "_link"
        highway = "road" if highway == "unknown" else highway
        surface = next((rule.get("value") for rule in reversed([*_there(row, "road_surface", at)])), None)
        limits, permitted = ["", ""], list[bool | None]([None, None])
        for rule in _there(row, "speed_limits", at):
            for number, heading in enumerate(HEADINGS):
                if rule.get("max_speed") and self._applies(rule.get("when"), heading):
                    limits[number] = _limit(rule["max_speed"])
        for rule in _there(row, "access_restrictions", at):
            access, when = rule.get("access_type"), rule.get("when")
            if access != "denied" and self.profile.is_for_others(highway) and not (when or {}).get("mode"):
                continue  # like the key `access` of OpenStreetMap, it opens the class to those that it is made for
            for number, heading in enumerate(HEADINGS):
                if self._applies(when, heading, access):
                    permitted[number] = access != "denied"
        return _Said(highway, surface, bool(flags & CLOSING), (limits[0], limits[1]), (permitted[0], permitted[1]))

    def _applies(self, when: Row | None, heading: str, access: str | None = "") -> bool:
        """Whether a rule applies to the traveller in a direction; `access` is the type of one of access. Raises ValueError."""
        if access not in ("", "allowed", "denied", "designated"):
            raise ValueError(f"access_type {access!r} is not one of allowed, denied and designated")
        if not when:
            return True
        if is_conditional(when) or when.get("recognized") or when.get("heading") not in (None, heading):
            return False
        if (mode := when.get("mode")) and self.modes.isdisjoint(mode):
            return False
        if using := when.get("using"):
            return access in ("allowed", "designated") and not PURPOSES.isdisjoint(using)
        return bool(mode) or not (access == "denied" and when.get("heading") and self.on_foot)


def is_conditional(when: Row | None) -> bool:
    """Whether a rule applies at some times, or to vehicles of some size, only."""
    return bool(when and (when.get("during") or when.get("vehicle")))


def ends_of_rules(row: Row) -> list[float]:
    """The places within a segment at which a rule begins or ends, ascending. Raises ValueError for what is no range."""
    ends = set[float]()
    for name in LISTS:
        for rule in row.get(name) or ():
            ends |= {*(range_of(rule, name) or ())}
    return sorted(ends - {0.0, 1.0})


def range_of(rule: Row | None, name: str) -> tuple[float, float] | None:
    """The part of a segment for which a rule of a list is; None if it is for all. Raises ValueError for what is no range."""
    if rule is None:
        raise ValueError(f"{name} has a rule that is null")
    between = rule.get("between")
    if between is not None and (len(between) != 2 or None in between or not 0 <= between[0] < between[1] <= 1):
        raise ValueError(f"{name} has a rule between {between}, expected two shares of its length from 0 to 1")
    return None if between is None else (between[0], between[1])


def _there(row: Row, name: str, at: float) -> Iterable[Row]:
    """The rules of a list whose range has a place. Raises ValueError for what is no range."""
    for rule in row.get(name) or ():
        between = range_of(rule, name)
        if between is None or between[0] <= at <= between[1]:
            yield rule


def _limit(speed: Row) -> str:
    if speed.get("unit") not in UNITS:
        raise ValueError(f"speed_limits has the unit {speed.get('unit')!r}, expected km/h or mph")
    return f"{speed['value']} {speed['unit']}"
