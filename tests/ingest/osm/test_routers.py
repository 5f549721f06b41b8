"""Road networks beside independent routers, where one is installed: `benchmarks.roads` on extracts with random tags."""

import random

import pytest

from tests.counts import NIGHTLY
from tests.ingest.osm.extracts import Node, Way, write

pytestmark = pytest.mark.sampled
SIZE = 12
TAGS = {
    "oneway": ["yes", "-1", "no"], "access": ["no", "private", "yes"], "motor_vehicle": ["no", "yes"], "bicycle": ["no", "yes"],
    "junction": ["roundabout"], "foot": ["no", "yes"], "surface": ["gravel"], "maxspeed": ["30"],
}  # fmt: skip
CLASSES = ["residential", "primary", "secondary", "tertiary", "unclassified", "living_street", "trunk"]


def streets(seed):
    """A grid of nodes 200 m from each other, and streets along its rows and columns, some of which turn into another."""
    draw = random.Random(seed)
    nodes = [Node(1 + at, 9.5 + at % SIZE * 0.0026, 47.1 + at // SIZE * 0.0018) for at in range(SIZE * SIZE)]
    ways = []
    for line in range(2 * SIZE):
        whole = [1 + (SIZE * line + at if line < SIZE else SIZE * at + line - SIZE) for at in range(SIZE)]
        for first in range(0, SIZE - 1, 3):
            tags = {key: draw.choice(values) for key, values in TAGS.items() if draw.random() < 0.1}
            if "junction" in tags:
                tags.pop("oneway", None)
            part = whole[first : first + 4]
            ways.append(Way(len(ways) + 1, part, {"highway": draw.choice(CLASSES)} | tags))
    return nodes, ways


@pytest.mark.parametrize("profile", ["car", "bicycle", "foot"])
@pytest.mark.parametrize("router", ["osmnx", "valhalla"])
def test_no_router_has_a_shorter_path_and_every_difference_has_a_reason(router, profile, tmp_path):
    pytest.importorskip({"osmnx": "osmnx", "valhalla": "valhalla.baldr"}[router])  # versions of Valhalla with programs that build
    from benchmarks.roads.bench import compare
    from benchmarks.roads.classes import OTHER, why_closed, why_refused

    for seed in range(20 if NIGHTLY else 1):
        path = write(tmp_path / f"{seed}.osm.pbf", *streets(seed))
        found, ways, _ = compare(path, router, profile, pairs=500, arcs=200, turns=False)
        assert not found.shorter and found.counts["equal length"] > 100
        refused = [part for part in found.refused if why_refused(part, ways, profile) == OTHER]
        closed = [step for step in found.closed if why_closed(step, ways, profile) == OTHER]
        assert not refused and not closed, [[ways.tags[way] for way in ways.steps[step[:2]]] for step in (*refused, *closed)]
