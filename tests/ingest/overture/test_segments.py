"""Arcs of segments are those of a second reader, and of examples; what is wrong in a file is refused."""

import random
from dataclasses import replace
from itertools import pairwise

import geopandas
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from pyproj import Geod
from shapely.geometry import LineString

from pipeline.changes import change
from pipeline.config.loading import run_config
from pipeline.errors import BadInput, ProofFailed
from pipeline.ingest.formats.overture import reading
from pipeline.run import run
from pipeline.store.facts import EdgeFacts
from pipeline.store.facts.run import RunFacts
from pipeline.store.names import open_names
from pipeline.tables import files as tables
from tests.counts import NIGHTLY
from tests.ingest.osm.extracts import metres
from tests.ingest.overture.segments import SCHEMA, access, limit, read, segment, write
from tests.pipeline.runs.commands import graphmill

LINE = [(0, 0), (0.001, 0), (0.002, 0), (0.004, 0)]
BACKWARD = access("denied", heading="backward")


def arcs_of(edges):
    names, table = open_names(edges).array(), tables.read(edges.path)
    src, dst = (names.take(table[end].combine_chunks()).to_pylist() for end in ("src", "dst"))
    return list(zip(src, dst, table["weight"].to_pylist(), strict=True))


def only(tmp_path, *segments, **keys):
    return arcs_of(read(write(tmp_path / "a.parquet", segments), tmp_path / "work", **({"weight": "distance"} | keys)))


def millimetres(*points):
    return sum(round(1000 * metres(*pair)) for pair in pairwise(points))


def test_a_segment_is_cut_at_its_connectors(tmp_path):
    one = segment("s1", LINE, [("c9", 0), ("c5", 0.5), ("c7", 1)], name="Allee")
    two = segment("s2", [LINE[2], (0.002, 0.001)], [("c5", 0), ("c1", 1)], access_restrictions=[BACKWARD])
    half, rest, up = millimetres(*LINE[:3]), millimetres(*LINE[2:]), millimetres(LINE[2], (0.002, 0.001))
    assert only(tmp_path, one, two) == [
        ("c9", "c5", half), ("c5", "c9", half), ("c5", "c7", rest), ("c7", "c5", rest), ("c5", "c1", up),
    ]  # fmt: skip


def test_a_connector_between_points_of_the_line_is_put_there(tmp_path):
    arcs = only(tmp_path, segment("s", [(0, 0), (0.01, 0)], [("a", 0), ("b", 0.25), ("c", 1)]))
    assert [arc for arc in arcs if arc[0] < arc[1]] == [
        ("a", "b", millimetres((0, 0), (0.0025, 0))), ("b", "c", millimetres((0.0025, 0), (0.01, 0))),
    ]  # fmt: skip


def speeds(tmp_path, *segments, **keys):
    """Kilometres an hour of arcs by their ends, from their times."""
    timed = only(tmp_path, *segments, weight="time", **keys)
    lengths = only(tmp_path, *segments, weight="distance", **keys)
    return {one[:2]: round(3.6 * two[2] / one[2], 1) for one, two in zip(timed, lengths, strict=True)}


AB = [("a", 0), ("b", 1)]


@pytest.mark.parametrize(
    ("kind", "rules", "there", "back"),
    [
        ("residential", {}, 25, 25),
        ("primary", {"subclass": "link"}, 30, 30),
        ("primary", {"road_flags": [{"values": ["is_link", "is_bridge"]}]}, 30, 30),
        ("unknown", {}, 20, 20),
        ("motorway", {}, 90, None),
        ("residential", {"speed_limits": [limit(30, "mph")]}, 48.3, 48.3),
        ("residential", {"speed_limits": [limit(50), limit(20, heading="backward")]}, 50, 20),
        ("residential", {"speed_limits": [limit(50), limit(30, mode=["truck"])]}, 50, 50),
        ("residential", {"speed_limits": [limit(50), limit(30, during="Mo-Fr 07:00-17:00")]}, 50, 50),
        ("residential", {"speed_limits": [limit(50), limit(30, mode=["motor_vehicle"])]}, 30, 30),
        ("secondary", {"road_surface": [{"value": "gravel"}]}, 40, 40),
        ("residential", {"access_restrictions": [access("denied")]}, None, None),
        ("residential", {"access_restrictions": [access("denied", mode=["foot", "bicycle"])]}, 25, 25),
        ("residential", {"access_restrictions": [access("denied"), access("allowed", mode=["car"])]}, 25, 25),
        ("residential", {"access_restrictions": [access("denied"), access("allowed", using=["at_destination"])]}, 25, 25),
        ("residential", {"access_restrictions": [access("denied"), access("allowed", using=["for_forestry"])]}, None, None),
        ("residential", {"access_restrictions": [access("denied"), access("allowed", recognized=["as_private"])]}, None, None),
        ("residential", {"access_restrictions": [access("denied", using=["to_deliver"])]}, 25, 25),
        ("residential", {"access_restrictions": [access("denied", during="22:00-06:00")]}, 25, 25),
        ("residential", {"access_restrictions": [BACKWARD, access("allowed", heading="backward", mode=["bicycle"])]}, 25, None),
        ("residential", {"access_restrictions": [access("denied", heading="forward")]}, None, 25),
        ("residential", {"road_flags": [{"values": ["is_under_construction"]}]}, None, None),
        ("footway", {}, None, None),
        (None, {}, None, None),
    ],
)  # fmt: skip
def test_rules_of_a_car(kind, rules, there, back, tmp_path):
    known = speeds(tmp_path, segment("s", LINE, AB, kind, **rules), segment("t", [(1, 1), (1, 1.01)], [("y", 0), ("z", 1)]))
    assert (known.get(("a", "b")), known.get(("b", "a"))) == (there, back)


@pytest.mark.parametrize(("profile", "ends"), [("bicycle", ["ab", "ba"]), ("foot", ["ab", "ba"]), ("car", ["ab"])])
def test_one_way_streets_are_for_traffic(profile, ends, tmp_path):
    rules = [BACKWARD, access("allowed", heading="backward", mode=["bicycle"])]
    arcs = only(tmp_path, segment("s", LINE, AB, access_restrictions=rules), profile=profile)
    assert [src + dst for src, dst, _ in arcs] == ends


def test_a_rule_between_two_places_cuts_the_segment_where_something_changes(tmp_path):
    rules = {
        "speed_limits": [limit(50), limit(30, between=[0.25, 0.5])],
        "road_flags": [{"values": ["is_bridge"], "between": [0, 0.1]}],
    }
    assert speeds(tmp_path, segment("s", LINE, [*AB, ("c", 0.5)], **rules)) == {
        ("a", "s@0.25"): 50, ("s@0.25", "a"): 50, ("s@0.25", "c"): 30, ("c", "s@0.25"): 30, ("c", "b"): 50, ("b", "c"): 50,
    }  # fmt: skip
    closed = [access("denied", between=[0.25, 0.5])]
    arcs = only(tmp_path, segment("s", LINE, AB, access_restrictions=closed))
    assert {frozenset(arc[:2]) for arc in arcs} == {frozenset(("a", "s@0.25")), frozenset(("s@0.5", "b"))}


def test_what_is_left_out_is_counted(tmp_path):
    turn = {"sequence": [{"connector_id": "b", "segment_id": "t"}], "final_heading": "forward"}
    rules = [access("denied", during="Mo"), access("denied", between=[0.5, 1])]
    segments = [
        segment("s", LINE, AB, prohibited_transitions=[turn]),
        segment("s", LINE, AB),
        segment("t", LINE[::-1], [("b", 0), ("a", 1)]),
        segment("r", LINE, AB, "standard_gauge", subtype="rail"),
        segment("f", LINE, AB, "footway"),
        segment("u", [(0, 1), (0, 1.001)], [("a", 0), ("z", 1)], access_restrictions=rules),
        segment("p", LINE, AB, access_restrictions=[access("denied")]),
    ]
    path = write(tmp_path / "a.parquet", segments)
    edges = read(path, tmp_path / "work")
    roads = EdgeFacts.of(edges).roads
    assert roads.ways_left == {"access": 1, "class=footway": 1, "subtype=rail": 1}
    assert (roads.ways, roads.duplicate_ways, roads.chains) == (3, 1, 3)
    assert roads.overture.stored() == {"transitions": 1, "conditional": 1, "closed_parts": 1, "apart": 1}


def test_islands_are_left_out_with_their_names(tmp_path):
    far = [segment("far", [(1, 1), (1, 1.001)], [("A", 0), ("Z", 1)])]
    edges = read(write(tmp_path / "a.parquet", [*far, segment("s", LINE, [*AB, ("c", 0.5)])]), tmp_path / "work", islands=3)
    assert open_names(edges).array().to_pylist() == ["a", "b", "c"]
    assert EdgeFacts.of(edges).roads.island_vertices == 2


def random_segments(chosen):
    """Segments that share connectors, with points and rules anywhere."""
    places = {f"c{one}": (chosen.uniform(5, 5.02), chosen.uniform(50, 50.02)) for one in range(12)}
    for number in range(12):
        ends = chosen.sample([*places], chosen.choice([2, 2, 3, 4]))
        points, at = [], []
        for one, other in pairwise(ends):
            at.append(len(points))
            points.append(places[one])
            points += [(chosen.uniform(5, 5.02), chosen.uniform(50, 50.02)) for _ in range(chosen.randrange(3))]
            last = other
        at.append(len(points))
        points.append(places[last])
        length = [
            Geod(ellps="WGS84").line_length(*zip(*points[: one + 1], strict=True)) if one else 0.0 for one in range(len(points))
        ]
        joined = [(name, round(length[one] / length[-1], 9)) for name, one in zip(ends, at, strict=True)]
        ranges = [
            None,
            None,
            *(sorted(chosen.sample([0, 0.2, 0.35, 0.6, 0.9, 1, *(at for _, at in joined)], 2)) for _ in range(3)),
        ]
        ranges = [one for one in ranges if one is None or one[0] < one[1]]
        pick, headings, modes = chosen.choice, (None, "forward", "backward"), (None, ["car"], ["foot"])
        limits = [limit(pick([30, 50]), pick(["mph", "km/h"]), pick(ranges)) for _ in range(2)]
        restricted = [
            access(pick(["denied", "allowed"]), pick(ranges), heading=pick(headings), mode=pick(modes)) for _ in range(2)
        ]
        rules = {"speed_limits": limits, "access_restrictions": restricted}
        rules = {name: chosen.choice([None, rule]) for name, rule in rules.items()}
        yield segment(f"s{number}", points, joined, chosen.choice(["residential", "primary", "footway"]), **rules)


@pytest.mark.sampled
@pytest.mark.parametrize("seed", range(300 if NIGHTLY else 12))
def test_random_segments_have_the_length_of_their_open_parts(seed, tmp_path):
    """Each arc of a second reader, which looks at a thousand places of each segment, is there, and no other."""
    chosen = random.Random(seed)
    segments = [*random_segments(chosen)]
    edges = read(write(tmp_path / "a.parquet", segments), tmp_path / "work", weight="distance")
    streets = pq.read_table(edges.path / "streets.parquet").to_pylist()
    for one in segments:
        own = [street for street in streets if street["segment"] == one["id"]]
        opened = [looked_at(one, (at + 0.5) / 1000) for at in range(1000)]
        points = geometry_of(one["geometry"])
        length = millimetres(*points)
        for heading, direction in enumerate(("forward", "backward")):
            due = sum(flags[heading] for flags in opened) / 1000 * length
            assert abs(sum(street[direction] or 0 for street in own) - due) <= 0.005 * length + 10, (seed, one["id"])


def geometry_of(wkb):
    from shapely import from_wkb

    return list(from_wkb(wkb).coords)


def looked_at(row, at):
    """Whether a car may go in both directions at a place."""
    opens = [row["class"] != "footway"] * 2
    for rule in row.get("access_restrictions") or ():
        if rule["between"] is None or rule["between"][0] <= at <= rule["between"][1]:
            for heading, name in enumerate(("forward", "backward")):
                mode, allows = (rule["when"] or {}).get("mode"), rule["access_type"] == "allowed"
                if allows and row["class"] == "footway" and not mode:
                    continue  # to those on foot
                if (rule["when"] or {}).get("heading") in (None, name) and mode in (None, ["car"]):
                    opens[heading] = allows
    return opens


def test_a_run_has_the_tables_of_streets(tmp_path):
    path = write(tmp_path / "town.parquet", [segment("s1", LINE, [("x", 0), ("y", 1)], "tertiary", name="Straße")])
    config = {"source": str(path), "osm": {"profile": "car"}}
    published = run(run_config("test", graph=config, output=tmp_path / "out", stages=["wcc", "sssp"], named=True))
    table = geopandas.read_parquet(sorted((published.path / "arcs").glob("*.parquet"))[0])
    assert table.geometry.is_valid.all()
    first = table.iloc[0]
    assert [first[name] for name in ("src_name", "dst_name", "segment", "class", "name")] == [
        "x",
        "y",
        "s1",
        "tertiary",
        "Straße",
    ]
    assert first.geometry == LineString(LINE)
    assert "way" not in table.columns
    vertices = pq.read_table(published.path / "vertices")
    assert vertices.select(["id", "x", "y"]).to_pylist() == [{"id": "x", "x": 0, "y": 0}, {"id": "y", "x": 0.004, "y": 0}]
    assert RunFacts.of(published).input.format == "overture"


def test_commands_take_a_profile(tmp_path):
    path = write(tmp_path / "town.parquet", [segment("s1", LINE, AB), segment("s2", LINE, AB, "steps")])
    said = graphmill("check", path, "--profile", "car").stdout
    assert "streets              1 segment for profile car: 1 chain between connectors" in said
    assert "other segments       1: class=steps 1" in said
    assert 'profile = "car"' in graphmill("init", path, "--to", tmp_path).stdout + (tmp_path / "town.toml").read_text()


@pytest.mark.parametrize(
    ("changed", "reason"),
    [
        ({"geometry": b"x"}, r"row 1: geometry is not a line of two points or more in WKB"),
        ({"connectors": [{"connector_id": "a", "at": 1.5}]}, r"row 1: segment t: has a connector a at 1\.5, expected a share"),
        ({"access_restrictions": [access("maybe")]}, r"row 1: segment t: access_type 'maybe' is not one of allowed, denied"),
        ({"speed_limits": [limit(5, "knots")]}, r"row 1: segment t: speed_limits has the unit 'knots', expected km/h or mph"),
        ({"speed_limits": [limit(5, between=[0.5, 0.2])]}, r"row 1: segment t: speed_limits has a rule between \[0\.5, 0\.2\]"),
        ({"speed_limits": [limit(5, between=[None, 1.0])]}, r"row 1: segment t: speed_limits has a rule between \[None, 1\.0\]"),
        (
            {
                "connectors": [{"connector_id": "a"}],
                "prohibited_transitions": [
                    {
                        "sequence": [{"connector_id": "a", "segment_id": "r"}],
                        "final_heading": "forward",
                    }
                ],
            },
            r"row 1: segment t: has a connector a at None, expected a share",
        ),
        ({"id": None}, r"row 1: segment None: has no id"),
    ],
)
def test_a_wrong_segment_is_refused(changed, reason, tmp_path):
    wrong = segment("t", LINE, AB) | changed
    with pytest.raises(BadInput, match=reason):
        read(write(tmp_path / "a.parquet", [segment("r", LINE, AB), wrong]), tmp_path / "work")


def test_a_file_without_a_profile_or_columns_is_refused(tmp_path):
    path = write(tmp_path / "a.parquet", [segment("r", LINE, AB)])
    with pytest.raises(BadInput, match=r"has segments of Overture; state who travels: profile = \"car\""):
        read(path, tmp_path / "work", profile=None)
    pq.write_table(pa.Table.from_pylist([], SCHEMA).drop_columns(["class"]), path)
    with pytest.raises(BadInput, match="has no column 'class', which segments of Overture have"):
        read(path, tmp_path / "work")


@pytest.mark.parametrize("broken", ["street", "point", "connector", "missing", "joined", "segment"])
def test_wrong_parts_are_not_proved(broken, tmp_path, monkeypatch):
    """What was cut is changed before it is stored."""

    class Wrong(reading.SegmentParts):
        def arrays(self):
            if broken == "street":
                self.street[0] = 1
            elif broken == "point":
                del self.at[1]
                self.ends = [end - 1 for end in self.ends]
            elif broken == "connector":
                self.at[0], self.at[-1] = self.at[-1], self.at[0]
            elif broken == "segment":
                self.segment[0] = 1
            elif broken == "missing":
                del self.segment[-1], self.street[-1], self.name[-1], self.ends[-1]
                self.at = self.at[: self.ends[-1]]
            else:
                self.ends, self.segment, self.street, self.name = self.ends[1:], self.segment[1:], self.street[1:], self.name[1:]
            return super().arrays()

    monkeypatch.setattr(reading, "SegmentParts", Wrong)
    segments = [segment("s", LINE, [*AB, ("c", 0.5)]), segment("t", LINE, [("c", 0), ("d", 1)], "primary")]
    with pytest.raises(ProofFailed, match="edges: segment"):
        read(write(tmp_path / "a.parquet", segments), tmp_path / "work")


def test_a_wrong_name_is_not_proved(tmp_path, monkeypatch):
    right = reading._numbers

    def wrong(*arguments):
        numbers, names = right(*arguments)
        return numbers[::-1].copy(), names

    monkeypatch.setattr(reading, "_numbers", wrong)
    with pytest.raises(ProofFailed):
        read(write(tmp_path / "a.parquet", [segment("s", [(0, 0), (0.001, 0)], AB)]), tmp_path / "work")


def test_the_stored_streets_are_checked(tmp_path, monkeypatch):
    right = reading.chains_of
    monkeypatch.setattr(reading, "chains_of", lambda *given: replace(one := right(*given), length=one.length + 2))
    with pytest.raises(ProofFailed, match="edges: a street behind number 0 has another length"):
        read(write(tmp_path / "a.parquet", [segment("s", [(0, 0), (0.001, 0)], AB)]), tmp_path / "work")


def test_changes_with_new_names_keep_the_streets(tmp_path):
    path = write(tmp_path / "town.parquet", [segment("s1", LINE, [("x", 0), ("y", 1)])])
    run(run_config("test", graph={"source": str(path), "osm": {"profile": "car"}}, output=tmp_path / "out", stages=["wcc"]))
    (tmp_path / "a.csv").write_text("op,src,dst,weight\ninsert,a,y,7\n")
    arcs = pq.read_table(change(tmp_path / "out", tmp_path / "a.csv").path / "arcs").to_pylist()
    assert [(arc["src_name"], arc["dst_name"], arc["segment"]) for arc in arcs] == [
        ("a", "y", None), ("x", "y", "s1"), ("y", "x", "s1"),
    ]  # fmt: skip
