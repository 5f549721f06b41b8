"""Which vertex stands for a zone: one near the centre of its area, wherever the area's parts are on the globe."""

import numpy as np
import pyarrow as pa
import pytest
import shapely

from pipeline.errors import ProofFailed
from pipeline.steps.products.zones.central import require_central
from pipeline.steps.products.zones.shapes import Shapes
from pipeline.tables.points import on_sphere

HOME, EAST, WEST = shapely.box(-5, 42, 10, 51), shapely.box(165, -22, 166, -21), shapely.box(-150, -18, -149, -17)
AREAS = {
    "a part across longitude 0, and parts on both sides of 180": ([WEST, HOME, EAST], (353.5 / 137, 6238.5 / 137)),
    "a small part beyond 180": ([shapely.box(-180, 60, -170, 70), shapely.box(100, 60, 180, 70)], (145, 65)),
    "a small part beyond -180": ([shapely.box(175, 50, 180, 51), shapely.box(-180, 50, -165, 51)], (-175, 50.5)),
    "one part around half of the globe": ([shapely.box(-100, -60, 100, 60)], (0, 0)),
    "one part around the globe": ([shapely.box(-180, -90, 180, -60), shapely.box(-179, 0, -178, 1)], (-0.0165, -74.993)),
    "half a turn apart": ([shapely.box(-91, 0, -89, 2), shapely.box(89, 0, 91, 2)], (0, 1)),
}


@pytest.mark.parametrize("name", AREAS)
def test_the_centre_of_parts(name):
    """Points of its parts, at random, are each proved to be nearest, or not, by other formulas."""
    parts, due = AREAS[name]
    shapes = Shapes(None, pa.array([7]), np.array([shapely.MultiPolygon(parts)]))
    (centre,) = shapes.centres(shapes.ids)
    assert np.allclose(centre, on_sphere(*np.transpose([due]))[0], atol=1e-4)
    points = np.concatenate([np.random.default_rng(3).uniform(part.bounds[:2], part.bounds[2:], (9, 2)) for part in parts])
    nearest = np.square(on_sphere(*points.T) - centre).sum(axis=1).argmin()
    given = [7], shapes, np.zeros(len(points), np.int64), points, np.zeros(len(points))
    require_central(*given, np.array([nearest]))
    for other in {*range(len(points))} - {nearest}:
        with pytest.raises(ProofFailed, match="another vertex is nearer"):
            require_central(*given, np.array([other]))
