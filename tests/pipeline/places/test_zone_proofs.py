"""The proofs of tables by zones refuse other sums, and other zones than those in which vertices are."""

from dataclasses import replace

import h3
import numpy as np
import pyarrow as pa
import pytest
import shapely

from kernels.reductions.groups import GroupSums, by_groups
from pipeline.errors import ProofFailed
from pipeline.steps.products.zones.inside import require_in_cells, require_in_polygons
from pipeline.steps.products.zones.recount import MergedAgain, require_rows, require_trees
from pipeline.steps.products.zones.shapes import Shapes

ZONES, LIMIT = 4, 70


@pytest.fixture(params=["integers", "floats"])
def swept(request):
    """Distances of trees, the zones and weights of their vertices, and what is known of the zones."""
    random = np.random.default_rng(3)
    distances = random.integers(-1, 100, (5, 40)) / (7 if request.param == "floats" else 1)
    distances = distances.astype(np.float64 if request.param == "floats" else np.int32)
    numbers, weights = random.integers(0, ZONES, 40), random.integers(0, 9, 40) / 3
    return distances, numbers, weights, LIMIT, by_groups(distances, numbers, weights, ZONES, LIMIT)


def others(known):
    """Other values of one thing that is known: counts, least distances and sums; of the first tree, and some of another."""
    of_totals = [("counts", 3, 1, 1), *(("sums", 3, 1, entry) for entry in (0, 2, 4))]
    for name, *place in [("least", 0, 1), ("counts", 0, 1, 0), *(("sums", 0, 1, entry) for entry in (0, 2, 4)), *of_totals]:
        values = getattr(known, name).copy()
        values[tuple(place)] += 1
        yield replace(known, **{name: values})


def test_other_sums_of_trees_are_refused(swept):
    *given, known = swept
    require_trees("m", *given, known)
    for other in others(known):
        with pytest.raises(ProofFailed):
            require_trees("m", *given, other)
    moved = replace(known, **{name: np.roll(getattr(known, name), 1, axis=1) for name in ("counts", "least", "sums")})
    with pytest.raises(ProofFailed, match="of zones"):
        require_trees("m", *given, moved)
    for name in ("counts", "least", "sums"):  # of a tree that is not recounted zone by zone
        values = getattr(known, name).copy()
        values[3] = np.roll(values[3], 1, axis=0)
        with pytest.raises(ProofFailed, match="m: "):
            require_trees("m", *given, replace(known, **{name: values}))


def test_other_merged_sums_are_refused(swept):
    *_, known = swept
    groups, weights = np.array([2, 0, 2, 2, 1]), np.array([1.0, 0.5, 0.0, 2.0, 3.0])
    merged = GroupSums.empty((ZONES, ZONES), known.least.dtype)
    again = MergedAgain(merged)
    for part in (slice(0, 2), slice(2, 5)):
        rows = GroupSums(known.counts[part], known.least[part], known.sums[part])
        merged.merge(rows, groups[part], weights[part])
        again.add(rows, groups[part], weights[part])
    again.require_same("m", merged)
    for name in ("counts", "least", "sums"):
        for place in np.argwhere(getattr(merged, name) > 0)[::7].tolist():
            if name != "sums" or place[-1] in (0, 2, 4):
                values = getattr(merged, name).copy()
                values[tuple(place)] += values[tuple(place)] / 100 + 1
                with pytest.raises(ProofFailed):
                    again.require_same("m", replace(merged, **{name: values}))


def test_other_rows_are_refused():
    rows = {"zone": ["a", None, "a", "b", "a"], "rank": [1, 1, 1, 1, 2], "distance": [3, 5, 4, None, 9],
            "weight": [1.0, 2.0, 3.0, 1.0, 0.0]}  # fmt: skip
    stated = {"zone": ["a", "a", "b", None], "rank": [1, 2, 1, 1], "vertices": [2, 1, 1, 1], "unreached": [0, 0, 1, 0],
              "min": [3, 9, None, 5], "mean": [3.5, 9.0, None, 5.0], "weighted_mean": [3.75, None, None, 5.0]}  # fmt: skip
    means = {"mean": ("distance", False), "weighted_mean": ("distance", True)}
    require_rows("n", pa.table(stated), pa.table(rows), means, "vertices")
    for name, column in stated.items():
        for row, value in enumerate(column):
            other = f"{value}x" if name == "zone" else 7 if value is None else value + 1
            changed = stated | {name: [*column[:row], other, *column[row + 1 :]]}
            with pytest.raises(ProofFailed):
                require_rows("n", pa.table(changed), pa.table(rows), means, "vertices")


@pytest.mark.parametrize("resolution", [0, 1, 3, 8, 15])
def test_points_are_in_no_other_cells(resolution):
    random = np.random.default_rng(resolution)
    places = np.stack([random.uniform(-180, 180, 300), np.degrees(np.arcsin(random.uniform(-1, 1, 300)))], axis=1)
    places[:4] = [(np.nan, 1), (0, 90), (180, -90), (-180, 0)]
    pentagons = np.array([h3.cell_to_latlng(cell)[::-1] for cell in h3.get_pentagons(resolution)])
    places[4:200] = pentagons[random.integers(0, 12, 196)] + random.normal(0, 30 / 2.65**resolution, (196, 2)).clip(-20, 20)
    places = np.where(np.abs(places) > (180, 90), 0, places)
    cells, _ = Shapes(resolution).zones_at(places)
    assert cells.to_pylist() == [None, *(h3.latlng_to_cell(y, x, resolution) for x, y in places[1:])]
    for row in range(0, 300, 13):
        names = cells.to_pylist()
        x, y = places[row]
        names[row] = h3.latlng_to_cell(-y, x - 180 if x > 0 else x + 180, resolution) if names[row] else names[1]
        with pytest.raises(ProofFailed):
            require_in_cells(places, resolution, pa.array(names))
    if resolution:
        parents = [name and h3.cell_to_parent(name, resolution - 1) for name in cells.to_pylist()]
        with pytest.raises(ProofFailed):
            require_in_cells(places, resolution, pa.array(parents))


def test_points_are_in_no_cell_beside_theirs():
    """Halfway from the middle of a cell to those of its neighbours the border begins; points of 0.8 are well behind it."""
    cell = h3.latlng_to_cell(47.1, 9.5, 9)
    y, x = h3.cell_to_latlng(cell)
    around = np.array([h3.cell_to_latlng(beside)[::-1] for beside in h3.grid_ring(cell, 1)])
    inner, outer = (np.array([x, y]) + share * (around - [x, y]) for share in (0.4, 0.8))
    require_in_cells(inner, 9, pa.array([cell] * 6))
    for point in outer:
        with pytest.raises(ProofFailed):
            require_in_cells(point[np.newaxis], 9, pa.array([cell]))


def test_points_are_in_no_other_polygons():
    """Stars, one with a hole and one of two parts, that overlap each other; corners and points of sides are on either side."""
    random, areas = np.random.default_rng(5), []
    for x, y in random.uniform(0, 8, (12, 2)):
        turns, reach = np.linspace(0, 2 * np.pi, 30)[:-1], random.uniform(0.4, 2, 29)
        areas.append(shapely.Polygon(np.stack([x + reach * np.cos(turns), y + reach * np.sin(turns)], axis=1)))
    areas[3] = areas[3].difference(shapely.buffer(areas[3].centroid, 0.1))
    areas[4] = shapely.union(areas[4], shapely.box(20, 0, 21, 1))
    areas, ids = np.array(areas), pa.array([f"z{number:02}" for number in range(12)])
    points = np.concatenate([random.uniform(-2, 10, (3000, 2)), shapely.get_coordinates(areas), [[20.5, 0.5], [np.nan, 0]]])
    zones, several = Shapes(None, ids, areas).zones_at(points)
    assert several > 100 and zones.null_count > 100 and zones[3000 + shapely.get_num_coordinates(areas).sum()].as_py() == "z04"
    for row in range(0, 3000, 150):
        names = zones.to_pylist()
        names[row] = "z11" if names[row] != "z11" else None
        with pytest.raises(ProofFailed, match="not in the area"):
            require_in_polygons(points, ids, areas, pa.array(names))


def test_a_point_of_a_border_is_in_a_zone_beside_it_or_the_least_around_it():
    areas = np.array([shapely.box(5, 5, 6, 6), shapely.box(0, 0, 1, 1), shapely.box(1, 0, 2, 1), shapely.box(-1, -1, 3, 3)])
    ids, border = pa.array(["distant", "left", "right", "whole"]), np.array([[1.0, 0.5], [np.nan, np.nan]])
    for name in ("left", "right", "whole"):
        require_in_polygons(border, ids, areas, pa.array([name, None]))
    for names in (["distant", None], [None, None], ["left", "whole"]):
        with pytest.raises(ProofFailed):
            require_in_polygons(border, ids, areas, pa.array(names, pa.string()))
