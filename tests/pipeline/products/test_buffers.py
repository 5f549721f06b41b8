"""Areas around edges, against distances to them: of a straight road, one vertex, and a few streets, also across the meridian."""

import math

import numpy as np
import pyarrow.parquet as pq
import pytest

from pipeline.config.graph import GraphConfig
from pipeline.config.layout import LayoutConfig
from pipeline.config.products.isochrones import IsochronesConfig
from pipeline.ingest import ingest
from pipeline.steps.layout import lay_out
from pipeline.steps.products.isochrones.buffers import buffered
from pipeline.steps.products.isochrones.polygons import tabulate_polygons
from pipeline.steps.runtime import Runtime
from tests.pipeline.products.test_globe import require_valid
from tests.pipeline.products.test_polygons import inside, rings_of, turned

DEGREE = 6_371_008.8 * math.pi / 180  # metres
CIRCLE = 8 * math.sin(math.pi / 8)  # area of a polygon of 16 corners in a circle of radius 1


def edges_at(lines, longitude=7.0, latitude=47.0):
    """Lines of metres from a place, in degrees."""
    points = np.array(lines, np.float64)
    x = longitude + points[..., 0] / DEGREE / math.cos(math.radians(latitude))
    return np.stack([(x + 180) % 360 - 180, latitude + points[..., 1] / DEGREE], axis=-1)


def in_metres(ring, longitude=7.0, latitude=47.0):
    x = (ring[:, 0] - longitude + 180) % 360 - 180
    return np.stack([x * DEGREE * math.cos(math.radians(latitude)), (ring[:, 1] - latitude) * DEGREE], axis=1)


@pytest.mark.parametrize(
    ("lines", "length"),
    [
        ([[(0, 0), (0, 0)]], 0),
        ([[(0, 0), (900, 0)]], 900),
        ([[(0, 0), (300, 400)], [(300, 400), (600, 800)], [(0, 0), (0, 0)]], 1000),
        ([[(600, 800), (300, 400)], [(0, 0), (360, 480)], [(120, 160), (150, 200)]], 1000),
    ],
    ids=["vertex", "edge", "road", "overlapping"],
)
@pytest.mark.parametrize("longitude", [7.0, 180.0])
def test_a_straight_road_is_a_strip_with_round_ends(lines, length, longitude):
    polygons = rings_of(buffered(edges_at(lines, longitude), 50.0))
    require_valid(polygons)
    assert all(len(rings) == 1 for rings in polygons)
    whole = sum(turned(in_metres(ring, longitude)) for (ring,) in polygons)
    assert whole == pytest.approx(2 * 50 * length + CIRCLE * 50**2, rel=1e-3)
    assert len(polygons) == (1 if longitude == 7 else 2)


@pytest.mark.parametrize("metres", [20.0, 60.0])
def test_streets_are_covered_up_to_the_distance(metres):
    """A cross with a bent street, and a street by itself; beside it nothing, in its bends everything."""
    lines = [[(-400, 0), (0, 0)], [(0, 0), (500, 30)], [(0, 0), (0, 700)], [(0, 700), (300, 800)], [(-300, 500), (-200, 600)]]
    polygons = rings_of(buffered(edges_at(lines), metres))
    require_valid(polygons)
    assert len(polygons) == 2
    points = np.random.default_rng(1).uniform((-500, -100), (700, 900), (4000, 2))
    least = np.full(len(points), np.inf)
    for begin, end in np.array(lines, np.float64):
        share = np.clip((points - begin) @ (end - begin) / ((end - begin) ** 2).sum(), 0, 1)[:, np.newaxis]
        least = np.minimum(least, np.hypot(*(points - begin - share * (end - begin)).T))
    rings = [in_metres(ring) for polygon in polygons for ring in polygon]
    covered = inside(rings, points)
    assert covered[least < 0.9 * metres].all()
    assert not covered[least > 1.1 * metres].any()


@pytest.fixture
def road(tmp_path):
    """Six vertices on a road, a kilometre apart, and one without coordinates."""
    (tmp_path / "edges.csv").write_text("src,dst\n" + "".join(f"{v},{v + 1}\n" for v in range(6)))
    (tmp_path / "xy.csv").write_text("vertex,x,y\n" + "".join(f"{v},{7 + v * 1000 / DEGREE!r},0\n" for v in range(6)))
    names = {"source": str(tmp_path / "edges.csv"), "coordinates": str(tmp_path / "xy.csv")}
    edges = ingest(GraphConfig(**names, directed=False), tmp_path)
    return edges, lay_out(edges, LayoutConfig(), Runtime(tmp_path)), Runtime(tmp_path)


def test_the_areas_of_a_network_that_is_one_straight_road(road):
    edges, graph, runtime = road
    asked = {"thresholds": (0, 2), "polygons": True}
    without = tabulate_polygons(edges, graph, IsochronesConfig(**asked), runtime)
    assert pq.read_table(without.path)["geometry"].null_count == 14
    made = tabulate_polygons(edges, graph, IsochronesConfig(**asked, buffer=50), runtime)
    areas = {(row["source"], row["threshold"]): row["geometry"] for row in pq.read_table(made.path).to_pylist()}
    for (source, threshold), area in areas.items():
        near = [v for v in range(6) if abs(v - source) <= threshold]
        if near:
            ((ring,),) = rings_of(area)
            length = 1000 * (max(near) - min(near))
            assert turned(in_metres(ring, latitude=0)) == pytest.approx(100 * length + CIRCLE * 2500, rel=1e-3)
        else:
            assert area is None


def test_where_there_are_triangles_the_buffer_changes_nothing(published, tmp_path):
    from tests.pipeline.products.test_products import steps_of

    asked = IsochronesConfig(thresholds=(0, 4, 7), polygons=True, buffer=1000)
    made = pq.read_table(tabulate_polygons(*steps_of(published), asked, Runtime(tmp_path)).path)
    before = pq.read_table(published.path / "isochrone_polygons")
    for old, new in zip(before.to_pylist(), made.to_pylist(), strict=True):
        assert old["geometry"] in (None, new["geometry"])
    alone = {row["source"] for row in made.to_pylist() if row["geometry"] is None}
    assert alone == {60, 61}  # without coordinates
