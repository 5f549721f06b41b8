"""A run that publishes every table, of a graph whose ids are strings."""

import random

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from pipeline.config.loading import run_config
from pipeline.run import run

SIDE = 6
STAGES = [
    "bfs", "sssp", "mst", "wcc", "scc", "pagerank", "reachability", "betweenness", "edge_betweenness", "communities",
    "closure", "max_flow", "cores", "cdlp", "triangles", "lcc",
]  # fmt: skip


def name(vertex):
    return f"n{vertex // SIDE}-{vertex % SIDE}"


@pytest.fixture(scope="session")
def everything(tmp_path_factory):
    """The folder of the run: a grid of streets, some of them one-way, with names, coordinates and people."""
    folder, draw = tmp_path_factory.mktemp("everything"), random.Random(5)
    arcs = []
    for vertex in range(SIDE * SIDE):
        for other in ([vertex + 1] if (vertex + 1) % SIDE else []) + ([vertex + SIDE] if vertex + SIDE < SIDE * SIDE else []):
            ways = [(vertex, other), (other, vertex)][: draw.randint(1, 2)]
            arcs += [f"{name(src)},{name(dst)},{draw.randint(1, 9)}\n" for src, dst in ways]
    (folder / "streets.csv").write_text("src,dst,weight\n" + "".join([*arcs, "n0-0,,5\n"]))
    rows = (
        f"{name(v)},{v % SIDE / 100},{v // SIDE / 100},{v},{'east' if v % SIDE > 2 else 'west'}\n" for v in range(SIDE * SIDE)
    )
    (folder / "nodes.csv").write_text("vertex,x,y,people,district\n" + "".join(rows))
    (folder / "places.csv").write_text("id,name,vertex,lon,lat\nA,Anna,n0-0,0,0\nB,,n0-0,,\nC,Cora,n3-2,,\n")
    (folder / "some.txt").write_text("".join(f"{name(vertex)}\n" for vertex in (0, 7, 20)))
    pairs = {end: [name(vertex) for vertex in ends] for end, ends in (("src", (0, 3, 35)), ("dst", (35, 8, 0)))}
    pq.write_table(pa.table(pairs), folder / "pairs.parquet")
    graph = {"source": str(folder / "streets.csv"), "coordinates": str(folder / "nodes.csv"), "nodes": str(folder / "nodes.csv")}
    some, pairs_file = str(folder / "some.txt"), str(folder / "pairs.parquet")
    asked = {
        "sources": [name(0), name(7)], "stages": STAGES, "named": True, "queries": {"pairs": pairs_file, "witness": True},
        "max_flow": {"pairs": pairs_file},
        "nearest": {"facilities": str(folder / "places.csv"), "count": 2, "zone": "district", "zone_weight": "people"},
        "closeness": {}, "flows": {"lines": True}, "reject": {"limit": 1},
        "isochrones": {
            "thresholds": [5, 12], "sums": ["people"], "supply": "people", "demand": "people", "direction": "to",
            "sources": some, "vertices": True, "polygons": True, "zone": "h3:7", "zone_weight": "people",
        },
    }  # fmt: skip
    return run(run_config("test", graph=graph, output=folder / "out", **asked)).path
