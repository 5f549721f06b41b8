"""Places on streets whose turns matter: paths begin and end there and go past, but do not turn round, as a third router finds."""

import pytest

from pipeline.config.loading import run_config
from pipeline.errors import NoPath
from pipeline.inspection.check import check
from pipeline.inspection.path import shortest_path
from pipeline.steps.products.commands import product_into
from pipeline.store.facts import EdgeFacts
from pipeline.store.facts.run import RunFacts
from pipeline.store.manifest import read
from pipeline.tables import files as tables
from tests.counts import NIGHTLY
from tests.ingest.osm.extracts import Node, Turn, Way, write
from tests.pipeline.turns.mutants import points_near
from tests.pipeline.turns.placed_router import PlacedRouter, bent_town
from tests.pipeline.turns.test_restrictions import published, table_of

pytestmark = pytest.mark.sampled
COSTS = {"left": 7, "right": 2, "u_turn": 20, "signals": 3}
SEEDS = range(30) if NIGHTLY else range(2)


@pytest.fixture(autouse=True)
def _own_cache(tmp_path, monkeypatch):
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))


def csv_of(folder, places, name="p.csv"):
    (folder / name).write_text("id,lon,lat\n" + "".join(f"{row},{x!r},{y!r}\n" for row, (x, y) in enumerate(places)))
    return str(folder / name)


@pytest.mark.parametrize("seed", SEEDS)
@pytest.mark.parametrize("costs", [{}, COSTS], ids=["restrictions", "costs"])
def test_tables_are_those_of_a_third_router(tmp_path, seed, costs):
    nodes, ways, turns = bent_town(seed)
    extract = write(tmp_path / "a.osm.pbf", nodes, ways, turns=turns)
    file = csv_of(tmp_path, points_near(nodes, ways, seed))
    asked = {"sources": file, "stages": ["wcc", "sssp"] if costs else ["wcc", "bfs", "sssp"], "places": {"attach": "streets"}}
    products = {
        "closeness": {}, "nearest": {"facilities": file, "count": 2},
        "isochrones": {"thresholds": [30_000], "direction": "to", "vertices": True},
    }  # fmt: skip
    run = published(tmp_path, extract, osm={"turns": costs}, **asked, **products)
    rows = tables.read(run.path / "places").to_pylist()
    milli = {name: 1000 * cost for name, cost in costs.items()}
    edges, facts = tmp_path / "out" / "steps" / "edges", RunFacts.of(run).input
    router = PlacedRouter(extract, edges, nodes, milli, milli.get("signals", 0), rows)
    assert len(router.rules) == facts.roads.turns.restrictions > 5 and facts.attached.vertices == len(router.at) >= 6
    vertices = [*router.at, *{arc[end] for arc in router.arcs for end in (0, 1)}]
    due = {vertex: router.between_all(vertex) for vertex in vertices}
    sources = {row["vertex"] for row in rows if row["key"] == "sources"}
    assert table_of(run.path, "sssp") == {source: due[source] for source in sources}
    if not costs:
        of_hops = PlacedRouter(extract, edges, nodes, places=rows, hops=True)
        assert table_of(run.path, "bfs") == {source: of_hops.between_all(source) for source in sources}
    totals = {row["vertex"]: row["total"] for row in tables.read(run.path / "closeness").to_pylist()}
    assert totals == {vertex: sum(of.values()) for vertex, of in due.items()}
    within = {(row["source"], row["vertex"], row["distance"]) for row in tables.read(run.path / "isochrone_vertices").to_pylist()}
    assert within == {(to, of, at) for of, to_all in due.items() for to, at in to_all.items() if at <= 30_000}
    nearest = {(row["vertex"], row["rank"]): row["distance"] for row in tables.read(run.path / "nearest").to_pylist()}
    for vertex, to_all in due.items():
        found = sorted(to_all[facility] for facility in sources if facility in to_all)[:2]
        assert [nearest[vertex, rank + 1] for rank in range(len(found))] == found
    source, end = sorted(sources)[-1], next(vertex for vertex in router.at if vertex in due[max(sources)])
    assert shortest_path(run, str(source), str(end)).vertices[-1]["distance"] == due[source][end]


def test_commands_attach_places_of_their_own(tmp_path):
    nodes, ways, turns = bent_town(5)
    extract = write(tmp_path / "a.osm.pbf", nodes, ways, turns=turns)
    places = points_near(nodes, ways, 5)
    file, some, streets = csv_of(tmp_path, places), csv_of(tmp_path, places[:5], "q.csv"), {"attach": "streets"}
    made = {}
    for name, more in (("whole", {"nearest": {"facilities": file}}), ("some", {"nearest": {"facilities": some}}), ("none", {})):
        (tmp_path / name).mkdir()
        asked = {"places": streets} if more else {}
        run = published(tmp_path / name, extract, osm={"turns": COSTS}, stages=["wcc"], **asked, **more)
        output, out = str(tmp_path / name / "out"), tmp_path / f"m-{name}"
        made[name] = product_into("matrix", output, out, sources=file, targets=file, backend="cpu", places=streets), run
    found = [
        {(row["source_place"], row["target_place"]): row["distance"] for row in tables.read(of.path).to_pylist()}
        for of, _ in made.values()
    ]
    assert found[0] == found[1] == found[2]
    rows = tables.read(made["whole"][1].path / "places").to_pylist()
    costs = {name: 1000 * cost for name, cost in COSTS.items()}
    router = PlacedRouter(extract, tmp_path / "whole" / "out" / "steps" / "edges", nodes, costs, costs["signals"], rows)
    due = {row["id"]: router.between_all(row["vertex"]) for row in rows}
    assert found[0] == {(one["id"], other["id"]): due[one["id"]].get(other["vertex"]) for one in rows for other in rows}


# A line of ways 1, 2 and 3; way 2 has two streets, with a dead end between them, and another one is at its begin.
NODES = [
    Node(1, 0, 0), Node(2, 0.001, 0), Node(9, 0.002, 0), Node(3, 0.003, 0), Node(4, 0.004, 0), Node(10, 0.002, 0.0009),
    Node(11, 0.001, 0.001),
]  # fmt: skip
WAYS = [Way(1, [1, 2]), Way(2, [2, 9, 3]), Way(3, [3, 4]), Way(4, [9, 10]), Way(5, [2, 11])]
PLACES = {
    "S": (0, 0), "A": (0.0005, 0), "B": (0.0014, 0), "C": (0.0017, 0), "D": (0.0026, 0), "E": (0.0035, 0), "T": (0.004, 0),
    "F": (0.002, 0.0005),
}  # fmt: skip


@pytest.mark.parametrize(
    ("turn", "paths"),
    [
        (Turn(7, [1, 2], 2, "no_straight_on"), ["S A 2 11 2 B C 9 D 3 E T", "A 2 11 2 B", "C B", "B C", "E 3 D 9 C B 2 A S"]),
        (Turn(7, [1, 5], 2, "only_left_turn"), ["S A 2 11 2 B C 9 D 3 E T", "A 2 11 2 B C"]),
        (Turn(7, [1, 2, 3]), ["S A 2 B C 9 D", "S A 2 B C 9 F 10 F 9 D 3 E T", "A 2 B C 9 F 10 F 9 D 3 E", "B C 9 D 3 E T"]),
        (Turn(7, [3, 2, 1]), ["T E 3 D 9 F 10 F 9 C B 2 A", "D 9 C B 2 A S", "S A 2 B C 9 D 3 E T"]),
        (Turn(7, [2, 3], 3), ["T E 3 D", "D  E", "S  T"]),
    ],
)
def test_pieces_of_ways_obey_the_restrictions_of_their_ways(tmp_path, turn, paths):
    """A path goes around by a dead end, if at all, and turns at no place; two blanks stand for none."""
    extract = write(tmp_path / "a.osm.pbf", NODES, WAYS, turns=[turn])
    (tmp_path / "p.csv").write_text("id,lon,lat\n" + "".join(f"{one},{x},{y}\n" for one, (x, y) in PLACES.items()))
    asked = {"stages": ["wcc", "sssp"], "osm": {"weight": "distance"}, "places": {"attach": "streets"}}
    run = published(tmp_path, extract, sources=str(tmp_path / "p.csv"), **asked)
    names = {row["vertex"]: row["id"] for row in tables.read(run.path / "places").to_pylist()}
    for path in paths:
        begin, *between, end = path.split(" ")
        if between == [""]:
            with pytest.raises(NoPath):
                shortest_path(run, begin, end)
        else:
            found = shortest_path(run, begin, end).vertices
            assert [names.get(one["vertex"], str(one["vertex"])) for one in found] == [begin, *between, end]


def test_a_check_and_a_report_know_that_nothing_turns_round_at_places(tmp_path):
    extract = write(tmp_path / "a.osm.pbf", NODES, WAYS, turns=[Turn(7, [1, 2], 2)])
    asked = {"places": {"attach": "streets"}, "sources": ["0.0005,0", "0.002,0.0005"]}
    run = published(tmp_path, extract, **asked)
    graph = {"source": str(extract), "osm": {"profile": "car"}}
    checked = check(run_config("test", graph=graph, output=tmp_path / "other", backend="cpu", **asked))
    for facts in (RunFacts.of(run).input, checked.input):
        assert facts.attached.vertices == 2 and len(facts.attached.rules) == 5
    assert "2 on 2 streets" in (page := (run.path / "report.html").read_text("utf-8")) and "no path turns round there" in page
    copies = EdgeFacts.of(read(tmp_path / "out" / "steps" / "split")).split
    assert copies.copies == 2 + 2 * 3 and len(copies.rules) == 5  # of the crossing, and of each place in both directions; ends


def test_signals_at_the_very_ends_of_a_street_stop_who_enters_it(tmp_path):
    """Other nodes than those of the crossings, at the same places, as editors leave them."""
    nodes = [
        Node(1, 0, 0),
        Node(2, 0, 0, highway="traffic_signals"),
        Node(3, 0.002, 0, highway="traffic_signals"),
        Node(4, 0.002, 0),
    ]
    extract = write(tmp_path / "a.osm.pbf", nodes, [Way(1, [1, 2, 3, 4])])
    asked = {"osm": {"turns": {"signals": 3}}, "stages": ["wcc", "sssp"], "sources": [1, 4]}
    whole = table_of(published(tmp_path, extract, **asked).path, "sssp")
    assert whole[1][4] == whole[4][1]
    time = whole[1][4] - 6000
    places = {"places": {"attach": "streets"}, "nearest": {"facilities": csv_of(tmp_path, [(0.0005, 0)])}}
    divided = table_of(published(tmp_path, extract, **asked, **places).path, "sssp")
    (place,) = {*divided[1]} - {1, 4}
    assert divided[1] == {1: 0, place: round(time / 4) + 3000, 4: time + 6000}
    assert divided[4] == {4: 0, place: time - round(time / 4) + 3000, 1: time + 6000}
