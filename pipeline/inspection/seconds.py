"""Seconds of the steps of a run, by the rates of `rates` and of the registries."""

import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from kernels.algorithm import Costs, Rate
from kernels.registry import BY_NAME
from pipeline.config.products.zones import names_cells
from pipeline.config.run import RunConfig
from pipeline.inspection import rates
from pipeline.inspection.products import (
    TreesOfProduct,
    answers_of,
    are_swept,
    rows_of_file,
    rows_of_pairs,
    searches_of,
    sources_of,
)
from pipeline.inspection.sizes import GraphSizes
from pipeline.registry.graph import GRAPH_TABLES
from pipeline.registry.products import PRODUCTS
from pipeline.runtime.backend import Backend
from pipeline.steps.parallel import STEP as MERGED
from pipeline.steps.places.files import has_places
from pipeline.steps.turns import SPLIT, TURNED
from pipeline.store.deltas import ATTACHED

HIERARCHY = "hierarchy"  # built by the first product that sweeps it
NAMED = "named"  # tables with names


@dataclass(frozen=True)
class Work:
    """What steps compute on, and with what.

    Attributes:
        vertices, arcs: In millions.
        floats: Whether weights are floats that are not counted as integers.
        cores, slowness: Those of a CPU, and how many times as long one takes as the one of the rates.
    """

    config: RunConfig
    backend: Backend
    vertices: float
    arcs: float
    floats: bool = False
    cores: int = 1
    slowness: float = 1.0

    def seconds(self, rate: Rate, vertices: float, arcs: float, count: float = 1.0) -> float:
        """Seconds for amounts in millions, `count` times; a stage uses cores about as their square root."""
        rest = count * (rate[1] * vertices + rate[2] * arcs)
        if self.backend == "gpu":
            return max(rate[0], 0.0) * max(count, 1) + rest
        return self.slowness * (rate[0] + rest / math.sqrt(self.cores))

    def of_step(self, step: str) -> float:
        """Seconds of a step; of a stage, those of all its searches, with its proof."""
        stage, count = BY_NAME.get(step), 1
        entry = stage or GRAPH_TABLES.get(step)
        costs = entry.costs if entry else Costs()
        one = rates.RATES[self.backend].get(step) or (costs.cpu if self.backend == "cpu" else costs.gpu)
        if stage and stage.has_sources:
            count = min(sources_of(self.config), int(self.vertices * 1e6))
        elif stage and stage.has_pairs:
            count = sum(map(rows_of_pairs, self.config.of_stages[step].pair_files.values()))
        elif stage and stage.searches:
            count = searches_of(self.config, stage, int(self.vertices * 1e6), int(self.arcs * 1e6))
        seconds = self.seconds(one, self.vertices, self.arcs, max(1, count))
        if stage and self.config.cluster.shards and self.config.cluster.scheduler != "none":
            return rates.SESSION + rates.SHARDED * seconds
        return seconds

    def of_hierarchy(self) -> float:
        """Seconds of a hierarchy; at least the constant."""
        constant, of_vertex, of_arc = rates.RATES[self.backend][HIERARCHY]
        if self.backend == "gpu":
            return constant + of_vertex * self.vertices + of_arc * self.arcs
        amount = (of_vertex * self.vertices + of_arc * self.arcs) * float(self.vertices**rates.GROWTH)
        return self.slowness * max(constant, amount / math.sqrt(self.cores))

    def of_trees(self, trees: TreesOfProduct, swept: bool) -> float:
        """Seconds of the trees of a product's table: cores share them."""
        product = PRODUCTS[trees.product]
        if swept and self.backend == "gpu":
            return trees.number * product.gpu * self.vertices
        if swept:
            one = product.cpu * self.vertices * (rates.FLOATS if self.floats else 1)
        else:
            constant, of_vertex, of_arc = rates.RATES[self.backend]["search"]
            one = constant + of_vertex * self.vertices + of_arc * self.arcs
        if self.backend == "gpu":
            return trees.number * one
        once = rates.PRODUCT + (rates.FLOATS_ONCE * self.vertices if swept and self.floats else 0)
        return self.slowness * (once + one * trees.number / min(self.cores, max(1, trees.number)))


def beyond_gpu(work: Work) -> dict[str, float]:
    """Seconds of the steps that a CPU makes because the GPU does not hold the graph, `work` being that of the CPU.

    The first stage on the GPU pins the arcs, which is counted with the layout.
    """
    stages = [stage for stage in work.config.stages if not BY_NAME[stage].costs.pinned]
    seconds = {step: work.of_step(step) for step in ("graph", *stages)}
    seconds["graph"] += rates.PINNED * work.arcs
    return seconds


def seconds_of(work: Work, sizes: GraphSizes, merged: bool, trees: Mapping[str, TreesOfProduct]) -> dict[str, float]:
    """Seconds of all steps of a run, in the order in which it makes them.

    Args:
        sizes: Those of the graph.
        merged: Whether parallel rows are merged before the layout.
        trees: What its products need.
    """
    config, million = work.config, (work.vertices, work.arcs)
    of, named = rates.RATES[work.backend], sizes.named
    seconds = {"edges": work.seconds(of["copied" if sizes.copied else "edges"], *million)}
    if named:
        seconds["edges"] += work.seconds(of["numbered"], *million)
    if config.places.attach == "streets":
        places = sum(rows_of_file(file, config.places) for file in config.files_of_vertices if not names_cells(file))
        seconds[ATTACHED] = work.seconds(of[ATTACHED], places / 1e6, work.arcs)
    if merged:
        seconds[MERGED] = work.seconds(of[MERGED], *million)
    seconds["graph"] = work.of_step("graph")
    osm = config.graph.osm
    costs = any(osm.turns.model_dump().values())
    if sizes.roads and (costs or osm.obeys):
        seconds |= {step: work.seconds(of[f"{step}, costs" if costs else step], *million) for step in (SPLIT, TURNED)}
    seconds |= {step: work.of_step(step) for step in config.stages}
    built = False
    for step, of_product in trees.items():
        swept = are_swept(of_product.number, int(work.vertices * 1e6), int(work.arcs * 1e6))
        if swept and not built:
            seconds[HIERARCHY] = work.of_hierarchy()
            built = True
        seconds[step] = work.of_trees(of_product, swept) if of_product.number else work.seconds((rates.PRODUCT, 0, 0), 0, 0)
    for table in GRAPH_TABLES.values():
        if table.is_wanted(config, int(work.arcs * 1e6)):
            more = rates.NAMES_OF_ARCS * work.arcs if named else 0.0
            seconds[table.name] = work.of_step(table.name) + work.seconds((0, 0, 1), 0, more)
    seconds |= dict(_besides(work, named))
    return seconds | {"report": work.of_step("report")}


def _besides(work: Work, named: bool) -> Iterator[tuple[str, float]]:
    """The steps that depend on files and keys of the configuration."""
    config, of = work.config, rates.RATES[work.backend]
    places = [file for file in config.files_of_vertices if not names_cells(file) and has_places(file, config.places)]
    if places:
        yield "places", work.seconds(of["places"], 0, sum(rows_of_file(file, config.places) for file in places) / 1e6)
    if config.queries:
        pairs = rows_of_pairs(config.queries.pairs) / 1e6
        yield "reached", work.seconds(of["reached"], 0, pairs)
        if config.queries.witness:
            yield "paths", work.seconds(of["paths"], 0, pairs)
    rows = work.vertices * sum(min(answers_of(config, stage), work.vertices * 1e6) for stage in config.stages)
    if named and config.named:
        yield NAMED, len(config.stages) * work.seconds(of[NAMED], rows / len(config.stages), 0)
    if config.changes.tables:
        yield "change_tables", work.seconds(of["change_tables"], rows, 0)
