"""The rates of estimates: every step has one, and workers, shards, floats and slow cores count."""

from dataclasses import replace
from functools import partial

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from benchmarks.runs.rate_cases import RateCase, grid
from kernels.algorithm import TYPICAL, Costs
from kernels.registry import ALGORITHMS, BY_NAME
from pipeline.config.loading import run_config
from pipeline.inspection import speed
from pipeline.inspection.estimate import estimate
from pipeline.inspection.memory import memory_of
from pipeline.inspection.seconds import Work, seconds_of
from pipeline.inspection.sizes import GraphSizes
from pipeline.registry.graph import GRAPH_TABLES
from pipeline.registry.products import PRODUCTS
from pipeline.registry.stages import STAGES
from pipeline.run import run
from pipeline.runtime import memory
from pipeline.store.facts.run import RunFacts


@pytest.fixture
def graph(tmp_path):
    vertices = np.arange(10_000)
    pq.write_table(pa.table({"src": vertices, "dst": vertices + 1}), tmp_path / "path.parquet")
    return {"source": str(tmp_path / "path.parquet")}


def test_a_hierarchy_takes_longer_the_more_arcs_lie_beyond_a_tree(tmp_path):
    pq.write_table(pa.table({"src": [0], "dst": [1]}), tmp_path / "g.parquet")
    config = run_config("test", graph={"source": str(tmp_path / "g.parquet")}, output=tmp_path, stages=["wcc"], backend="cpu")
    few, some, many = (Work(config, "cpu", 0.3, arcs).of_hierarchy() for arcs in (0.3, 0.7, 1.1))
    assert 0 < few < some < many
    assert many == pytest.approx(2 * Work(config, "cpu", 0.3, 1.1, cores=4).of_hierarchy())


def test_every_stage_and_product_has_its_own_rates():
    """A new entry of a registry states `costs`, or `cpu` and `tree_memory`, which `python -m benchmarks.runs.rates` measures."""
    assert not [stage.name for stage in ALGORITHMS if stage.costs.cpu == TYPICAL or stage.costs.memory == Costs().memory]
    assert not [table.name for table in GRAPH_TABLES.values() if table.costs.cpu == TYPICAL]
    asked_by_runs = [product for product in PRODUCTS.values() if product.configuration]
    assert not [product.name for product in asked_by_runs if not (product.cpu and product.tree_memory)]


def test_every_step_of_a_run_is_estimated_and_measured(tmp_path):
    """Also those of queries, places and names; the benchmark asks for each stage, product and table."""
    (tmp_path / "people.csv").write_text("src,dst\nana,ben\nben,cy\ncy,ana\n")
    (tmp_path / "points.csv").write_text("vertex,x,y\nana,8.1,53\nben,8.2,53\ncy,8.3,53\n")
    (tmp_path / "homes.csv").write_text("id,lon,lat\nA,8.1,53\n")
    pq.write_table(pa.table({"src": ["ana"], "dst": ["cy"]}), tmp_path / "pairs.parquet")
    pairs, homes = {"pairs": str(tmp_path / "pairs.parquet")}, str(tmp_path / "homes.csv")
    config = run_config(
        "all", graph={"source": str(tmp_path / "people.csv"), "coordinates": str(tmp_path / "points.csv")}, backend="cpu",
        output=tmp_path / "out", stages=["bfs", "reachability", "max_flow"], queries=pairs | {"witness": True}, named=True,
        max_flow=pairs, nearest={"facilities": homes}, changes={"tables": True}, arcs=True,
    )  # fmt: skip
    found = estimate(config)
    made = {step.removeprefix("proof-").partition("-")[0] for step in RunFacts.of(run(config)).steps}
    derived = {table.name for stage in STAGES.values() for table in stage.tables} | {"reachability_index", "wcc"}
    assert made - derived <= {*found.seconds} and {"places", "named", "paths"} <= made
    assert estimate(config).as_before is False  # change tables were not made, as there was no run before
    again = run_config("all", **config.model_dump(exclude={"changes"}, exclude_unset=True))
    assert estimate(again).as_before
    assert {step for step, _ in RateCase("g", grid, False, small=True).asked(tmp_path)} >= {
        *BY_NAME, *GRAPH_TABLES, *(name for name, product in PRODUCTS.items() if product.configuration), "reached", "paths"
    }  # fmt: skip


def test_workers_and_shards_have_memory_of_their_own(graph, tmp_path):
    config = partial(run_config, "test", graph=graph, output=tmp_path / "out", stages=["mst", "bfs"], backend="cpu")
    shape, here = memory.Shape(10**7, 10**6, 4, False), {"scheduler": "local", "workers": 4}
    alone, whole, divided = (memory_of(config(cluster=cluster), "cpu", shape, False, {}) for cluster in (
        {}, here, here | {"shards": 4}
    ))  # fmt: skip
    assert alone.workers == 0 and alone.total == alone.own
    assert whole.workers == divided.workers == 4 and whole.total == whole.own + 4 * whole.each
    assert whole.mapped > divided.mapped >= divided.each and divided.own < whole.own
    twice = memory_of(config(cluster=here | {"shards": 8}), "cpu", shape, False, {})
    assert twice.each == pytest.approx(divided.each)  # two ranks of half the size on each
    larger = memory_of(config(cluster=here | {"shards": 4}), "cpu", replace(shape, vertices=2 * 10**7), False, {})
    assert larger.own > divided.own + 16 * 10**7  # the report has columns of a table, of 8 bytes


def test_memory_depends_on_what_is_read_and_on_what_is_free(graph, tmp_path, monkeypatch):
    """A process keeps what reading took while memory is plentiful, and returns it otherwise."""
    config = run_config("test", graph=graph, output=tmp_path / "out", stages=["mst", "bfs"], backend="cpu")
    shape, found = memory.Shape(4 * 10**6, 10**5, 4, False), {}
    for free in (2**40, 10**8):
        monkeypatch.setattr(memory, "free_memory", lambda _="cpu", free=free: free)
        monkeypatch.setattr("pipeline.inspection.memory.free_memory", lambda _="cpu", free=free: free)
        found[free] = [memory_of(config, "cpu", shape, False, {}, group).own for group in (2**16, 2**20)]
    assert found[2**40][1] > found[2**40][0] + 10 * 2**20 and found[10**8][0] == found[10**8][1]


@pytest.mark.parametrize("osm", [{}, {"restrictions": False}, {"restrictions": False, "turns": {"left": 5}}])
def test_turns_take_steps_of_their_own(graph, tmp_path, osm):
    config = run_config("test", graph=graph | {"osm": osm}, output=tmp_path, stages=["bfs"], backend="cpu")
    streets = GraphSizes(10**6, 4 * 10**5, 4, False, True, False, True, "counted", roads=True)
    seconds, plain = (seconds_of(Work(config, "cpu", 0.4, 1.0), of, False, {}) for of in (streets, replace(streets, roads=False)))
    more = set(seconds) - set(plain)
    assert more == (set() if osm == {"restrictions": False} else {"split", "turned"})
    assert more == set() or seconds["split"] > (10 if "turns" in osm else 2) > seconds["turned"]


def test_a_slow_core_takes_longer(graph, tmp_path, monkeypatch):
    config, found = run_config("test", graph=graph, output=tmp_path / "out", stages=["wcc"], backend="cpu"), []
    for slowness in (1.0, 2.0):
        monkeypatch.setattr("pipeline.inspection.estimate.slowness", lambda slowness=slowness: slowness)
        found.append(estimate(config).total)
    assert found[1] == pytest.approx(2 * found[0])
    assert 0.25 <= speed.slowness() <= 4 and speed.slowness() == speed.slowness()
