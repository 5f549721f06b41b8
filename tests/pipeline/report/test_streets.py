"""Maps of road networks: streets along their lines."""

import numpy as np

from pipeline.config.loading import run_config
from pipeline.report import maps, reading
from pipeline.report.atlas import Atlas
from pipeline.report.raster import draw_polylines
from pipeline.report.streets import DrawnStreets
from pipeline.run import run
from pipeline.store import manifest
from pipeline.tables import files as tables
from tests.ingest.osm.extracts import Node, Way, write

# A street from 1 to 4 makes a detour by the south; another one is straight.
NODES = [Node(1, 9.50, 47.10), Node(2, 9.50, 47.05), Node(3, 9.60, 47.05), Node(4, 9.60, 47.10), Node(5, 9.50, 47.20)]


def test_streets_and_the_forest_follow_their_lines(tmp_path):
    path = write(tmp_path / "town.osm.pbf", NODES, [Way(10, [1, 2, 3, 4]), Way(11, [1, 5])])
    made = run(
        run_config("test", graph={"source": str(path), "osm": {"profile": "car"}}, output=tmp_path / "out", stages=["mst"])
    )
    edges, graph, answer = (manifest.read(tmp_path / "out" / "steps" / name) for name in ("edges", "graph", "mst"))
    streets = DrawnStreets.of(edges, graph)
    coordinates = reading.coordinates(edges)
    atlas = Atlas(graph, coordinates, reading.VertexColumns(graph).ids, 1, streets=streets)
    projection = maps.project(coordinates)
    for drawn in (streets.network(projection), streets.edges(projection, tables.read(answer.path))):
        covered = drawn.entries != drawn.nothing
        # on the detour, on the other street, and on the straight line between both ends of the detour
        places = np.array([[9.60, 47.099], [9.50, 47.15], [9.55, 47.10]])
        fine = np.rint(projection.pixels(places) * maps.FINE).astype(int).tolist()
        assert [bool(covered[y - 2 : y + 3, x - 2 : x + 3].any()) for x, y in fine] == [True, True, False]
        assert drawn.edges == 2 and drawn.left_out == 0
    assert "2 streets of the graph drawn along their lines" in atlas.note
    page = (made.path / "report.html").read_text()
    assert "drawn along their lines" in page and len(page) < 2_000_000


def test_each_half_of_a_street_has_the_number_of_its_end():
    plane = np.full((5, 9), 9)
    x, y = np.array([0, 4, 4, 20]), np.array([0, 0, 4, 4])  # the last point is outside
    draw_polylines(plane, x, y, np.array([0, 4]), np.array([3]), np.array([7]))
    assert plane[0, :5].tolist() == [3] * 5 and plane[:, 4].tolist() == [3] * 5 and plane[4, 4:].tolist() == [3] * 5
    draw_polylines(plane, x[:3], y[:3], np.array([0, 3]), np.array([1]), np.array([2]))
    assert plane[0, :5].tolist() == [1] * 5 and plane[1:, 4].tolist() == [2] * 4
