"""A run with every product over a small network with an island, one-way streets, ties, attributes and coordinates."""

from pathlib import Path

import networkx as nx
import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from pipeline.config.graph import GraphConfig
from pipeline.config.run import RunConfig
from pipeline.run import run
from pipeline.store.manifest import Folder

FACILITIES = [7, 20, 21, 33, 44]
SIDE = 7


def network() -> nx.DiGraph:
    """A grid of 49 crossings, ids 0 to 48, of which some streets are one-way, and an island of two."""
    random = np.random.default_rng(4)
    found = nx.DiGraph()
    for row, column in np.ndindex(SIDE, SIDE):
        here = SIDE * row + column
        for there in ([here + 1] if column < SIDE - 1 else []) + ([here + SIDE] if row < SIDE - 1 else []):
            weight = int(random.integers(1, 4))
            found.add_edge(here, there, weight=weight)
            if random.random() < 0.8:
                found.add_edge(there, here, weight=weight)
    found.add_edge(60, 61, weight=2)
    return found


def write_network(folder: Path, unit: int = 1) -> GraphConfig:
    """Its files: edges, whose weights are in such a `unit`, coordinates, and people and jobs of the crossings."""
    arcs = [(src, dst, data["weight"] if unit == 1 else data["weight"] / unit) for src, dst, data in network().edges(data=True)]
    pq.write_table(
        pa.table(dict(zip(("src", "dst", "weight"), map(list, zip(*arcs, strict=True)), strict=True))), folder / "e.parquet"
    )
    (folder / "nodes.csv").write_text(
        "vertex,people,jobs\n" + "".join(f"{v},{v % 5},{'' if v == 3 else v / 10}\n" for v in range(SIDE**2))
    )
    (folder / "places.csv").write_text("vertex,x,y\n" + "".join(f"{v},{v % SIDE},{v // SIDE}\n" for v in range(SIDE**2)))
    (folder / "facilities.csv").write_text("facility\n" + "".join(f"{v}\n" for v in FACILITIES))
    names = {"source": "e.parquet", "nodes": "nodes.csv", "coordinates": "places.csv"}
    return GraphConfig(**{key: str(folder / name) for key, name in names.items()}, directed=True)


@pytest.fixture(scope="session")
def published(tmp_path_factory) -> Folder:
    """The run."""
    folder = tmp_path_factory.mktemp("products")
    graph, facilities = write_network(folder), str(folder / "facilities.csv")
    pq.write_table(pa.table({"src": [0, 0, 6, 48], "dst": [48, 48, 42, 0]}), folder / "trips.parquet")
    thresholds = {"thresholds": [0, 4, 7], "sums": ["people", "jobs"], "vertices": True, "polygons": True}
    return run(
        RunConfig(
            graph=graph,
            output=folder / "out",
            stages=["wcc"],
            nearest={"facilities": facilities, "count": 3},
            isochrones=thresholds,
            closeness={},
            flows={"pairs": str(folder / "trips.parquet")},
            backend="cpu",
        )
    )
