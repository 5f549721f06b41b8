"""Paths on a split graph on the GPU: the CPU's tables, byte for byte."""

# ruff: noqa: E402  (the imports below need CuPy, and what the pipeline needs in addition)
import pytest

pytest.importorskip("cupy")
for module in ("osmium", "pyarrow", "pydantic"):
    pytest.importorskip(module)

from pipeline.tables import files as tables
from tests.ingest.osm.extracts import write
from tests.pipeline.turns.router import town
from tests.pipeline.turns.test_restrictions import published

TABLES = "bfs", "sssp", "closeness", "flows", "isochrone_vertices"


def test_the_tables_are_those_of_a_cpu(tmp_path):
    nodes, ways, turns = town(4, size=4)
    extract, made = write(tmp_path / "a.osm.pbf", nodes, ways, turns=turns), []
    for backend in ("cpu", "gpu"):
        folder = tmp_path / backend
        folder.mkdir()
        products = {"closeness": {}, "flows": {}, "isochrones": {"thresholds": [50_000], "direction": "to", "vertices": True}}
        run = published(folder, extract, osm={"turns": {"left": 5}}, sources=[1, 6], backend=backend, **products)
        made.append({name: tables.read(run.path / name) for name in TABLES})
    for name in TABLES:
        assert made[0][name].equals(made[1][name]), name
