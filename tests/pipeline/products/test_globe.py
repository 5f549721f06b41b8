"""Areas of networks around a pole and on both sides of the 180th meridian: cut there, with nothing lost and nothing spanned."""

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from pipeline.config.run import RunConfig
from pipeline.run import run
from pipeline.steps.products.isochrones import globe
from pipeline.steps.products.isochrones.triangles import triangulate
from pipeline.tables import files as tables
from pipeline.tables.points import cut_of
from tests.pipeline.products.test_polygons import inside, rings_of, turned


def cloud(seed, count=150, middle=(0.0, -17.0), size=(6.0, 4.0)):
    """Random places within a rectangle of degrees."""
    return np.array(middle) + (np.random.default_rng(seed).random((count, 2)) - 0.5) * size


def moved(places, degrees):
    """The places, turned around the globe's axis."""
    found = places.copy()
    found[:, 0] = (found[:, 0] + degrees + 180) % 360 - 180
    return found


def area_of(triangles, within=None):
    return rings_of(triangles.area(np.ones(triangles.wholes.max() + 1, np.bool_) if within is None else within))


def require_valid(polygons):
    """Rings on the globe, closed, without a side across the meridian; outer ones turn left, holes right."""
    for outer, *holes in polygons:
        for ring, sign in ((outer, 1), *((hole, -1) for hole in holes)):
            assert (ring[0] == ring[-1]).all()
            assert turned(ring) * sign > 0
            assert (np.abs(ring) <= (180, 90)).all()
            assert np.abs(np.diff(ring[:, 0])).max() < 180


@pytest.mark.parametrize(("seed", "share"), [(1, 1.0), (2, 0.9), (3, 0.6), (4, 0.4)])
@pytest.mark.parametrize("latitude", [-17.0, 0.0, 66.0])
def test_an_area_across_the_meridian_is_that_of_the_same_network_elsewhere(seed, share, latitude):
    at_zero = cloud(seed, middle=(0.0, latitude))
    within = np.random.default_rng(seed).random(len(at_zero)) < share
    across = moved(at_zero, 180)
    assert globe.is_round(across) and not globe.is_round(at_zero)
    elsewhere, cut = globe.triangulate(at_zero), triangulate(across)
    kept = within[elsewhere.wholes].all(axis=1)
    sides = elsewhere.places[elsewhere.corners][:, 1:] - elsewhere.places[elsewhere.corners][:, :1]
    expected = (np.linalg.det(sides) / 2)[kept & (elsewhere.sides.max(axis=1) <= 20 * np.median(elsewhere.sides))].sum()
    polygons = area_of(cut, within)
    require_valid(polygons)
    rings = [ring for polygon in polygons for ring in polygon]
    assert sum(map(turned, rings)) == pytest.approx(expected)
    for ring in rings:
        assert np.ptp(ring[:, 0]) <= 3.001  # half of the network
    middles = moved(elsewhere.places[elsewhere.corners].mean(axis=1), 180)
    used = elsewhere.sides.max(axis=1) <= 20 * np.median(elsewhere.sides)
    np.testing.assert_array_equal(inside(rings, middles), kept & used)


@pytest.mark.parametrize("sign", [1, -1])
@pytest.mark.parametrize("at_pole", [False, True])
@pytest.mark.parametrize("turn", [0.0, 47.5, 180.0])
def test_an_area_around_a_pole_reaches_it(sign, at_pole, turn):
    random = np.random.default_rng(5)
    angles, distance = random.random(200) * 360 - 180, 8 * np.sqrt(random.random(200)) + 0.01
    places = moved(np.stack([angles, sign * (90 - distance)], axis=1), turn)
    places = np.concatenate([places, [[12.5, sign * 90.0]]]) if at_pole else places
    assert globe.is_round(places)
    triangles = triangulate(globe.canonical(places))
    polygons = area_of(triangles)
    require_valid(polygons)
    rings = [ring for polygon in polygons for ring in polygon]
    longitudes = np.linspace(-179.9, 179.9, 500)
    for latitude, within in ((89.9999, True), (85.0, True), (81.0, False), (-85.0, False)):
        assert (inside(rings, np.stack([longitudes, np.full(500, sign * latitude)], axis=1)) == within).all(), latitude
    hole = 90 - np.abs(places[:, 1]) > 3
    polygons = area_of(triangles, hole)
    require_valid(polygons)
    rings = [ring for polygon in polygons for ring in polygon]
    assert not inside(rings, np.stack([longitudes, np.full(500, sign * 89.5)], axis=1)).any()


def test_a_place_on_the_meridian_belongs_to_both_sides():
    places = np.array([[180.0, 1.0], [-180.0, 0.0], [179.0, 0.5], [-179.0, 0.5]])
    polygons = area_of(triangulate(globe.canonical(places)))
    require_valid(polygons)
    assert sorted(turned(outer) for (outer,) in polygons) == pytest.approx([0.5, 0.5])
    assert sorted(np.sign(outer[:, 0].mean()) for (outer,) in polygons) == [-1, 1]


@pytest.mark.parametrize(
    ("longitudes", "cut"),
    [
        ([1, 2, 3], -180),
        ([179, -179], 179),
        ([-179.5], -180),
        ([-170, -60, 50, 160], -60),
        ([-135, -45, 45, 135], -180),
        ([170, -170, -120, 175], 170),
        ([], -180),
    ],
)
def test_the_globe_is_cut_where_nothing_is(longitudes, cut):
    assert cut_of(np.array(longitudes, np.float64)) == cut


@pytest.mark.parametrize("count", [1, 2, 3, 5])
def test_places_on_the_meridian_alone_have_no_area(count):
    places = np.stack([np.full(count, 180.0), np.arange(count) * 1.0], axis=1)
    places = np.concatenate([places, [[179.0, 0.0]], [[-179.0, 0.0]]])[: count + 1] if count < 3 else places
    assert triangulate(places).area(np.ones(len(places), np.bool_)) is None or count == 2


def published(folder, places, arcs, thresholds=(1,), sources="0\n"):
    """The areas of a run over a small network, by source and threshold."""
    folder.mkdir(exist_ok=True)
    pq.write_table(pa.table({"src": [a for a, _ in arcs], "dst": [b for _, b in arcs]}), folder / "e.parquet")
    (folder / "xy.csv").write_text("vertex,x,y\n" + "".join(f"{v},{x!r},{y!r}\n" for v, (x, y) in enumerate(places)))
    (folder / "from.txt").write_text(sources)
    graph = {"source": str(folder / "e.parquet"), "coordinates": str(folder / "xy.csv"), "directed": False}
    asked = {"thresholds": thresholds, "sources": str(folder / "from.txt"), "polygons": True, "vertices": True}
    made = run(RunConfig(graph=graph, output=folder / "out", stages=["wcc"], isochrones=asked, backend="cpu"))
    return [row["geometry"] for row in tables.read(made.path / "isochrone_polygons").to_pylist()]


def test_an_isochrone_across_the_meridian_does_not_span_the_globe(tmp_path):
    square = [(179.9, -16.0), (-179.9, -16.0), (179.9, -15.8), (-179.9, -15.8)]
    (area,) = published(tmp_path, square, [(0, 1), (0, 2), (0, 3)])
    polygons = rings_of(area)
    require_valid(polygons)
    assert sum(turned(ring) for polygon in polygons for ring in polygon) == pytest.approx(0.2 * 0.2)
    assert len(polygons) == 2


@pytest.mark.parametrize("twin", [(0.0, 0.0), (0.2, 0.1)])
@pytest.mark.parametrize("first", [True, False])
def test_a_place_is_within_if_one_of_its_vertices_is(tmp_path, twin, first):
    """The other vertex there is too far away, or not connected, and has the smaller or the larger number."""
    corners = [(0.0, 0.0), (0.2, 0.1), (0.1, 0.3)]
    places = [twin, *corners] if first else [*corners, twin]
    base = 1 if first else 0
    arcs = [(base, base + 1), (base, base + 2), (base + 1, base + 2)]
    far = 0 if first else 3
    for link in ([], [(far, base + 1)]):
        arcs_now = [*arcs, (far, far), *link]
        (area,) = published(tmp_path / str(len(link)), places, arcs_now, sources=f"{base}\n")
        ((ring,),) = rings_of(area)
        assert sorted(map(tuple, ring[:-1].tolist())) == sorted(corners)
