"""The map of isochrones, and the marks of places on maps: read back from the pixels and the page."""

import re

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from matplotlib.colors import to_rgb

from pipeline.config.run import RunConfig
from pipeline.report import maps
from pipeline.report.reading import Coordinates
from pipeline.run import run
from tests.pipeline.report.pictures import image
from tests.reports import Page

SIDE = 9
MAP = re.compile(r'<figure class="map">\s*<figcaption><b>([^<]*)</b></figcaption>(.*?)</figure>', re.DOTALL)


def page_of(folder, sources, middle=(7.0, 47.0), **asked):
    """The page of a grid of streets around a place; vertex 10 y + x is at (x, y) hundredths of a degree from its corner."""
    folder.mkdir(exist_ok=True)
    ids = {(x, y): 10 * y + x for x in range(SIDE) for y in range(SIDE)}
    arcs = [(ids[x, y], ids[to]) for x, y in ids for to in ((x + 1, y), (x, y + 1)) if to in ids]
    pq.write_table(pa.table({"src": [a for a, _ in arcs], "dst": [b for _, b in arcs]}), folder / "e.parquet")
    places = [
        (vertex, (middle[0] + (x - SIDE // 2) / 100 + 180) % 360 - 180, middle[1] + y / 100) for (x, y), vertex in ids.items()
    ]
    (folder / "xy.csv").write_text("vertex,x,y\n" + "".join(f"{v},{x!r},{y!r}\n" for v, x, y in places))
    (folder / "from.txt").write_text("".join(f"{source}\n" for source in sources))
    graph = {"source": str(folder / "e.parquet"), "coordinates": str(folder / "xy.csv"), "directed": False}
    content = {key: {**table, "sources": str(folder / "from.txt")} for key, table in asked.items() if key == "isochrones"}
    content |= {"nearest": {"facilities": str(folder / "from.txt")}} if "nearest" in asked else {}
    if not sources:
        content["isochrones"].pop("sources")
    made = run(RunConfig(graph=graph, output=folder / "out", stages=["wcc"], backend="cpu", **content))
    return Page((made.path / "report.html").read_text("utf-8"))


def isochrone_map(page):
    """The picture, its part of the page, and the colours of its bar on a light page, in per cent."""
    names = [name for name, _ in MAP.findall(page.html)]
    number = names.index("Isochrones")
    part = MAP.findall(page.html)[number][1]
    (bar,) = re.findall(r'class="colours light" style="background: linear-gradient\(to right, ([^"]*)\)"', part)
    colours = [step.split(" ") for step in bar.split(", ")]
    return picture(page, number), part, colours


def picture(page, number):
    found = Page(page.html)
    found.tags = [tag for tag in page.tags if tag[0] == "img"][number : number + 1]
    return image(found)[0]


def at(pixels, x, y):
    """The row and the column of a point of the grid."""
    height, width, _ = pixels.shape
    across, down = (side - 2 * maps.MARGIN for side in (width, height))
    return round(maps.MARGIN + down * (1 - y / (SIDE - 1))), round(maps.MARGIN + across * x / (SIDE - 1))


def at_vertex(pixels, x, y):
    """The colour of a vertex's lines: that of the most opaque pixel near it."""
    row, column = at(pixels, x, y)
    near = pixels[row - 2 : row + 3, column - 2 : column + 3].reshape(-1, 4)
    return near[near[:, 3].argmax()]


@pytest.mark.parametrize(
    "middle", [(7.0, 0.0), (180.0, -0.05), (-179.97, -0.04)], ids=["inland", "on the meridian", "beyond the meridian"]
)
def test_vertices_have_the_colour_of_the_smallest_threshold_that_they_are_within(tmp_path, middle):
    page = page_of(tmp_path, [0, 88], middle, isochrones={"thresholds": [1, 3, 4], "vertices": True})
    pixels, part, colours = isochrone_map(page)
    assert [(begin, end) for _, begin, end in colours] == [("0%", "33.33%"), ("33.33%", "66.67%"), ("66.67%", "100.0%")]
    assert re.findall(r'<span[^>]*left: [\d.]+%">([\d,]+)</span>', part) == ["0", "1", "3", "4"]
    assert ">within, arcs<" in part
    for vertex, step in (((0, 0), 0), ((1, 0), 0), ((2, 0), 1), ((1, 2), 1), ((3, 1), 2), ((7, 7), 1), ((8, 7), 0), ((5, 7), 2)):
        shown = np.array(at_vertex(pixels, *vertex)[:3]) / 255
        assert np.abs(shown - to_rgb(colours[step][0])).max() < 0.02, (vertex, step)
    grey = at_vertex(pixels, 4, 4)[:3].astype(int)
    assert np.ptp(grey) < 20  # within nothing
    marks = re.findall(r'class="marker[^"]*" style="left: ([\d.]+)%; top: ([\d.]+)%"><span>([^<]*)</span>', part)
    assert [text for _, _, text in marks] == ["source 0", "source 88"]
    assert [float(left) < 50 for left, _, _ in marks] == [True, False]
    assert [float(top) > 50 for _, top, _ in marks] == [True, False]


def test_areas_are_filled_below_the_lines(tmp_path):
    page = page_of(tmp_path, [44], isochrones={"thresholds": [2, 4], "polygons": True})
    pixels, part, colours = isochrone_map(page)
    assert "areas are filled" in part
    # Between the streets, half a street from the source, and beyond the largest threshold.
    for (x, y), colour in (((4.5, 4.25), colours[0][0]), ((3.25, 2.5), colours[1][0]), ((1.2, 1.2), None)):
        red, green, blue, opacity = pixels[at(pixels, x, y)]
        if colour is None:
            assert opacity == 0
        else:
            assert 0 < opacity < 100
            assert np.abs(np.array([red, green, blue]) / 255 - to_rgb(colour)).max() < 0.02


def test_areas_that_are_empty_are_counted(tmp_path):
    """Those of the source alone."""
    page = page_of(tmp_path / "empty", [44], isochrones={"thresholds": [0, 4], "polygons": True})
    assert "2 areas, 1 of them without a triangle of vertices; with buffer below [isochrones] they are" in page.text
    page = page_of(tmp_path / "full", [44], isochrones={"thresholds": [0, 4], "polygons": True, "buffer": 100})
    assert "2 areas" in page.text and "without a triangle" not in page.text


def test_without_vertices_or_areas_the_report_says_how_to_get_the_map(tmp_path):
    page = page_of(tmp_path / "few", [44], isochrones={"thresholds": [2]})
    assert "Isochrones" not in [name for name, _ in MAP.findall(page.html)]
    assert "With vertices = true or polygons = true below [isochrones] there is a map" in page.text
    page = page_of(tmp_path / "all", [], isochrones={"thresholds": [2], "vertices": True})
    assert [name for name, _ in MAP.findall(page.html)] == ["Vertices within 2 (arcs)"]
    assert "below [isochrones]" not in page.text


@pytest.mark.parametrize("count", [1, 12, 13, 81])
def test_facilities_are_marked_and_named_if_they_are_few(tmp_path, count):
    facilities = [10 * (number // SIDE) + number % SIDE for number in range(count)]
    ((name, part),) = MAP.findall(page_of(tmp_path, facilities, nearest={}).html)
    assert name == "Distance to the nearest facility"
    assert len(re.findall(r'class="marker', part)) == count
    assert re.findall(r"<span>facility (\d+)</span>", part) == ([str(one) for one in facilities] if count <= 12 else [])


def test_a_network_across_the_meridian_is_drawn_in_one_piece():
    x = np.array([179.9, -179.9, -179.8])
    projection = maps.project(Coordinates(np.array([1, 2, 3]), x, np.array([-16.0, -16.0, -16.1])))
    assert projection.x[2] - projection.x[0] == pytest.approx(1.5 * (projection.x[1] - projection.x[0]))
    assert projection.km_per_pixel * maps.LONG_SIDE < 35
    pixels = projection.pixels(np.stack([x, [-16.0, -16.0, -16.1]], axis=1))
    np.testing.assert_allclose(pixels[:1], np.stack([projection.x, projection.y], axis=1)[:1], atol=1e-6)


def test_areas_on_both_sides_of_the_cut_of_a_map_are_covered_once():
    """The map begins at 100 degrees; one area crosses that line, another one the meridian."""
    projection = maps.Projection(np.arange(2), np.zeros(2), np.zeros(2), 360, 40, None, 0.0, (100.0, 20.0), (1.0, -1.0), 100.0)
    parts = [(90.0, 110.0), (170.0, 180.0), (-180.0, -175.0)]
    polygons = [[np.array([[west, 0.0], [east, 0.0], [east, 10.0], [west, 10.0], [west, 0.0]])] for west, east in parts]
    columns = np.flatnonzero(maps.covered(projection, [polygons])[15])
    expected = {*range(11), *range(70, 86), *range(350, 360)}
    assert {*columns.tolist()} == expected


def test_islands_in_holes_are_covered():
    projection = maps.Projection(np.arange(2), np.zeros(2), np.zeros(2), 30, 30, None, 0.0, (0.0, 30.0), (1.0, -1.0))

    def square(low, high):
        return np.array([[low, low], [high, low], [high, high], [low, high], [low, low]], np.float64)

    found = maps.covered(projection, [[[square(13, 17)], [square(2, 28), square(8, 22)]]])
    row = found[15]
    assert [bool(row[at]) for at in (0, 4, 10, 15, 20, 25, 29)] == [False, True, False, True, False, True, False]


def test_rings_are_read_as_they_are_written():
    from pipeline.steps.products.isochrones.triangles import _multipolygon

    rings = [
        [np.array([[0.0, 0.0], [9.0, 0.0], [9.0, 9.0]]), np.array([[2.0, 1.0], [2.0, 2.0], [3.0, 2.0]])],
        [np.eye(3, 2)[::-1]],
    ]
    for polygon, expected in zip(maps.rings_of(_multipolygon(rings)), rings, strict=True):
        assert [ring[:-1].tolist() for ring in polygon] == [ring.tolist() for ring in expected]
