"""From a city's files to the time to the nearest hospital without a line of one's own: `graphmill init`, then `graphmill run`."""

import csv
import os
import random
import subprocess
import sys
from fractions import Fraction
from pathlib import Path

import networkx
import pandas as pd

SPEEDS = {"50": 50, "30": 30, "80": 80, "50;30": 30, "['80', '60']": 60, "30 mph": Fraction("48.28032"), "": 50, "none": 50}


def terminal(*arguments, cwd):
    """What a command prints, as a user types it."""
    command = [sys.executable, "-m", "pipeline.cli", *arguments]
    env = os.environ | {"PYTHONPATH": str(Path(__file__).parents[3])}
    return subprocess.run(command, cwd=cwd, env=env, check=True, capture_output=True, text=True).stdout


def city(folder):
    """Write a grid of streets, and return it with the exact times."""
    draw, graph, size = random.Random(34), networkx.DiGraph(), 12
    rows = [("u", "v", "length", "maxspeed", "oneway")]
    for place in range(size * size):
        for step in (1, size):
            if place + step < size * size and (step > 1 or (place + 1) % size):
                speed = "50" if len(rows) % 2 else draw.choice([*SPEEDS])  # so that the middle one is 50
                length, oneway = f"{draw.uniform(20, 300):.2f}", draw.choice(["yes", "no", "no", "-1"])
                rows.append((place, place + step, length, speed, oneway))
                time = round(Fraction(length) * 3600 / Fraction(SPEEDS[speed]))
                if oneway != "-1":
                    graph.add_edge(place, place + step, weight=time)
                if oneway != "yes":
                    graph.add_edge(place + step, place, weight=time)
    with (folder / "edges.csv").open("w", newline="") as file:
        csv.writer(file).writerows(rows)
    nodes = pd.DataFrame({"vertex": range(size * size), "population": [draw.randrange(500) for _ in range(size * size)]})
    nodes.assign(x=nodes.vertex % size / 1000, y=nodes.vertex // size / 1000).to_csv(folder / "nodes.csv", index=False)
    return graph


def test_a_city_needs_no_line_of_code(tmp_path):
    graph, hospitals = city(tmp_path), [5, 77, 130]
    (tmp_path / "hospitals.csv").write_text("".join(f"{place}\n" for place in hospitals))
    files = ("--nodes", "nodes.csv", "--coordinates", "nodes.csv", "--nearest", "hospitals.csv")
    said = terminal("init", "edges.csv", *files, cwd=tmp_path)
    assert "weights are travel times, in milliseconds" in said
    assert "rows without a speed get 50 km/h" in said
    assert "milliseconds (travel time), column 'length' (m) over 'maxspeed' (km/h)" in terminal("run", "edges.toml", cwd=tmp_path)
    table = pd.read_parquet(tmp_path / "out" / "edges" / "latest" / "nearest").dropna()  # a vertex may reach no hospital
    times = networkx.multi_source_dijkstra_path_length(graph.reverse(), set(hospitals))
    assert dict(zip(table["vertex"], table["distance"], strict=True)) == times
