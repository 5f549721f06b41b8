"""A transport analyst: crossings, streets, hospitals and people as CSV files; travel times, sums and areas by hospital."""

import csv
import random
from fractions import Fraction

import duckdb
import networkx
import pytest
import shapely

from tests.browser.chromium import BROWSER
from tests.trial.windows import in_browser, window

SIDE = 14
HOSPITALS = {"H1": ("Städtisches Klinikum", 3, 4), "H2": ("St. Vincentius", 10, 11), "H3": ("Diakonissen", 10, 11)}
SPEEDS = {"50": 50, "30": 30, "30 mph": Fraction(3 * 1609344, 100_000), "": 50, "none": 50}  # km/h; the middle one is 50
THRESHOLDS = (60_000, 150_000)


def place(vertex):
    return 8.4 + vertex % SIDE * 0.002, 49 + vertex // SIDE * 0.0014


def write_files(folder):
    """The four files, and the streets as NetworkX has them, with times in milliseconds; and the people at each crossing."""
    draw, streets = random.Random(3), networkx.DiGraph()
    with (folder / "edges.csv").open("w", newline="") as file:
        rows = csv.writer(file)
        rows.writerow(["source", "target", "length", "maxspeed", "oneway", "name"])
        for vertex in range(SIDE * SIDE):
            for other in [vertex + 1] * (vertex % SIDE < SIDE - 1) + [vertex + SIDE] * (vertex + SIDE < SIDE * SIDE):
                speed, oneway = draw.choice(["50", "50", "50", *SPEEDS]), draw.choice(["no", "", "no", "yes", "-1"])
                length = f"{draw.randint(100, 200)}.{draw.randint(0, 99)}"
                rows.writerow([100 + vertex, 100 + other, length, speed, oneway, f"Allee {vertex}, Ost"])
                time = round(Fraction(length) * 3600 / SPEEDS[speed])  # half to even, as documented
                for src, dst in [(vertex, other)] * (oneway != "-1") + [(other, vertex)] * (oneway != "yes"):
                    streets.add_edge(100 + src, 100 + dst, weight=time)
    with (folder / "nodes.csv").open("w", newline="") as nodes, (folder / "population.csv").open("w", newline="") as counts:
        csv.writer(nodes).writerows([["id", "lon", "lat"], *([100 + v, *place(v)] for v in range(SIDE * SIDE))])
        people = {100 + vertex: draw.randint(0, 400) for vertex in range(SIDE * SIDE)}
        csv.writer(counts).writerows([["id", "people"], *people.items()])
    with (folder / "hospitals.csv").open("w", newline="", encoding="utf-8") as file:
        at = [[key, name, *place(column + row * SIDE), 100] for key, (name, column, row) in HOSPITALS.items()]
        csv.writer(file).writerows([["id", "name", "lon", "lat", "beds"], *at])
    return streets, people


@pytest.fixture(scope="module")
def trial(tmp_path_factory):
    """What the analyst has before and after four commands, and what these printed."""
    folder = tmp_path_factory.mktemp("planner")
    streets, people = write_files(folder)
    with window(folder) as shell:
        beside = "--coordinates nodes.csv --nodes population.csv --nearest hospitals.csv --isochrones 1min,2.5min"
        printed = [shell.type(f"graphmill init edges.csv {beside} --stages bfs,wcc")]
        printed += [shell.type(f"graphmill {command} edges.toml") for command in ("check", "estimate", "run")]
        printed.append(shell.type("graphmill matrix out/edges --sources hospitals.csv --targets hospitals.csv --out out/between"))
        return folder, streets, people, printed, shell.screen


def rows(folder, query):
    return duckdb.sql(query.replace("out/", f"{folder}/out/")).fetchall()


def test_every_command_says_what_the_next_one_does(trial):
    _, _, _, (began, checked, estimated, ran, _), screen = trial
    assert "graphmill check " in began and "graphmill run " in began
    assert "coordinates  nodes.csv: vertex id, x lon, y lat" in began
    assert "rows without a speed get 50 km/h" in began
    assert "the graph is valid" in checked and "hospitals.csv" in checked
    assert "whole run" in estimated and "memory" in estimated
    assert f"{SIDE * SIDE} vertices" in ran and "every answer proved" in ran
    assert "isochrone_polygons" in ran and "report.html" in ran
    assert any("\x1b[" in line or "\r" in line for line in screen)  # a terminal shows what a run does at the moment


def test_travel_times_by_the_name_of_the_hospital(trial):
    folder, streets, *_ = trial
    at = {name: 100 + column + row * SIDE for name, column, row in HOSPITALS.values()}
    away = streets.reverse()
    to = {name: networkx.single_source_dijkstra_path_length(away, vertex) for name, vertex in at.items()}
    found = rows(folder, "SELECT vertex, facility_place_name, distance FROM 'out/edges/latest/nearest/*.parquet'")
    assert len(found) == SIDE * SIDE
    for vertex, name, distance in found:
        assert distance == min((times[vertex] for times in to.values() if vertex in times), default=None), vertex
        assert name is None if distance is None else to[name][vertex] == distance
    assert {name for _, name, _ in found} - {None} == {"Städtisches Klinikum", "St. Vincentius"}  # the third is at the second's
    between = rows(folder, "SELECT source_place_name, target_place_name, distance FROM 'out/between/*.parquet'")
    assert len(between) == len(at) ** 2
    assert all(distance == to[target].get(at[source]) for source, target, distance in between)


def test_people_and_areas_within_times_of_each_hospital(trial):
    folder, streets, people, *_ = trial
    away = streets.reverse()
    found = rows(folder, "SELECT source_place, threshold, vertices, people FROM 'out/edges/latest/isochrones/*.parquet'")
    expected = []
    for key, (_, column, row) in HOSPITALS.items():
        times = networkx.single_source_dijkstra_path_length(away, 100 + column + row * SIDE)
        for threshold in THRESHOLDS:
            within = [vertex for vertex, time in times.items() if time <= threshold]
            expected.append((key, threshold, len(within), sum(map(people.get, within))))
    assert sorted(found) == sorted(expected)
    query = "SELECT source_place, threshold, geometry::VARCHAR FROM 'out/edges/latest/isochrone_polygons/*.parquet'"
    areas = rows(folder, query)
    shapes = {(key, threshold): shapely.from_wkt(text) for key, threshold, text in areas}
    assert len(shapes) == len(HOSPITALS) * len(THRESHOLDS)
    for key, (_, column, row) in HOSPITALS.items():
        small, large = (shapes[key, threshold] for threshold in THRESHOLDS)
        assert 0 < small.area < large.area and large.buffer(1e-9).contains(small)
        assert large.intersects(shapely.Point(*place(column + row * SIDE)))


@pytest.mark.skipif(BROWSER is None, reason="no chromium, chromium-browser or google-chrome on the PATH")
def test_the_report_in_a_browser_names_hospitals_and_draws_areas(trial, tmp_path):
    folder, *_ = trial
    words, pictures = in_browser(folder / "out" / "edges" / "latest" / "report.html", tmp_path)
    assert "Städtisches Klinikum" in words and "milliseconds" in words and "people" in words
    assert pictures > 3
