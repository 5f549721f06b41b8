"""Why a router and graphmill differ, by the tags of the ways and nodes where they do."""

from collections.abc import Iterator
from itertools import pairwise

from benchmarks.roads.ways import Step, Ways

ACCESS = {
    "car": ("access", "vehicle", "motor_vehicle", "motorcar"),
    "bicycle": ("access", "vehicle", "bicycle"),
    "foot": ("access", "foot"),
}
ONLY_THERE = {"destination", "customers", "delivery"}
OTHER = "not explained"
_MADE_FOR_SOME = {"track", "path", "pedestrian", "footway", "steps", "bridleway", "cycleway"}


def _ways(part: tuple[int, ...], ways: Ways) -> list[int]:
    return [way for step in pairwise(part) for way in ways.steps.get(step, ())]


def _stated(way: int, ways: Ways, profile: str) -> list[str]:
    """The values of a way's keys of access, the most specific first."""
    return [ways.tags[way][key] for key in reversed(ACCESS[profile]) if key in ways.tags[way]]


def why_refused(part: tuple[int, ...], ways: Ways, profile: str) -> str:
    """Why a router does not take a part of graphmill's paths."""
    if any(one == other for one, other in zip(part, part[2:], strict=False)):
        return "it turns round at a crossing"
    return next(_refused(part, ways, profile), OTHER)


def _refused(part: tuple[int, ...], ways: Ways, profile: str) -> Iterator[str]:
    """All that may be why, the most likely first."""
    parts = _ways(part, ways)
    tags = [ways.tags[way] for way in parts]
    values = {way: _stated(way, ways, profile) for way in parts}
    if ways.cut.intersection(parts) or any(ways.cut.intersection(ways.passing[node]) for node in part):
        yield "a way of which the extract lacks nodes: the router drops its end"
    if any(one.get("area") == "yes" or one.get("highway") == "platform" for one in tags):
        yield "the outline of an area, or a platform"
    if any(ONLY_THERE.intersection(stated[:1]) for stated in values.values()):
        yield "access for destination traffic, customers or deliveries only"
    opens = any(key.startswith(("oneway:bicycle", "cycleway")) for one in tags for key in one)
    if profile == "bicycle" and opens and any(_against_oneway(step, ways) for step in pairwise(part)):
        yield "a one-way street that its tags open to bicycles in both directions"
    if profile == "foot" and any(_against_oneway(step, ways) for step in pairwise(part)):
        yield "a one-way street against its direction, on foot"
    if barriers := {ways.node_tags.get(node, {}).get("barrier", "") for node in part} - {""}:
        yield f"barrier={'/'.join(sorted(barriers))} without a key that closes it"
    if any(_mixed(way, ways, profile) for way in parts):
        yield "a specific key of access permits what a general one forbids"
    for name in ("parking_aisle", "driveway", "alley", "emergency_access", "drive-through"):
        if any(one.get("service") == name for one in tags):
            yield f"service={name}"
    if any(one.get("highway") in _MADE_FOR_SOME for one in tags):
        yield "tracks, paths and the like that keys of access, or the profile, open"
    if any("ferry" in one.values() for one in tags):
        yield "ferries"
    if any(way_at_point(node, ways) for node in (part[0], part[-1])):
        yield "the end is also a point of another street, where the router begins"


def why_closed(step: Step, ways: Ways, profile: str) -> str:
    """Why graphmill does not open a step that a router takes."""
    return next(_closed(step, ways, profile), OTHER)


def _closed(step: Step, ways: Ways, profile: str) -> Iterator[str]:
    """All that may be why, the most likely first."""
    parts = ways.steps.get(step, [])
    if not parts:
        yield "no way has these nodes beside each other: the router leaves points out"
    if any("private" in _stated(way, ways, profile)[:1] for way in parts):
        yield "access=private, or that of a specific key"
    if any("use_sidepath" in _stated(way, ways, profile) for way in parts):
        yield "bicycle=use_sidepath"
    if any(set(_stated(way, ways, profile)[:1]) & {"no", "agricultural", "forestry", "permit", "emergency"} for way in parts):
        if profile == "bicycle" and any("mtb:scale" in ways.tags[way] for way in parts):
            yield "bicycle=no with mtb:scale"
        yield "access=no, agricultural, forestry or permit, or that of a specific key"
    if barriers := {ways.node_tags.get(node, {}).get("barrier", "") for node in step} - {""}:
        yield f"barrier={'/'.join(sorted(barriers))}"
    classes = _MADE_FOR_SOME & {ways.tags[way].get("highway", "") for way in parts}
    if classes:
        yield f"highway={'/'.join(sorted(classes))}, closed by the profile"
    if _against_oneway(step, ways):
        yield "a one-way street against its direction"
    if any(ways.tags[way].get("motorroad") == "yes" for way in parts):
        yield "motorroad=yes"
    if any(ways.tags[way].get("route") == "ferry" for way in parts):
        yield "a ferry that does not state that it carries the profile"


def _mixed(way: int, ways: Ways, profile: str) -> bool:
    stated = _stated(way, ways, profile)
    return len(set(stated)) > 1 and bool({"no", "private"}.intersection(stated[1:]))


def _against_oneway(step: Step, ways: Ways) -> bool:
    for way in ways.steps.get(step, ()):
        oneway = ways.tags[way].get("oneway")
        forward = step in set(pairwise(ways.nodes[way]))
        if oneway in ("yes", "true", "1") or ways.tags[way].get("junction") in ("roundabout", "circular"):
            return not forward
        if oneway in ("-1", "reverse"):
            return forward
    return False


def way_at_point(node: int, ways: Ways) -> bool:
    """Whether a way passes the place of a node without having the node."""
    x, y = ways.places[node]
    for nodes in ways.nodes.values():
        if node in nodes:
            continue
        for one, other in pairwise(nodes):
            (ax, ay), (bx, by) = ways.places[one], ways.places[other]
            if min(ax, bx) - 1e-5 <= x <= max(ax, bx) + 1e-5 and min(ay, by) - 1e-5 <= y <= max(ay, by) + 1e-5:
                length = ((bx - ax) ** 2 + (by - ay) ** 2) ** 0.5 or 1.0
                if abs((bx - ax) * (y - ay) - (by - ay) * (x - ax)) / length < 2e-6:
                    return True
    return False
