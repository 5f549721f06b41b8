"""Paths obey prohibited transitions, as a second router finds them that remembers whole paths; it reads segments, not parts."""

import heapq
import math
import random
from itertools import pairwise

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from pyproj import Geod

from pipeline.config.loading import run_config
from pipeline.errors import BadInput, ProofFailed
from pipeline.ingest.roads.network import Attributes
from pipeline.report.wording import _of_roads
from pipeline.run import run
from pipeline.store.facts import EdgeFacts
from pipeline.store.names import open_names
from pipeline.tables import files as tables
from tests.counts import NIGHTLY
from tests.ingest.overture.segments import access, read, segment, write

pytestmark = pytest.mark.sampled
SIZE = 4
PLACE = {f"c{x}{y}": (5 + x / 1000 + y / 9000, 50 + y / 1000 - x / 7000) for x in range(SIZE) for y in range(SIZE)}
HEADINGS = ("forward", "backward")
CROSS = {"a": (0, 0), "b": (0.001, 0), "c": (0.002, 0), "d": (0.001, 0.001), "e": (0.001, -0.001)}


def of(name, *connectors, places=PLACE, **more):
    """A segment that is straight between connectors, which are at its points."""
    points = [places[one] for one in connectors]
    steps = [0.0]
    for one, other in pairwise(points):
        steps.append(steps[-1] + Geod(ellps="WGS84").line_length(*zip(one, other, strict=True)))
    return segment(name, points, [(one, step / steps[-1]) for one, step in zip(connectors, steps, strict=True)], **more)


def turn(*steps, final="forward", between=None, **when):
    sequence = [{"connector_id": connector, "segment_id": name} for connector, name in steps]
    return {"sequence": sequence, "final_heading": final, "when": when or None, "between": between}


def random_town(seed):
    """Segments along the rows and columns of a grid, one-way or not, and random transitions, also over other segments."""
    chosen, segments = random.Random(seed), []
    for line in [[f"c{x}{y}" for x in range(SIZE)] for y in range(SIZE)] + [
        [f"c{x}{y}" for y in range(SIZE)] for x in range(SIZE)
    ]:
        cut = chosen.choice([1, 2, 3])
        for part in (line[: cut + 1], line[cut:]):
            if len(part) > 1:
                one_way = chosen.choice([None, None, None, [access("denied", heading="backward")]])
                segments.append(of(f"s{len(segments)}", *part[:: chosen.choice([1, -1])], access_restrictions=one_way))
    segments.append(of("loop", "c11", "c21", "c22", "c11"))
    through = {name: [one["connector_id"] for one in row["connectors"]] for row in segments for name in [row["id"]]}
    for _ in range(40):
        row = chosen.choice(segments)
        at, steps = chosen.choice(through[row["id"]]), []
        for _ in range(chosen.choice([1, 1, 1, 2, 3])):
            name = chosen.choice([name for name, connectors in through.items() if at in connectors])
            steps.append((at, name))
            end, at = at, chosen.choice(through[name])
        final = [heading for heading, last in zip(HEADINGS, (-1, 0), strict=True) if through[name][last] != end or name == "loop"]
        when = chosen.choice([{}, {"heading": "forward"}, {"heading": "backward"}, {"mode": ["car"]}])
        stated = turn(*steps, final=chosen.choice(final), **when)
        row["prohibited_transitions"] = [*(row.get("prohibited_transitions") or ()), stated]
    return segments


class SegmentRouter:
    """Searches over arcs `(src, dst, weight, segment, heading)` between connectors."""

    def __init__(self, edges, segments):
        names, self.arcs = open_names(edges).array().to_pylist(), []
        for row in pq.read_table(edges.path / "streets.parquet").to_pylist():
            for heading in HEADINGS:
                if row[heading] is not None:
                    ends = (names[row["src"]], names[row["dst"]])[:: 1 if heading == "forward" else -1]
                    self.arcs.append((*ends, row[heading], row["segment"], heading))
        self.rules = [(row["id"], one) for row in segments for one in row.get("prohibited_transitions") or ()]

    def permits(self, path):
        return not any(self._matches(path, *rule) for rule in self.rules)

    def _matches(self, path, first, rule):
        *before, last = path
        *between, (connector, name) = [(one["connector_id"], one["segment_id"]) for one in rule["sequence"]]
        if (last[3], last[4], last[0]) != (name, rule["final_heading"], connector):
            return False
        for begin, name in reversed(between):  # along a segment in one direction, once
            heading, end = before[-1][4] if before else None, connector
            while True:
                if not before or before[-1][1] != connector or before[-1][3:] != (name, heading):
                    return False
                connector = before.pop()[0]
                if connector == begin:
                    break
                if connector == end:
                    return False
        wanted = (rule["when"] or {}).get("heading")
        return bool(before) and before[-1][1] == connector and before[-1][3] == first and wanted in (None, before[-1][4])

    def distances(self, source, longest=8):
        found, waiting, seen = {source: 0}, [(0, 0, (), source)], set()
        while waiting:
            distance, _, path, node = heapq.heappop(waiting)
            if (path, node) in seen:
                continue
            seen.add((path, node))
            found[node] = min(found.get(node, math.inf), distance)
            for arc in self.arcs:
                if arc[0] == node and self.permits([*path, arc]):
                    kept = self._kept((*path, arc)[-longest:])
                    heapq.heappush(waiting, (distance + arc[2], len(seen), kept, arc[1]))
        return found

    def _kept(self, path):
        """The last arcs of a path, from the first one on that may be the begin of a rule over the others."""
        for start, arc in enumerate(path):
            for first, rule in self.rules:
                names = {one["segment_id"] for one in rule["sequence"][:-1]}
                if (
                    arc[3] == first
                    and arc[1] == rule["sequence"][0]["connector_id"]
                    and {one[3] for one in path[start + 1 :]} <= names
                ):
                    return path[start:]
        return ()


def distances(folder, source, path, **more):
    """Table `sssp`, and the run's facts of turns."""
    graph = {"source": str(path), "osm": {"profile": "car", "weight": "distance"} | more.pop("osm", {})}
    config = {
        "graph": graph,
        "output": folder / "out",
        "stages": ["wcc", "sssp"],
        "sources": [source],
        "named": True,
        "backend": "cpu",
    }
    published = run(run_config("test", **config | more)).path
    rows = tables.read(published / "sssp").to_pylist()
    return {row["vertex_name"]: row["distance"] for row in rows if row["distance"] is not None}


@pytest.mark.parametrize("seed", range(200 if NIGHTLY else 4))
def test_distances_are_those_of_a_second_router(seed, tmp_path):
    segments = random_town(seed)
    path = write(tmp_path / "a.parquet", segments)
    edges = read(path, tmp_path / "work", weight="distance")
    turns = EdgeFacts.of(edges).roads.turns
    assert turns.relations == 40 and turns.restrictions > 5
    router = SegmentRouter(edges, segments)
    for source in ("c00", "c21"):
        assert distances(tmp_path, source, path) == router.distances(source)


@pytest.mark.parametrize(
    ("stated", "left"),
    [
        (turn(("b", "r")), {}),
        (turn(("b", "r"), heading="forward"), {}),
        (turn(("b", "r"), heading="backward"), {"its segments do not meet at its connectors in these directions": 1}),
        (turn(("b", "r"), final="backward"), {"its segments do not meet at its connectors in these directions": 1}),
        (turn(("b", "r"), mode=["car"]), {}),
        (turn(("b", "r"), mode=["motor_vehicle"]), {}),
        (turn(("b", "r"), mode=["hgv"]), {"for others": 1}),
        (turn(("b", "r"), using=["to_deliver"]), {"for others": 1}),
        (turn(("b", "r"), during="Mo-Fr 07:00-17:00"), {"conditional": 1}),
        (turn(("b", "r"), between=[0.5, 1]), {}),
        (turn(("b", "r"), between=[0, 0.5]), {"its range lacks its connector": 1}),
        (turn(("b", "x")), {"a segment that is no street here, or is not in the file": 1}),
        (turn(("d", "r")), {"its segments do not meet at its connectors in these directions": 1}),
        (turn(), {"without a sequence or a final heading": 1}),
        (turn(("b", "r"), final=None), {"without a sequence or a final heading": 1}),
    ],
)
def test_which_transitions_are_obeyed(stated, left, tmp_path):
    streets = [("s", "ab"), ("r", "bc"), ("t", "bd"), ("u", "be")]
    segments = [of(name, *ends, places=CROSS) for name, ends in streets]
    segments[0]["prohibited_transitions"] = [stated]
    turns = EdgeFacts.of(read(write(tmp_path / "a.parquet", segments), tmp_path / "work")).roads.turns
    assert (turns.relations, turns.left, turns.restrictions) == (1, left, int(not left))


def test_fields_that_a_file_lacks_are_missing_values(tmp_path):
    """Of rules and transitions, such as `when`, which those for all do not need."""
    stated = turn(("b", "r"))
    del stated["when"]
    rules = {"access_restrictions": [{"access_type": "allowed"}], "speed_limits": [{"max_speed": {"value": 30, "unit": "km/h"}}]}
    rules |= {name: [{"between": [0.0, 0.5]}] for name in ("road_flags", "road_surface", "subclass_rules")}
    first = of("s", "a", "b", places=CROSS, prohibited_transitions=[stated], **rules)
    pq.write_table(pa.Table.from_pylist([first, of("r", "b", "c", places=CROSS)]), tmp_path / "a.parquet")
    turns = EdgeFacts.of(read(tmp_path / "a.parquet", tmp_path / "work")).roads.turns
    assert (turns.restrictions, turns.left) == (1, {})


@pytest.mark.parametrize(("at", "between"), [(0.5000000001, [0, 0.5]), (0.4999999999, [0.5, 1])])
def test_a_range_has_a_connector_that_is_almost_at_its_end(at, between, tmp_path):
    middle = of("s", "a", "b", "c", places=CROSS)
    middle["connectors"][1]["at"] = at
    middle["prohibited_transitions"] = [turn(("b", "t"), between=between)]
    segments = [middle, of("t", "b", "d", places=CROSS)]
    turns = EdgeFacts.of(read(write(tmp_path / "a.parquet", segments), tmp_path / "work")).roads.turns
    assert turns.restrictions and not turns.left


def test_a_wrong_part_is_not_proved(tmp_path, monkeypatch):
    monkeypatch.setattr(Attributes, "restricted", lambda self, ways: ways + 1)
    with pytest.raises(ProofFailed, match="street 0: its part is not that of the source"):
        read(write(tmp_path / "a.parquet", [of("s", "a", "b", places=CROSS)]), tmp_path / "work")


def test_who_need_not_obey(tmp_path):
    path = write(tmp_path / "a.parquet", [
        of("s", "a", "b", places=CROSS, prohibited_transitions=[turn(("b", "r"))]), of("r", "b", "c", places=CROSS),
    ])  # fmt: skip
    for keys in ({"profile": "foot"}, {"restrictions": False}):
        assert EdgeFacts.of(read(path, tmp_path / "work", **keys)).roads.turns is None
    assert "c" not in distances(tmp_path, "a", path)
    assert "c" in distances(tmp_path, "a", path, osm={"restrictions": False})


@pytest.mark.parametrize(("keys", "to", "said"), [
    ({}, "r", ["prohibited transition: 1", "1 restriction, of 1 transition"]),
    ({}, "x", ["prohibited transition, not respected: 1", "0 restrictions, of 1 transition; not obeyed: a segment that is no"]),
    ({"profile": "foot"}, "r", ["prohibited transition, not respected: 1"]),
    ({"restrictions": False}, "r", ["prohibited transition, not respected: 1"]),
])  # fmt: skip
def test_a_report_says_whether_transitions_are_obeyed(keys, to, said, tmp_path):
    segments = [of("s", "a", "b", places=CROSS, prohibited_transitions=[turn(("b", to))]), of("r", "b", "c", places=CROSS)]
    edges = read(write(tmp_path / "a.parquet", segments), tmp_path / "work", **keys)
    words = [*_of_roads(EdgeFacts.of(edges).roads).values()]
    assert all(any(part in text for text in words) for part in said) and not any("relation" in text for text in words)


def test_transitions_that_nobody_obeys_may_be_wrong(tmp_path):
    wrong = of("s", "a", "b", places=CROSS, prohibited_transitions=[turn(("b", "r"), between=[0.5, 0.2])])
    path = write(tmp_path / "a.parquet", [wrong, of("r", "b", "c", places=CROSS)])
    assert EdgeFacts.of(read(path, tmp_path / "work", profile="foot")).roads.overture.transitions == 1
    with pytest.raises(BadInput, match="prohibited_transitions has a rule between"):
        read(path, tmp_path / "work")


def test_turns_cost_what_they_cost_on_streets_of_openstreetmap(tmp_path):
    segments = [of(name, *ends, places=CROSS) for name, ends in [("s", "ab"), ("r", "bc"), ("t", "bd"), ("u", "be")]]
    path, costs = write(tmp_path / "a.parquet", segments), {"left": 3, "right": 2, "u_turn": 9}
    free, paid = (distances(tmp_path, "a", path, osm={"turns": turns}) for turns in ({}, costs))
    assert {name: paid[name] - free[name] for name in free} == {"a": 0, "b": 0, "c": 0, "d": 3000, "e": 2000}
    with pytest.raises(BadInput, match=r"graph\.osm\.turns\.signals is given, but Overture has no traffic signals"):
        read(path, tmp_path / "work", turns={"signals": 5})


@pytest.mark.parametrize("seed", range(20 if NIGHTLY else 2))
def test_places_on_streets_leave_distances_between_crossings(seed, tmp_path):
    """Their names change the numbers of all vertices."""
    path, chosen = write(tmp_path / "a.parquet", random_town(seed)), random.Random(seed)
    points = [(5 + chosen.uniform(0, 0.003), 50 + chosen.uniform(0, 0.003)) for _ in range(9)]
    (tmp_path / "p.csv").write_text("id,lon,lat\n" + "".join(f"{row},{x},{y}\n" for row, (x, y) in enumerate(points)))
    placed = {"places": {"attach": "streets"}, "nearest": {"facilities": str(tmp_path / "p.csv")}}
    before, after = distances(tmp_path, "c00", path), distances(tmp_path, "c00", path, **placed)
    assert len(after) > len(before) and {name: after[name] for name in before} == before
