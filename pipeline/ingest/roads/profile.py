"""What a profile says of a way by its tags: whether it is a street, in which directions it is open, and at what speed."""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction

from pipeline.config.roads import OsmConfig
from pipeline.ingest.roads.rules import FOR_OTHERS, TravelRules
from pipeline.ingest.values.numbers import NumberForm
from pipeline.ingest.values.speeds import Speeds

PER_KMH = 10**6  # millimetres an hour
_WALK = 6.0  # km/h of `maxspeed=walk` and of living streets whose zone says no more
_PERMITTED = frozenset(
    ["yes", "designated", "permissive", "official", "destination", "customers", "delivery", "discouraged", "hov"]
)
_FORWARD, _BACKWARD, _BOTH = ({"yes", "true", "1"}, {"-1", "reverse"}, {"no", "false", "0", "alternating"})
_ROUNDABOUTS = {"roundabout", "circular", "mini_roundabout"}
_SPEED_KEYS = ("maxspeed", "maxspeed:type", "source:maxspeed", "zone:maxspeed")
_CYCLEWAYS = ("cycleway", "cycleway:left", "cycleway:right", "cycleway:both")
_SIGNAL_KEYS = ("highway", "traffic_signals:direction")
_ZONE = re.compile(r"([A-Z]{2})(?:-[A-Z]+)?:(?:zone:?)?(\d{1,3})", re.IGNORECASE)
_IN_MILES = {"GB", "UK", "US"}
_CLOCK = re.compile(r"(?:(\d{1,3}):)?(\d{1,4})(?::(\d{2}))?")
_ISO = re.compile(r"PT(?=\d)(?:(\d{1,3})H)?(?:(\d{1,4})M)?(?:(\d{1,5})S)?")
_ENDS = (":forward", ":backward")
_CLASSES = frozenset([
    "motorway", "motorway_link", "trunk", "trunk_link", "primary", "primary_link", "secondary", "secondary_link", "tertiary",
    "tertiary_link", "unclassified", "residential", "living_street", "service", "track", "path", "footway", "cycleway",
    "bridleway", "pedestrian", "steps", "platform", "corridor", "construction", "proposed", "busway", "raceway", "elevator",
    "road", "ferry",
])  # fmt: skip


@dataclass(frozen=True)
class Street:
    """A way that is taken: its class, and its speeds in millimetres an hour, 0 in a direction in which it is closed.

    `seconds` is how long a ferry takes for the whole way, if it says so: its speed is then the way's length over this time.
    """

    highway: str
    forward: int
    backward: int
    seconds: int = 0


CLOSED, SIGNALS_ALONG, SIGNALS_AGAINST = 1, 2, 4  # marks of nodes: a barrier; signals for traffic along its way, and against it
_DIRECTIONS_OF_SIGNALS = {"forward": SIGNALS_ALONG, "backward": SIGNALS_AGAINST}


class Profile:
    """Who travels: the rules by which ways are streets.

    Attributes:
        keys: Keys of ways that matter.
        keys_of_nodes: Keys of nodes that matter.
    """

    def __init__(self, config: OsmConfig) -> None:
        self._rules = rules = TravelRules.of(config)
        self._speeds = Speeds(NumberForm())
        directed = [f"{key}{end}" for key in rules.access for end in ("", ":forward", ":backward")]
        limits = [f"{key}{end}" for key in _SPEED_KEYS[:1] for end in (":forward", ":backward")]
        self.keys = frozenset([
            "highway", "route", "junction", "area", "motorroad", "surface", "tracktype", "duration", *_SPEED_KEYS, *limits,
            *directed, *rules.oneway, *(_CYCLEWAYS if rules.contraflow else ()),
        ])  # fmt: skip
        self._has_signals = config.turns.signals > 0
        self.keys_of_nodes = frozenset(["barrier", "locked", *rules.access, *(_SIGNAL_KEYS if self._has_signals else ())])

    def judge(self, tags: Mapping[str, str], permitted: Mapping[str, bool | None] | None = None) -> Street | str:
        """The street that a way with these tags is, or why it is none.

        `permitted` says in the place of the tags whether each direction, `:forward` and `:backward`, is opened or closed.
        """
        rules, name = self._rules, tags.get("highway") or ("ferry" if tags.get("route") == "ferry" else "")
        if not name:
            return "no highway and no ferry"
        if not rules.speeds.get(name):
            return f"highway={name}" if name in _CLASSES else "another value of highway"
        if reason := self._excluded(tags):
            return reason
        opens = self._directions(tags, name, permitted or {end: self._opened(tags, name, end) for end in _ENDS})
        speeds = [self._speed(tags, name, end) if opens[end] else 0 for end in (":forward", ":backward")]
        if not any(speeds):
            return f"highway={name}" if name in rules.by_permission else "access"
        seconds = _seconds(tags.get("duration", "")) if name == "ferry" else 0
        return Street(name, speeds[0], speeds[1], seconds)

    def _excluded(self, tags: Mapping[str, str]) -> str | None:
        """Why a way of a class that is taken is none of its streets, if it is not."""
        rules = self._rules
        if tags.get("area") == "yes" and not rules.areas:
            return "area=yes"
        if tags.get("motorroad") == "yes" and not (rules.on_motorroads or self._access(tags, "")):
            return "motorroad=yes"
        return "oneway=reversible" if tags.get("oneway") == "reversible" and "oneway" in rules.oneway else None

    def marks(self, tags: Mapping[str, str]) -> int:
        """What a node with these tags is: bits of CLOSED, SIGNALS_ALONG and SIGNALS_AGAINST."""
        marks = CLOSED if self.closes(tags) else 0
        if self._has_signals and tags.get("highway") == "traffic_signals":
            marks |= _DIRECTIONS_OF_SIGNALS.get(tags.get("traffic_signals:direction", ""), SIGNALS_ALONG | SIGNALS_AGAINST)
        return marks

    def closes(self, tags: Mapping[str, str]) -> bool:
        """Whether a node with these tags is a barrier that does not open."""
        if "barrier" not in tags:
            return False
        permitted = self._access(tags, "")
        return tags.get("locked") == "yes" or (tags["barrier"] in self._rules.barriers if permitted is None else not permitted)

    def _access(self, tags: Mapping[str, str], end: str, general: bool = True) -> bool | None:
        """Whether the most specific key that says so opens a way in a direction, or closes it; None if none does.

        Without `general`, the key `access` does not count.
        """
        for key in reversed(self._rules.access if general else [key for key in self._rules.access if key != "access"]):
            for name in (f"{key}{end}", key):
                value = tags.get(name)
                if value in self._rules.denied:
                    return False
                if value in _PERMITTED:
                    return True
        return None

    def is_for_others(self, name: str) -> bool:
        """Whether a class is open only to what a key, or a rule, permits by its mode."""
        return name in self._rules.only_permitted and name in FOR_OTHERS

    def _opened(self, tags: Mapping[str, str], name: str, end: str) -> bool | None:
        """The same of a way of a class, which if it is made for others needs a more specific key than `access`."""
        permitted = self._access(tags, end)
        if permitted and self.is_for_others(name):
            return self._access(tags, end, general=False)
        return permitted

    def _directions(self, tags: Mapping[str, str], name: str, permitted: Mapping[str, bool | None]) -> dict[str, bool]:
        """Whether a way is open in each direction."""
        opens = self._ways_round(tags, name)
        for end in opens:
            may = permitted[end]
            opens[end] &= name not in self._rules.only_permitted if may is None else may
        return opens

    def _ways_round(self, tags: Mapping[str, str], name: str) -> dict[str, bool]:
        """In which directions traffic flows, whoever may take part."""
        forward, backward = True, True
        if self._rules.oneway[0] == "oneway" and (tags.get("junction") in _ROUNDABOUTS or name == "motorway"):
            backward = False
        for key in self._rules.oneway:
            value = tags.get(key)
            if value in _FORWARD | _BACKWARD | _BOTH:
                forward, backward = value not in _BACKWARD, value not in _FORWARD
        if self._rules.contraflow and any(tags.get(key, "").startswith("opposite") for key in _CYCLEWAYS):
            forward = backward = True
        return {":forward": forward, ":backward": backward}

    def _speed(self, tags: Mapping[str, str], name: str, end: str) -> int:
        """Millimetres an hour in a direction; at least 1."""
        rules = self._rules
        speed = Fraction(repr(rules.speeds[name]))
        limit = next(
            (limit for key in (f"maxspeed{end}", *_SPEED_KEYS) if (limit := self._limit(tags.get(key, ""))) is not None), None
        )
        if limit is not None:
            speed = limit if rules.at_limit else min(speed, limit)
        surfaces = [rules.surfaces[tags[key]] for key in ("surface", "tracktype") if tags.get(key) in rules.surfaces]
        return max(1, int(min(speed, *map(_exact, (*surfaces, rules.fastest))) * PER_KMH))

    def _limit(self, text: str) -> Fraction | None:
        """The limit in km/h that a text states; `none` is any speed."""
        text = text.strip()
        if text in self._rules.zones:
            return _exact(self._rules.zones[text])
        if text == "walk" or text.endswith(":living_street"):
            return _exact(_WALK)
        if text == "none":
            return Fraction(1000)
        if zone := _ZONE.fullmatch(text):
            unit = Fraction("1.609344") if zone[1].upper() in _IN_MILES else Fraction(1)
            return int(zone[2]) * unit or None
        speed = self._speeds.stated(text) if text else None
        return None if speed is None else speed * Fraction(3600, 1000)


def _exact(speed: float) -> Fraction:
    return Fraction(repr(speed))


def _seconds(text: str) -> int:
    """The seconds of a duration such as `25` (minutes), `1:05`, `0:25:30` or `PT25M`; 0 for another text."""
    if iso := _ISO.fullmatch(text):
        hours, minutes, seconds = (int(part or 0) for part in iso.groups())
    elif clock := _CLOCK.fullmatch(text):
        hours, minutes, seconds = (int(part or 0) for part in clock.groups())
    else:
        return 0
    return 3600 * hours + 60 * minutes + seconds
