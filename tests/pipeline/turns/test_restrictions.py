"""Paths obey turn restrictions, as a second router finds them that remembers whole paths."""

import random

import pytest

from pipeline.config.loading import run_config
from pipeline.errors import BadConfig
from pipeline.inspection.path import shortest_path
from pipeline.run import run
from pipeline.store.facts import EdgeFacts
from pipeline.store.facts.run import RunFacts
from pipeline.store.workspace import find_run
from pipeline.tables import files as tables
from tests.counts import NIGHTLY
from tests.ingest.osm.extracts import Node, Turn, Way, read, write
from tests.pipeline.turns.paths import PART, DrawnPaths, of_part, streets_of
from tests.pipeline.turns.router import Router, town

pytestmark = pytest.mark.sampled
SEEDS = range(40) if NIGHTLY else range(3)
PATHS = 100_000 if NIGHTLY else 1000
CROSS = [Node(1, 0, 0), Node(2, 0.001, 0), Node(3, 0.002, 0), Node(4, 0.001, 0.001), Node(5, 0.001, -0.001), Node(6, 0, 0.001)]
STREETS_OF_CROSS = [Way(1, [1, 2]), Way(2, [2, 3]), Way(3, [2, 4]), Way(4, [2, 5]), Way(5, [4, 6]), Way(6, [6, 1])]


def published(folder, extract, **more):
    graph = {"source": str(extract), "osm": {"profile": "car"} | more.pop("osm", {})}
    graph |= {"parallel": more.pop("parallel")} if "parallel" in more else {}
    config = {"graph": graph, "output": folder / "out", "stages": ["wcc", "bfs", "sssp"], "backend": "cpu"} | more
    return run(run_config("test", **config))


def table_of(path, name):
    found = {}
    for row in tables.read(path / name).to_pylist():
        found.setdefault(row["source"], {})[row["vertex"]] = row["distance"]
    return {source: {vertex: at for vertex, at in of.items() if at is not None} for source, of in found.items()}


@pytest.mark.parametrize("seed", SEEDS)
def test_distances_are_those_of_a_second_router(tmp_path, seed):
    extract = write(tmp_path / "a.osm.pbf", *town(seed)[:2], turns=town(seed)[2])
    sources = random.Random(seed).sample(range(1, 26), 3)
    path = published(tmp_path, extract, sources=sources).path
    streets = streets_of(tmp_path / "out" / "steps" / "edges")
    facts = RunFacts.of(find_run(tmp_path / "out")).input.roads.turns
    for table, hops in (("sssp", False), ("bfs", True)):
        router = Router(extract, streets, hops=hops)
        assert len(router.rules) == facts.restrictions > 5
        found = table_of(path, table)
        assert found == {source: router.distances(source, 3) for source in sources}


def test_no_path_takes_a_forbidden_turn(tmp_path):
    for seed in range(0, PATHS, PART):
        counts, faults = of_part(None, range(seed, seed + min(PATHS, PART)))
        assert not faults and counts["restricted turns passed"] > counts["paths"] > min(PATHS, PART) / 2


def test_the_command_prints_these_paths(tmp_path):
    nodes, ways, turns = town(1)
    drawn = DrawnPaths(write(tmp_path / "a.osm.pbf", nodes, ways, turns=turns), tmp_path, 1, sources=1)
    of_run, (source,) = find_run(tmp_path / "out"), drawn.rows
    for end in (vertex for vertex, distance in drawn.rows[source] if distance == distance):
        found = shortest_path(of_run, str(source), str(int(end))).vertices
        assert [(one["vertex"], one["distance"]) for one in found] == drawn.paths.between(source, int(end))


@pytest.mark.parametrize("name", ["a.osm.pbf", "a.osm", "a.osm.bz2"])
@pytest.mark.parametrize(
    ("turn", "profile", "reason"),
    [
        (Turn(7, [1, 3], 2), "car", None),
        (Turn(7, [1, 3], 2, "only_straight_on"), "car", None),
        (Turn(7, [1, 3], 2), "foot", "nobody"),
        (Turn(7, [1, 3], 2, **{"except": "psv;bicycle"}), "bicycle", "except"),
        (Turn(7, [1, 3], 2, **{"except": "psv;bicycle"}), "car", None),
        (Turn(7, [1, 3], 2, None, restriction__hgv="no_left_turn"), "car", "for others"),
        (Turn(7, [1, 3], 2, None, restriction__motor_vehicle="no_left_turn"), "car", None),
        (Turn(7, [1, 3], 2, "no_left_turn", restriction__motorcar="none"), "car", "another value"),
        (Turn(7, [1, 3], 2, None, restriction__conditional="no_left_turn @ (Mo-Fr)"), "car", "conditional"),
        (Turn(7, [1, 3], 2, hour_on="07:00"), "car", "conditional"),
        (Turn(7, [1, 3], 4), "car", "its ways do not meet"),
        (Turn(7, [1, 99], 2), "car", "a way that is no street here, or is not in the file"),
        (Turn(7, [1, 3, 5]), "car", None),
        (Turn(7, [1, 3, 4]), "car", "its ways do not meet"),
    ],
)
def test_which_restrictions_are_obeyed(tmp_path, name, turn, profile, reason):
    edges = read(write(tmp_path / name, CROSS, STREETS_OF_CROSS, turns=[turn]), tmp_path, profile=profile)
    turns = EdgeFacts.of(edges).roads.turns
    if reason == "nobody":
        assert turns is None
    else:
        assert (turns.restrictions, turns.left) == (int(reason is None), {} if reason is None else {reason: 1})


def test_what_does_not_know_of_turns_is_refused(tmp_path):
    extract = write(tmp_path / "a.osm.pbf", CROSS, STREETS_OF_CROSS, turns=[Turn(7, [1, 3], 2)])
    for stage in ("betweenness", "max_flow"):
        pairs = {"max_flow": {"pairs": str(extract)}} if stage == "max_flow" else {}
        with pytest.raises(BadConfig, match=f"{stage} does not know of the turn restrictions"):
            published(tmp_path, extract, stages=["wcc", stage], **pairs)
    with pytest.raises(BadConfig, match="symmetrise makes other arcs"):
        published(tmp_path, extract, layout={"symmetrise": True})
    with pytest.raises(BadConfig, match='parallel = "sum" makes other arcs'):
        published(tmp_path, extract, osm={"profile": "car"}, parallel="sum")
    with pytest.raises(BadConfig, match="has costs, but"):
        graph = {"source": str(extract), "osm": {"profile": "car", "turns": {"left": 1}}, "columns": {"weight": False}}
        run(run_config("test", graph=graph, output=tmp_path / "out", stages=["wcc"]))
    published(tmp_path, extract, osm={"restrictions": False}, stages=["wcc", "betweenness"])
