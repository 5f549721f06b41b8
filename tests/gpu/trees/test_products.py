"""Products on the GPU: the CPU's tables, byte for byte."""

# ruff: noqa: E402  (the imports below need CuPy, and what the pipeline needs in addition)
import numpy as np
import pytest

pytest.importorskip("cupy")
for module in ("fsspec", "pyarrow", "pydantic"):
    pytest.importorskip(module)

import pyarrow as pa
import pyarrow.parquet as pq

from pipeline.config.layout import LayoutConfig
from pipeline.config.products import ProductOptions
from pipeline.config.products.closeness import ClosenessConfig
from pipeline.config.products.flows import FlowsConfig
from pipeline.config.products.isochrones import IsochronesConfig
from pipeline.config.products.matrix import MatrixOptions
from pipeline.config.products.nearest import NearestConfig
from pipeline.ingest import ingest
from pipeline.steps.layout import lay_out
from pipeline.steps.products import closeness, flows, isochrones, matrix, nearest, sweeping, trees
from pipeline.steps.products.isochrones import access, polygons
from pipeline.steps.products.zones.matrix import tabulate_matrix_zones
from pipeline.steps.runtime import Runtime
from tests.pipeline.products.conftest import write_network


@pytest.mark.parametrize(("worth", "unit"), [(1, 1), (1000, 1), (1, 10)], ids=["swept", "searched", "decimals"])
def test_every_product(tmp_path, monkeypatch, worth, unit):
    monkeypatch.setattr(sweeping, "WORTH", worth)
    config = write_network(tmp_path, unit)
    pq.write_table(
        pa.table({"src": [0, 0, 6, 48], "dst": [48, 48, 42, 61], "trips": [0.5, 2.25, 1e-9, 3.0]}), tmp_path / "trips.parquet"
    )
    near = NearestConfig(facilities=str(tmp_path / "facilities.csv"), count=3)
    asked = IsochronesConfig(thresholds=(0, 4, 7), sums=("people", "jobs"))
    decay = {
        "decay": "gravity",
        "alpha": 1.3,
        "least": 2.0,
        "direction": "to",
        "supply": "jobs",
        "demand": "people",
        "buffer": 500.0,
    }
    decaying = IsochronesConfig(thresholds=(4, 7), sums=("people", "jobs"), **decay)
    made = []
    for backend in ("cpu", "gpu"):
        work = tmp_path / backend
        work.mkdir()
        runtime = Runtime(work, backend)
        edges = ingest(config, work)
        graph = lay_out(edges, LayoutConfig(), runtime)
        steps = [
            (closeness.tabulate_closeness, ClosenessConfig()),
            (nearest.tabulate_nearest, near),
            (isochrones.tabulate_isochrones, asked),
            (isochrones.tabulate_reached, asked),
            (polygons.tabulate_polygons, asked),
            (access.tabulate_access, decaying),
            (polygons.tabulate_polygons, decaying),
            (flows.tabulate_flows, FlowsConfig(pairs=str(tmp_path / "trips.parquet"))),
            (flows.tabulate_flows, FlowsConfig(pairs=str(tmp_path / "trips.parquet"), weight="trips", lines=True)),
        ]
        commands = [
            (matrix.tabulate_matrix, [None, np.array([3, 61])], MatrixOptions(output=work / "m", cutoff=9)),
            (matrix.tabulate_matrix, [None, np.array([24])], MatrixOptions(output=work / "s", proof="sample")),
            (trees.tabulate_trees, [np.array([0, 60])], ProductOptions(output=work / "trees")),
        ]
        made.append([step(edges, graph, table, runtime) for step, table in steps])
        made[-1] += [step(graph, vertices, options, runtime) for step, vertices, options in commands]
        by_zones = MatrixOptions(output=work / "z", zone="people", zone_weight="jobs")
        made[-1].append(tabulate_matrix_zones(edges, graph, [None, None], by_zones, runtime))
    for here, there in zip(*made, strict=True):
        assert here.manifest.files == there.manifest.files, here.manifest.step
        assert (here.facts["backend"], there.facts["backend"]) == ("cpu", "gpu")
