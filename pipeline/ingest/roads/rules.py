"""The built-in profiles. Speeds and surfaces are those of OSRM's, which are averages of what is driven, ridden and walked."""

from dataclasses import dataclass, field, replace
from types import MappingProxyType
from typing import Any

from pipeline.config.roads import OsmConfig

_LEVELS = {"trunk": (85, 40), "primary": (65, 30), "secondary": (55, 25), "tertiary": (40, 20)}  # and of the links
_DENIED = frozenset([
    "no", "private", "agricultural", "forestry", "emergency", "psv", "bus", "military", "permit", "use_sidepath", "dismount",
])  # fmt: skip
_WALLS = frozenset(["wall", "fence", "hedge", "retaining_wall", "city_wall", "ditch"])
_NARROW = _WALLS | {"stile", "turnstile", "full-height_turnstile", "horse_stile"}
_POSTS = frozenset([
    "bollard", "block", "bus_trap", "chain", "cycle_barrier", "debris", "jersey_barrier", "kissing_gate", "log",
    "motorcycle_barrier", "planter", "rope", "sump_buster", "swing_gate", "wicket_gate", "guard_rail",
])  # fmt: skip
_FAST = {
    "asphalt": 1000, "paved": 1000, "concrete": 1000, "cement": 80, "compacted": 80, "fine_gravel": 80, "paving_stones": 60,
    "metal": 60, "bricks": 60, "grass": 40, "wood": 40, "sett": 40, "grass_paver": 40, "gravel": 40, "unpaved": 40, "ground": 40,
    "dirt": 40, "pebblestone": 40, "tartan": 40, "cobblestone": 30, "clay": 30, "earth": 20, "stone": 20, "rocky": 20, "sand": 20,
    "mud": 10, "grade1": 60, "grade2": 40, "grade3": 30, "grade4": 25, "grade5": 20,
}  # fmt: skip
_SLOW = {
    "compacted": 10, "paving_stones": 10, "sett": 10, "cobblestone": 6, "unpaved": 6, "fine_gravel": 6, "gravel": 6,
    "pebblestone": 6, "ground": 6, "dirt": 6, "earth": 6, "grass": 6, "mud": 3, "sand": 3,
}  # fmt: skip
# Made for others than the traveller to whom keys of access open them: `access=yes` says nothing new of a footway.
FOR_OTHERS = frozenset(["bridleway", "cycleway", "footway", "path", "pedestrian", "steps"])
_STREETS = ("unclassified", "road", "residential", "living_street", "service", "track", "path", "pedestrian", "footway")
_OPEN = (*(name + link for name in _LEVELS for link in ("", "_link")), *_STREETS)


@dataclass(frozen=True)
class TravelRules:
    """Who may travel where; see `pipeline.config.roads.OsmConfig`.

    `only_permitted` are classes that are closed unless a key of access opens them, which must be more specific than `access`
    if they are made for others; `by_permission` are speeds of more such classes. `oneway` are the keys of directions, the most
    specific last; `at_limit` says whether a stated limit is the speed, or only a bound on it.
    """

    speeds: MappingProxyType[str, float]
    surfaces: MappingProxyType[str, float]
    zones: MappingProxyType[str, float]
    fastest: float
    access: tuple[str, ...]
    denied: frozenset[str]
    barriers: frozenset[str]
    only_permitted: frozenset[str]
    oneway: tuple[str, ...]
    by_permission: MappingProxyType[str, float] = field(default_factory=lambda: MappingProxyType({}))
    at_limit: bool = False
    areas: bool = False  # whether the outline of an area is a street
    contraflow: bool = False  # whether `cycleway` opens one-way streets
    on_motorroads: bool = False

    @staticmethod
    def of(config: OsmConfig) -> "TravelRules":
        """The rules of a profile with the changes that a configuration states."""
        assert config.profile
        rules = _PROFILES[config.profile]
        tables = {key: getattr(rules, key) | getattr(config, key) for key in ("speeds", "surfaces", "zones")}
        changed: dict[str, Any] = {key: MappingProxyType(table) for key, table in tables.items()}
        more = {name: speed for name, speed in rules.by_permission.items() if name not in tables["speeds"]}
        changed["speeds"] = MappingProxyType(tables["speeds"] | more)
        changed["only_permitted"] = rules.only_permitted | more.keys()
        for key in ("access", "denied", "barriers"):
            if getattr(config, key) or (key == "barriers" and config.barriers is not None):
                changed[key] = getattr(config, key) if key == "access" else frozenset(getattr(config, key))
        return replace(rules, **changed, fastest=config.fastest or rules.fastest)


# https://wiki.openstreetmap.org/wiki/Default_speed_limits: within towns, outside, of trunk roads and of motorways; 0 is none.
_LIMITS = {
    "AD": (50, 90, 90, 90), "AL": (40, 80, 90, 110), "AT": (50, 100, 100, 130), "BA": (50, 80, 100, 130),
    "BE": (50, 90, 120, 120), "BG": (50, 90, 120, 140), "BY": (60, 90, 90, 110), "CH": (50, 80, 100, 120),
    "CZ": (50, 90, 110, 130), "DE": (50, 100, 0, 0), "DK": (50, 80, 80, 130), "EE": (50, 90, 90, 90),
    "ES": (50, 90, 90, 120), "FI": (50, 80, 100, 120), "FR": (50, 80, 110, 130), "GR": (50, 90, 110, 130),
    "HR": (50, 90, 110, 130), "HU": (50, 90, 110, 130), "IE": (50, 80, 100, 120), "IT": (50, 90, 110, 130),
    "LI": (50, 80, 80, 80), "LT": (50, 90, 120, 130), "LU": (50, 90, 90, 130), "LV": (50, 90, 90, 90),
    "MD": (50, 90, 110, 110), "ME": (50, 80, 100, 130), "MK": (50, 80, 110, 130), "NL": (50, 80, 100, 130),
    "NO": (50, 80, 80, 110), "PL": (50, 90, 100, 140), "PT": (50, 90, 100, 120), "RO": (50, 90, 100, 130),
    "RS": (50, 80, 100, 130), "RU": (60, 90, 90, 110), "SE": (50, 70, 90, 110), "SI": (50, 90, 110, 130),
    "SK": (50, 90, 90, 130), "TR": (50, 90, 110, 120), "UA": (50, 90, 110, 130), "UZ": (70, 100, 100, 110),
}  # fmt: skip
_ZONES: dict[str, float] = {
    f"{country}:{zone}": limit or 1000.0
    for country, limits in _LIMITS.items()
    for zone, limit in zip(("urban", "rural", "trunk", "motorway"), limits, strict=True)
}
_MPH = 1.609344
for _country in ("GB", "UK"):
    _ZONES |= {f"{_country}:nsl_single": 60 * _MPH, f"{_country}:nsl_restricted": 30 * _MPH, f"{_country}:urban": 30 * _MPH}
    _ZONES |= {f"{_country}:nsl_dual": 70 * _MPH, f"{_country}:motorway": 70 * _MPH, f"{_country}:rural": 60 * _MPH}

_CAR = TravelRules(
    speeds=MappingProxyType({
        "motorway": 90, "motorway_link": 45, **{name: speeds[0] for name, speeds in _LEVELS.items()},
        **{f"{name}_link": speeds[1] for name, speeds in _LEVELS.items()}, "unclassified": 25, "residential": 25,
        "living_street": 10, "service": 15, "road": 20, "ferry": 5,
    }),
    surfaces=MappingProxyType(_FAST), zones=MappingProxyType(_ZONES), fastest=140,
    access=("access", "vehicle", "motor_vehicle", "motorcar"), denied=_DENIED, barriers=_NARROW | _POSTS,
    only_permitted=frozenset(["ferry"]), oneway=("oneway", "oneway:vehicle", "oneway:motor_vehicle", "oneway:motorcar"),
    by_permission=MappingProxyType(dict.fromkeys(("track", "bridleway", "cycleway", "footway", "path", "pedestrian"), 10)),
    at_limit=True, on_motorroads=True,
)  # fmt: skip
_BICYCLE = TravelRules(
    speeds=MappingProxyType(dict.fromkeys(_OPEN, 15) | {
        "cycleway": 15, "bridleway": 12, "track": 12, "path": 12, "footway": 12, "pedestrian": 12, "ferry": 5,
    }),
    surfaces=MappingProxyType(_SLOW), zones=MappingProxyType(_ZONES), fastest=25, access=("access", "vehicle", "bicycle"),
    denied=_DENIED, barriers=_NARROW, only_permitted=frozenset(["bridleway", "footway", "pedestrian"]),
    by_permission=MappingProxyType({"steps": 2}),
    oneway=("oneway", "oneway:vehicle", "oneway:bicycle"), contraflow=True,
)  # fmt: skip
_FOOT = TravelRules(
    speeds=MappingProxyType(dict.fromkeys((*_OPEN, "cycleway", "bridleway", "steps", "platform", "ferry"), 5) | {"steps": 3}),
    surfaces=MappingProxyType({"mud": 3, "sand": 3}), zones=MappingProxyType(_ZONES), fastest=6, access=("access", "foot"),
    denied=_DENIED, barriers=_WALLS, only_permitted=frozenset(["cycleway", "bridleway"]), oneway=("oneway:foot",), areas=True,
)  # fmt: skip
_PROFILES = {"car": _CAR, "bicycle": _BICYCLE, "foot": _FOOT}
