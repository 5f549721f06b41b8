"""Ways in the odd forms that extracts have: ferries, roundabouts, loops, ways that come again, and ways of missing nodes."""

import random

import networkx
import pytest

from pipeline.changes import change
from pipeline.config.loading import run_config
from pipeline.run import run
from pipeline.store.facts import EdgeFacts
from pipeline.store.facts.run import RunFacts
from pipeline.tables import files as tables
from tests.counts import NIGHTLY
from tests.ingest.osm.extracts import Node, Turn, Way, arcs_of, expected, read, write
from tests.ingest.osm.test_updates import contents, first_run, node, random_elements, stated, updated, way, written

pytestmark = pytest.mark.sampled
SQUARE = [Node(1, 0, 0), Node(2, 0.001, 0), Node(3, 0.001, 0.001), Node(4, 0, 0.001), Node(5, 0.003, 0), Node(6, 0.003, 0)]
DURATIONS = ("0:20", "20", "PT20M", "0:00", "", "soon", "00:01")
RESIDENTIAL = {"highway": "residential"}


def opens(tags):
    """In which directions a car may go, by the tags of these tests."""
    if tags.get("route") == "ferry":
        return (True, True) if tags["motor_vehicle"] == "yes" else None
    if tags.get("junction"):
        return True, False
    return tags.get("oneway") != "-1", tags.get("oneway") != "yes"


def odd_way(chosen, ids, before):
    """The nodes and tags of a way."""
    refs = [ref for ref in chosen.choices(ids, k=chosen.randrange(1, 8)) for _ in range(chosen.choice([1, 1, 1, 2, 3]))]
    a, b, c = chosen.choices(ids, k=3)
    return chosen.choice([
        (refs, RESIDENTIAL),
        (refs + refs[:1], RESIDENTIAL | {"junction": chosen.choice(["roundabout", "circular", "mini_roundabout"])}),
        (refs, {"route": "ferry", "motor_vehicle": chosen.choice(["yes", "no"]), "duration": chosen.choice(DURATIONS)}),
        ([a] * chosen.randrange(1, 4), RESIDENTIAL),  # a point
        ([999_991, 999_992, 999_993], RESIDENTIAL),
        (refs, RESIDENTIAL | {"oneway": chosen.choice(["yes", "-1", "no"])}),
        ([a, b, c, a, b, c, a], RESIDENTIAL),  # twice around
        (before or refs, RESIDENTIAL),  # the same as the way before
        (before[::-1] or refs, RESIDENTIAL),
        ([], RESIDENTIAL),
    ])  # fmt: skip


def odd_extract(seed):
    """Odd ways over nodes of which some are missing, come twice, or are at the place of another one; and turns at them."""
    chosen = random.Random(seed)
    ids = sorted(chosen.sample(range(1, 60), 24))
    tags = {}, {}, {}, {}, {"barrier": "bollard"}, {"highway": "traffic_signals"}
    nodes = [Node(one, round(chosen.uniform(5, 5.01), 7), round(chosen.uniform(50, 50.01), 7), **chosen.choice(tags))
             for one in ids if chosen.random() < 0.9]  # fmt: skip
    for one in chosen.sample(nodes, 3):
        one.lon, one.lat = nodes[0].lon, nodes[0].lat
    nodes += [Node(one.id, 5.02, 50.02) for one in chosen.sample(nodes, 2)]
    ways = list[Way]()
    for number in range(chosen.randrange(3, 16)):
        ways.append(Way(number + 1, *odd_way(chosen, ids, ways[-1].nodes if ways else [])))
    ways.append(Way(chosen.choice(ways).id, ids[1:4]))
    turns = []
    for number in range(16):
        one, other, third = chosen.choices(ways, k=3)
        kind, common = chosen.choice(["no_left_turn", "only_straight_on", "no_u_turn"]), sorted({*one.nodes} & {*other.nodes})
        turns.append(Turn(100 + number, [one.id, other.id], chosen.choice(common), kind) if common and number % 2
                     else Turn(100 + number, [one.id, other.id, third.id], kind=kind))  # fmt: skip
    return nodes, ways, turns


@pytest.mark.parametrize("seed", range(300 if NIGHTLY else 4))
def test_odd_ways_are_read_as_by_a_second_reader(seed, tmp_path):
    """Their distances are those of NetworkX, and all proofs hold with turns and places on streets."""
    nodes, ways, turns = odd_extract(seed)
    path = write(tmp_path / ("a.osm.pbf", "a.osm", "a.osm.gz")[seed % 3], nodes, ways, turns=turns)
    arcs, due = arcs_of(read(path, tmp_path / "w", weight="distance", restrictions=False)), expected(path, opens, {"bollard"})
    assert [arc[:2] for arc in arcs] == [arc[:2] for arc in due] and len(arcs) > 2
    assert all(abs(arc[2] - one[2]) <= 2 for arc, one in zip(arcs, due, strict=True))
    graph, source = networkx.DiGraph(), arcs[0][0]
    for src, dst, length in sorted(arcs, key=lambda arc: -arc[2]):  # the lightest last
        graph.add_edge(src, dst, weight=length)
    chosen = random.Random(seed)
    places = "".join(f"{row},{chosen.uniform(5, 5.01)},{chosen.uniform(50, 50.01)}\n" for row in range(6))
    (tmp_path / "p.csv").write_text(f"id,lon,lat\n{places}")
    attached = {"places": {"attach": "streets"}, "nearest": {"facilities": str(tmp_path / "p.csv")}, "snap_limit": 5000.0}
    costs = {"left": 3, "right": 1, "u_turn": 20, "signals": 5}
    for osm, more in (
        ({"weight": "distance", "restrictions": False}, {}), ({"turns": costs}, attached), ({"weight": "distance"}, attached),
    ):  # fmt: skip
        asked = {"graph": {"source": str(path), "osm": {"profile": "car"} | osm}, "stages": ["sssp"], "sources": [source]}
        published = run(run_config("test", **asked, output=tmp_path / f"out-{len(osm)}-{len(more)}", backend="cpu", **more))
        if not more:
            rows = tables.read(published.path / "sssp").to_pylist()
            found = {row["vertex"]: row["distance"] for row in rows if row["distance"] is not None}
            assert found == networkx.single_source_dijkstra_path_length(graph, source)


@pytest.mark.parametrize("duration", DURATIONS)
def test_a_ferry_of_any_duration(duration, tmp_path):
    """Also one between two nodes at one place, and one whose end is not in the extract, which counts by its class."""
    tags = {"route": "ferry", "motor_vehicle": "yes", "duration": duration}
    ways = [Way(1, [1, 2, 5], tags), Way(2, [5, 6], tags), Way(3, [1, 4, 99], tags), Way(4, [1, 2], RESIDENTIAL)]
    weights = {row[:2]: row[2] for row in arcs_of(read(write(tmp_path / "a.osm", SQUARE, ways), tmp_path / "w"))}
    whole = {"0:20": 1_200_000, "20": 1_200_000, "PT20M": 1_200_000, "00:01": 60_000}.get(duration)
    assert weights[5, 6] == weights[6, 5] == 0
    assert whole is None or weights[2, 5] * 3 == pytest.approx(2 * whole, abs=3)
    assert weights[1, 4] == weights[4, 1] == pytest.approx(111_195 * 3600 / 5000, rel=1e-4)


def test_ways_without_nodes_are_counted(tmp_path):
    ways = [Way(1, [1, 2, 3, 4, 1], RESIDENTIAL | {"junction": "roundabout"}), Way(2, [91, 92]), Way(3, []), Way(4, [2]),
            Way(5, [3, 3, 3]), Way(1, [1, 2]), Way(6, [2, 5]), Way(7, [5, 2]), Way(8, [5, 6, 5])]  # fmt: skip
    edges = read(write(tmp_path / "a.osm.pbf", SQUARE, ways), tmp_path / "w", weight="distance")
    facts = EdgeFacts.of(edges).roads
    assert (facts.ways, facts.duplicate_ways, facts.repeated_nodes, facts.missing_nodes, facts.loops) == (8, 1, 2, 2, 1)
    assert [row[:2] for row in arcs_of(edges)] == [(1, 2), (2, 1), (2, 5), (5, 2), (5, 2), (2, 5), (5, 5), (5, 5)]


@pytest.mark.parametrize("seed", range(100 if NIGHTLY else 2))
def test_elements_may_come_several_times_in_a_file_of_changes(seed, tmp_path):
    """The newest version counts, whether it is created, modified or deleted."""
    chosen = random.Random(seed)
    first_run(tmp_path, [one for one in random_elements(chosen, 45, [20, 40, 60]) if one.visible])
    elements = random_elements(chosen, 15, [10, 50, 70])
    for one in chosen.sample(elements, 8):
        version, gone = one.version + chosen.choice([1, 2]), chosen.random() < 0.3
        if type(one).__name__ == "Node":
            elements.append(node(one.id, version, gone, 2e-5))
        elif type(one).__name__ == "Way":
            refs = [ref for ref in chosen.choices(range(1, 60), k=chosen.randrange(6)) for _ in range(chosen.choice([1, 2]))]
            elements.append(way(one.id, refs, version, gone, junction="roundabout"))
    file = written(tmp_path / "a.osc.gz", elements)
    published = change(tmp_path / "out", file)
    (tmp_path / "rebuilt").mkdir()
    rebuilt = updated(tmp_path / "rebuilt" / "town.osm.pbf", tmp_path / "town.osm.pbf", file)
    graph = {"source": str(rebuilt), "osm": {"profile": "car"}}
    due = run(run_config("test", graph=graph, output=tmp_path / "due", stages=["wcc", "sssp"]))
    assert contents(published.path) == contents(due.path)
    assert stated(RunFacts.of(published).input.roads) == stated(RunFacts.of(due).input.roads)
