"""Estimates of the time, memory, disk space and GPU memory of a run, compared with what is free.

Sizes come from the source (`sizes`), rates from measured runs (`rates`) or, for seconds, from the run before in the same folder.
"""

from contextlib import suppress
from dataclasses import dataclass

from kernels.algorithm import Costs, Rate
from kernels.cpu.parallel import cores
from kernels.registry import BY_NAME
from pipeline.config.run import RunConfig
from pipeline.errors import BadInput, Damaged
from pipeline.ingest.feed import find
from pipeline.inspection import rates
from pipeline.inspection.gpu_memory import gpu_memory
from pipeline.inspection.products import TreesOfProduct, are_swept, sources_of, trees_of
from pipeline.inspection.sizes import GraphSizes, sizes_of
from pipeline.registry.graph import GRAPH_TABLES
from pipeline.registry.products import PRODUCTS
from pipeline.runtime.backend import Backend, choose
from pipeline.runtime.memory import Shape, free_disk, free_memory, require_space
from pipeline.store import manifest
from pipeline.store.facts import EdgeFacts, GraphFacts
from pipeline.tables.definitions import CUSTOM

_SMALL = 30  # bytes that a stored byte of a source certainly takes at most, but for the most compressed ones
_UNCERTAIN = 0.5  # of estimated sizes this share counts as certain


@dataclass(frozen=True)
class Need:
    """How much of a resource is needed and how much is free, in bytes."""

    what: str
    needed: int
    free: int

    @property
    def fits(self) -> bool:
        """Whether there is enough."""
        return self.needed <= self.free


@dataclass(frozen=True)
class Estimate:
    """The estimate of a run."""

    sizes: GraphSizes
    arcs: int
    backend: str
    cores: int
    seconds: dict[str, float]  # by step; a stage with its proof
    as_before: bool  # whether the seconds are those of the run before, for a graph of this size
    needs: list[Need]
    not_estimated: list[str]  # the user's own stages, about whose time and memory nothing is known

    @property
    def total(self) -> float:
        """Seconds of the whole run."""
        return rates.START + sum(self.seconds.values())


def estimate(config: RunConfig) -> Estimate:
    """Estimate a run that makes every step.

    Raises:
        BadInput: As `sizes_of` and `trees_of`.
        BadConfig: As `pipeline.runtime.backend.choose`.
    """
    sizes, backend = sizes_of(config.graph, config.reject.limit), choose(config.backend)
    shape = shape_of(config, sizes)
    million = (1, shape.vertices / 1e6, shape.arcs / 1e6)
    seconds = {step: _seconds(step, config, backend, million) for step in ("edges", "graph", *config.stages)}
    if sizes.copied:
        seconds["edges"] = _seconds("copied", config, backend, million)
    trees = trees_of(config, shape.vertices, shape.arcs)
    built = False  # the hierarchy, which the first product that sweeps it builds
    for step, of_product in trees.items():
        swept = are_swept(of_product.number, shape.vertices, shape.arcs)
        seconds[step] = _of_trees(of_product, swept, sizes.rounded, backend, million)
        if swept and not built:
            seconds[step] += _seconds("hierarchy", config, backend, million)
        built |= swept
    of_graph = [table for table in GRAPH_TABLES.values() if table.is_wanted(config, shape.arcs)]
    seconds |= {table.name: _seconds(table.name, config, backend, million) for table in of_graph}
    seconds["report"] = _seconds("report", config, backend, million)
    own = [CUSTOM + stage.name for stage in config.custom]
    before = _before(config, backend, shape.arcs, (*seconds, *own))
    answers = {stage: max(1, sources_of(config)) if BY_NAME[stage].has_sources else 1 for stage in config.stages}
    disk = shape.disk() + (sizes.edges * rates.EDGE if sizes.copied else 0)
    disk += sum(BY_NAME[stage].costs.stored * shape.vertices * count for stage, count in answers.items())
    disk += sum(table.costs.stored * shape.arcs for table in of_graph)
    disk += sum(of_product.bytes for of_product in trees.values())
    disk += sum(shape.vertices * 8 * (1 + len(stage.columns)) for stage in config.custom)
    amounts = (1, shape.vertices, shape.arcs)
    needs = [
        Need("memory", int(_total(rates.MEMORY[backend], amounts)), free_memory()),
        Need("disk", int(disk), free_disk(config.output)),
    ]
    if backend == "gpu":
        needs.append(Need("GPU memory", gpu_memory(config, shape, trees), free_memory("gpu")))
    return Estimate(sizes, shape.arcs, backend, cores(), before or seconds, bool(before), needs, [] if before else own)


def require_fit(config: RunConfig, backend: Backend) -> None:
    """Refuse a run whose graph certainly does not fit, before its source is read. Raises TooLarge.

    A remote source, and a graph that ranks hold together, are left to the layout.
    """
    with suppress(BadInput):  # which reading the source reports
        source = find(config.graph.source)
        if not source.is_local or config.cluster.shards:
            return
        if _SMALL * (source.size or 0) > min(free_memory(), free_memory(backend), free_disk(config.output)):
            sizes = sizes_of(config.graph, config.reject.limit)
            require_space(shape_of(config, sizes), backend, config.output, share=1 if sizes.exact else _UNCERTAIN)


def shape_of(config: RunConfig, sizes: GraphSizes) -> Shape:
    """The stored arrays of a graph of these sizes."""
    return Shape(sizes.edges, sizes.vertices, sizes.weight, not sizes.directed or config.layout.symmetrise)


def expected_seconds(config: RunConfig, backend: Backend, step: str) -> float | None:
    """Estimated seconds of a step or a proof: as the last time, or by the rates; None if its input is not known."""
    work = config.output / "steps"
    with suppress(Damaged):
        return manifest.read(work / step).manifest.seconds
    if step.startswith(CUSTOM):
        return None
    name = step.removeprefix("proof-")
    with suppress(Damaged):
        if name == "graph":
            edges = EdgeFacts.of(manifest.read(work / "edges"))
            vertices, arcs = edges.declared_vertices or edges.edges, edges.edges * (1 if edges.directed else 2)
        else:
            graph = GraphFacts.of(manifest.read(work / "graph"))
            vertices, arcs = graph.vertices, graph.arcs
        return _seconds(name, config, backend, (1, vertices / 1e6, arcs / 1e6)) / (2 if name in BY_NAME else 1)
    return None


def _seconds(step: str, config: RunConfig, backend: Backend, million: tuple[float, float, float]) -> float:
    """Seconds of a step; of a stage, those of all its searches, with its proof."""
    stage, count = BY_NAME.get(step), 1
    entry = stage or GRAPH_TABLES.get(step)
    costs = entry.costs if entry else Costs()
    one = _total(rates.RATES[backend].get(step, costs.cpu if backend == "cpu" else costs.gpu), million)
    if backend == "cpu":
        one *= (rates.CPU_CORES / cores()) ** 0.5
    if stage and stage.has_sources:
        count = sources_of(config)
    elif stage and stage.searches:
        count = stage.resolve("searches")(int(million[1] * 1e6), **config.of_stages[step].model_dump())
    return one * max(1, count if backend == "gpu" else count / cores())


def _of_trees(trees: TreesOfProduct, swept: bool, rounded: bool, backend: Backend, million: tuple[float, float, float]) -> float:
    """Seconds of the trees of a product's table: cores share them."""
    if swept:
        product = PRODUCTS[trees.product]
        one = (product.cpu if backend == "cpu" else product.gpu) * million[1] * (rates.ROUNDED if rounded else 1)
    else:
        one = _total(rates.RATES[backend]["search"], million)
    return one * (trees.number if backend == "gpu" else max(1, trees.number / cores()))


def _total(rate: Rate, amounts: tuple[float, float, float]) -> float:
    return max(rate[0], sum(each * amount for each, amount in zip(rate, amounts, strict=True)))


def _before(config: RunConfig, backend: Backend, arcs: int, steps: tuple[str, ...]) -> dict[str, float]:
    """Seconds of the steps in the output folder, in proportion to the arcs; empty unless all are there, from this backend."""
    work = config.output / "steps"
    with suppress(Damaged):
        graph = GraphFacts.of(manifest.read(work / "graph"))
        if graph.backend == backend and graph.arcs:
            parts = {step: [step, *([f"proof-{step}"] if step in BY_NAME else [])] for step in steps}
            share = arcs / graph.arcs
            return {
                step: share * sum(manifest.read(work / part).manifest.seconds for part in names) for step, names in parts.items()
            }
    return {}
