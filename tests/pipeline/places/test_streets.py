"""Places on streets: by a slow second reader, by Shapely, and against runs without places."""

import heapq
import math
from fractions import Fraction
from itertools import pairwise

import numpy as np
import pandas as pd
import pytest

from pipeline.config.loading import run_config
from pipeline.errors import BadSource
from pipeline.run import run
from pipeline.steps.attaching.nearest import SegmentTree
from pipeline.store.facts.run import RunFacts
from pipeline.tables.points import on_sphere
from tests.ingest.osm.extracts import Node, Way, write
from tests.ingest.overture import segments
from tests.pipeline.products.calls import matrix_into

# A quarter in Berne; node 5 is a shape point, way 12 is one-way, way 13 is a loop from crossing 4, and way 14 an island.
NODES = [
    Node(1, 7.4400, 46.9400), Node(2, 7.4430, 46.9405), Node(3, 7.4460, 46.9400), Node(4, 7.4430, 46.9430),
    Node(5, 7.4445, 46.9410), Node(6, 7.4435, 46.9440), Node(7, 7.4420, 46.9440), Node(8, 7.46, 46.95), Node(9, 7.461, 46.95),
]  # fmt: skip
WAYS = [
    Way(10, [1, 2], name="Gasse"), Way(11, [2, 5, 3], maxspeed="30"), Way(12, [2, 4], oneway="yes"), Way(13, [4, 6, 7, 4]),
    Way(14, [8, 9]), Way(15, [3, 4]), Way(16, [4, 1]),
]  # fmt: skip
PLACES = {
    "A": (7.4410, 46.9403), "B": (7.4420, 46.94025), "C": (7.4420, 46.9404),  # three on one street, on both sides of it
    "D": (7.4430, 46.9412), "E": (7.4431, 46.9420),  # on the one-way street
    "F": (7.4452, 46.9407), "G": (7.4440, 46.9409),  # before and behind its shape point
    "H": (7.4429, 46.9441), "I": (7.44, 46.9398), "J": (7.4605, 46.9501),  # on the loop; at a crossing; nearest to the island
}  # fmt: skip
RADIUS = 6_371_008.8


@pytest.fixture(autouse=True)
def _own_cache(tmp_path, monkeypatch):
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))


def csv_of(folder, places, name="p.csv"):
    (folder / name).write_text("id,lon,lat\n" + "".join(f"{one},{lon!r},{lat!r}\n" for one, (lon, lat) in places.items()))
    return str(folder / name)


def run_of(folder, out="out", graph=None, attach="streets", **asked):
    extract = folder / "b.osm.pbf"
    graph = graph or {"source": str(extract if extract.exists() else write(extract, NODES, WAYS)), "osm": {"profile": "car"}}
    content = {"graph": graph, "output": folder / out, "stages": ["sssp"], "backend": "cpu", "snap_limit": 3000}
    if attach:
        content["places"] = {"attach": attach}
    return run(run_config("test", **content | asked))


def vector(lon, lat):
    lon, lat = math.radians(lon), math.radians(lat)
    return np.array([math.cos(lat) * math.cos(lon), math.cos(lat) * math.sin(lon), math.sin(lat)])


def angle(one, other):
    return math.atan2(np.linalg.norm(np.cross(one, other)), one @ other)


def foot_of(place, lines):
    """The street, metres along it and metres to it of the nearest point, by cross products; lines are lists of degrees."""
    p, best = vector(*place), (math.inf,)
    for street, line in enumerate(lines):
        before = 0.0
        for one, other in pairwise(line):
            a, b = vector(*one), vector(*other)
            normal = np.cross(a, b) / np.linalg.norm(np.cross(a, b))
            foot = p - (p @ normal) * normal
            foot /= np.linalg.norm(foot)
            if angle(a, foot) + angle(foot, b) > angle(a, b) * (1 + 1e-9):
                foot = a if angle(a, p) < angle(b, p) else b
            best = min(best, (round(RADIUS * angle(p, foot), 4), street, before + RADIUS * angle(a, foot)))
            before += RADIUS * angle(a, b)
    return best[1], best[2], best[0]


def distances(arcs, source):
    """Dijkstra's algorithm over a dictionary of arcs."""
    known, waiting = {}, [(0, source)]
    while waiting:
        apart, vertex = heapq.heappop(waiting)
        if vertex not in known:
            known[vertex] = apart
            for head, weight in arcs.get(vertex, ()):
                heapq.heappush(waiting, (apart + weight, head))
    return known


CHAINS = [(10, [1, 2]), (11, [2, 5, 3]), (12, [2, 4]), (13, [4, 6, 7, 4]), (15, [3, 4]), (16, [4, 1])]  # not the island


def expected_arcs(places, weights):
    """The arcs of all chains by their tails, each divided at its places.

    Args:
        places: Table `places` by ids.
        weights: Of the undivided arcs, by tail, head and way.
    """
    arcs = {}
    for way, nodes in CHAINS:
        on = places[places.on_way == way]
        length = round(1000 * on.on_length.iloc[0]) if len(on) else 1
        stops = {(round(1000 * offset), vertex) for offset, vertex in zip(on.on_offset, on.vertex, strict=True) if vertex > 9}
        cuts = [(0, nodes[0]), *sorted(stops), (length, nodes[-1])]
        for mirrored, pair in enumerate([(nodes[0], nodes[-1], way), (nodes[-1], nodes[0], way)]):
            if (total := weights.get(pair)) is not None:
                share = [round(Fraction(total * cut, length)) for cut, _ in cuts]
                for (_, tail), (_, head), begin, end in zip(cuts, cuts[1:], share, share[1:], strict=False):
                    ends = (head, tail) if mirrored else (tail, head)
                    arcs.setdefault(ends[0], []).append((ends[1], end - begin))
    return arcs


def weights_of(published):
    """The weights of arcs in table `arcs`, by tail, head and way."""
    arcs = pd.read_parquet(published.path / "arcs")
    return {(row.src, row.dst, row.way): row.weight for row in arcs.itertuples()}


def test_places_on_streets_of_openstreetmap_are_as_far_as_a_slow_reader_says(tmp_path):
    file = csv_of(tmp_path, PLACES)
    published, plain = run_of(tmp_path, nearest={"facilities": file, "count": 2}), run_of(tmp_path, "plain", attach=None)
    places = pd.read_parquet(published.path / "places").set_index("id")
    at = {node.id: (node.lon, node.lat) for node in NODES}
    for one, place in PLACES.items():
        street, offset, metres = foot_of(place, [[at[node] for node in nodes] for _, nodes in CHAINS])
        row, (way, nodes) = places.loc[one], CHAINS[street]
        assert (row.on_way, row.on_src, row.on_dst) == (way, nodes[0], nodes[-1])
        assert row.on_offset == pytest.approx(offset, abs=2e-3) and row.metres == pytest.approx(metres, abs=1e-3)
    assert (places.loc["I"].vertex, places.loc["I"].on_offset, places.loc["A"].on_name) == (1, 0, "Gasse")
    assert places.loc["B"].on_offset != places.loc["C"].on_offset
    # The loop is no arc without places; it is as fast as the street of way 16.
    weights, sixteen = weights_of(plain), pd.read_parquet(plain.path / "arcs").query("way == 16").iloc[0]
    speed = round(3600 * sixteen.length / sixteen.weight)  # kilometres an hour
    weights[4, 4, 13] = round(Fraction(round(1000 * places.loc["H"].on_length) * 36, 10 * speed))
    arcs = expected_arcs(places, weights)
    made = matrix_into(str(published.path), tmp_path / "m", sources=file, targets=file, backend="cpu")
    matrix = pd.read_parquet(made.path / "part-00000.parquet")
    assert len(matrix) == len(PLACES) ** 2
    for row in matrix.itertuples():
        assert row.distance == distances(arcs, places.loc[row.source_place].vertex)[places.loc[row.target_place].vertex]
    apart = matrix.set_index(["source_place", "target_place"]).distance
    assert 0 < apart["D", "E"] < apart["E", "D"] / 3  # on the one-way street, whose way back leads around
    assert apart["A", "B"] == apart["B", "A"]
    near = pd.read_parquet(published.path / "nearest").query("rank == 1").set_index("vertex")
    assert near.loc[[places.loc[one].vertex for one in PLACES]].facility_place.tolist() == [*PLACES]
    assert RunFacts.of(published).input.attached.at_crossings == 1


def test_distances_between_crossings_stay_and_ways_are_kept(tmp_path):
    file, crossings = csv_of(tmp_path, PLACES), [1, 2, 3, 4]
    published = run_of(tmp_path, sources=crossings, nearest={"facilities": file})
    plain = run_of(tmp_path, "plain", attach=None, sources=crossings)
    before, after = (pd.read_parquet(one.path / "sssp").set_index(["source", "vertex"]).distance for one in (plain, published))
    assert after.loc[before.index].equals(before) and len(after) > len(before)
    arcs, old = (pd.read_parquet(one.path / "arcs").groupby("way") for one in (published, plain))
    for way, of_way in old:
        both = arcs.get_group(way)
        assert both.weight.sum() == of_way.weight.sum() and {*both.name.fillna("")} == {*of_way.name.fillna("")}
        assert both.length.sum() == pytest.approx(of_way.length.sum())


def test_the_nearest_street_is_that_of_shapely(tmp_path):
    import shapely

    rng = np.random.default_rng(7)
    begins, ends = rng.uniform(-0.01, 0.01, (2, 3000, 2))
    ends = begins + ends / 8
    ends[-1] = begins[-1] + 0.015  # and a long one
    degrees = np.stack([begins, ends], axis=1).reshape(-1, 2)  # near the equator a plane is exact to a millimetre
    tree = SegmentTree(on_sphere(*degrees.T), np.arange(0, len(degrees), 2))
    places = rng.uniform(-0.012, 0.012, (2000, 2))
    found = tree.of(on_sphere(*places.T), 1e6)
    lines = shapely.linestrings(degrees.reshape(-1, 2, 2))
    (row, _), apart = shapely.STRtree(lines).query_nearest(shapely.points(places), return_distance=True)
    due = np.full(len(places), np.inf)
    np.minimum.at(due, row, np.radians(apart) * RADIUS)
    assert np.abs(found.metres - due).max() < 2e-3
    chosen = lines[found.segment // 2]
    assert np.abs(found.along - shapely.line_locate_point(chosen, shapely.points(places), normalized=True)).max() < 1e-4


def test_poles_the_meridian_and_long_segments_are_places_like_others():
    degrees = np.array([(179.9, 0.0), (-179.9, 0.0), (10.0, 89.9), (-170.0, 89.9), (0.0, 50.0), (60.0, 50.0)])
    tree = SegmentTree(on_sphere(*degrees.T), np.array([0, 2, 4]))
    found = tree.of(on_sphere(*np.array([(180.0, 0.01), (100.0, 90.0), (30.0, 54.0)]).T), 1e7)
    assert found.segment.tolist() == [0, 2, 4]
    assert found.metres[:2] == pytest.approx([RADIUS * math.radians(0.01), 0], abs=1e-3)
    bulge = math.degrees(math.atan(math.tan(math.radians(50)) / math.cos(math.radians(30))))  # of its middle
    assert found.metres[2] == pytest.approx(RADIUS * math.radians(abs(54 - bulge)), rel=1e-9)
    assert found.along == pytest.approx([0.5, 0.5, 0.5], abs=1e-4)
    assert tree.of(on_sphere(*np.array([(30.0, 20.0)]).T), 1000.0).segment.tolist() == [-1]


def test_a_foot_that_is_rounded_to_the_point_of_a_crossing_is_a_vertex_of_its_own(tmp_path):
    """A millimetre from the start and from the end of a street; coordinates have seven decimals, eleven times as much."""
    near = {"A": (7.4400 + 2e-8, 46.9400), "B": (7.4430 - 2e-8, 46.9405)}
    published = run_of(tmp_path, nearest={"facilities": csv_of(tmp_path, near)})
    places = pd.read_parquet(published.path / "places").set_index("id")
    assert places.on_offset["A"] > 0 and places.on_offset["B"] < places.on_length["B"]
    assert RunFacts.of(published).input.attached.vertices == 2


def test_places_are_as_dense_as_coordinates_are(tmp_path):
    """Around a shape point, of which some feet have the rounded coordinates, on both sides of it; each street stays whole."""
    steps = [step * 7e-9 for step in range(-9, 10)]
    dense = {f"D{row}": (7.4445 + step, 46.9410 + abs(step) / 3) for row, step in enumerate(steps)}
    published, plain = run_of(tmp_path, nearest={"facilities": csv_of(tmp_path, dense)}), run_of(tmp_path, "plain", attach=None)
    places = pd.read_parquet(published.path / "places")
    assert {*places.on_way} == {11} and places.vertex.nunique() > 5 and places.on_offset.max() - places.on_offset.min() < 0.012
    whole, parts = (pd.read_parquet(one.path / "arcs").query("way == 11") for one in (plain, published))
    assert parts.length.sum() == pytest.approx(whole.length.sum()) and parts.weight.sum() == whole.weight.sum()


def test_places_are_on_segments_of_overture(tmp_path):
    parts = [("a", [(7.0, 0.0), (7.01, 0.0)], "xy", "Quay"), ("b", [(7.01, 0.0), (7.02, 0.0)], "yz", "Mole")]
    lines = [segments.segment(one, line, [*zip(ends, (0.0, 1.0), strict=True)], name=name) for one, line, ends, name in parts]
    graph = {"source": str(segments.write(tmp_path / "s.parquet", lines)), "osm": {"profile": "car"}}
    places = {"A": (7.0025, 1e-4), "B": (7.0175, -1e-4), "C": (7.01, 0.0)}
    published = run_of(tmp_path, graph=graph, nearest={"facilities": csv_of(tmp_path, places)}, arcs=True)
    rows = pd.read_parquet(published.path / "places").set_index("id")
    assert rows.on_segment.tolist()[:2] == ["a", "b"] and rows.on_name.tolist()[:2] == ["Quay", "Mole"]
    assert rows.on_offset["A"] == pytest.approx(rows.on_length["A"] / 4, abs=2e-3) and "on_way" not in rows.columns
    assert sorted(pd.read_parquet(published.path / "arcs").segment) == ["a"] * 4 + ["b"] * 4
    with pytest.raises(BadSource, match=r"the nearest street, segment a \(Quay\); the limit is 20 m"):
        run_of(tmp_path, graph=graph, sources=["7.0025,0.001"], snap_limit=20)
