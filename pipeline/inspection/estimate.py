"""Estimates of the time, memory, disk space and GPU memory of a run, compared with what is free.

Sizes come from the source (`sizes`), rates from measured runs (`rates`) or, for seconds, from the run before in the same folder.
"""

from contextlib import suppress
from dataclasses import dataclass, replace

from kernels.cpu.parallel import cores
from kernels.registry import BY_NAME
from pipeline.config.run import RunConfig
from pipeline.errors import Damaged
from pipeline.fitting import shape_of
from pipeline.inspection import rates
from pipeline.inspection.gpu_memory import gpu_memory, memory_beside_arcs
from pipeline.inspection.memory import Memory, memory_beyond_gpu, memory_of
from pipeline.inspection.products import answers_of, trees_of
from pipeline.inspection.seconds import HIERARCHY, NAMED, Work, beyond_gpu, seconds_of
from pipeline.inspection.sizes import GraphSizes, sizes_of
from pipeline.inspection.speed import slowness
from pipeline.registry.graph import GRAPH_TABLES
from pipeline.runtime.backend import Backend, choose, limited_gpu
from pipeline.runtime.beyond_gpu import lays_out
from pipeline.runtime.memory import free_disk, free_memory, limited_to, private_memory
from pipeline.steps.parallel import merges
from pipeline.store import manifest
from pipeline.store.facts import EdgeFacts, GraphFacts
from pipeline.tables.definitions import CUSTOM

_PARTS = {HIERARCHY: ["hierarchy*"], NAMED: [f"{NAMED}-*"]}  # the folders of steps that are estimated together


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
    slowness: float  # how many times as long a core takes as that of the rates; 1 where a GPU computes
    start: float  # seconds besides the steps
    seconds: dict[str, float]  # by step; a stage with its proof
    as_before: bool  # whether the seconds are those of the run before, for a graph of this size
    memory: Memory
    needs: list[Need]
    arcs_in: str  # "device" or "host": the memory of the arcs that a GPU reads; "" if it reads none
    not_estimated: list[str]  # the user's own stages, about whose time and memory nothing is known

    @property
    def total(self) -> float:
        """Seconds of the whole run."""
        return self.start + sum(self.seconds.values())


def estimate(config: RunConfig) -> Estimate:
    """Estimate a run that makes every step.

    Raises:
        BadInput: As `sizes_of` and `trees_of`.
        BadConfig: As `pipeline.runtime.backend.choose`.
    """
    with limited_to(config.limits.bytes), limited_gpu(config.limits.gpu_bytes):
        return _estimate(config)


def _estimate(config: RunConfig) -> Estimate:
    sizes, backend = sizes_of(config.graph, config.reject.limit), choose(config.backend)
    shape = shape_of(config, sizes)
    of_cpu = slowness() if backend == "cpu" else 1.0
    work = Work(config, backend, shape.vertices / 1e6, shape.arcs / 1e6, sizes.floats, cores(), of_cpu)
    trees = trees_of(config, shape.vertices, shape.arcs)
    merged = merges(config.graph.parallel, bool(sizes.weight))
    seconds = seconds_of(work, sizes, merged, trees)
    laid_out = backend if config.cluster.shards else lays_out(backend, shape.on_gpu)
    if beyond := laid_out != backend:
        seconds |= beyond_gpu(replace(work, backend="cpu", slowness=slowness()))
    of_graph = [table for table in GRAPH_TABLES.values() if table.is_wanted(config, shape.arcs)]
    own = [CUSTOM + stage.name for stage in config.custom]
    ways: set[tuple[str, str | None]] = {(laid_out, None)} | ({(backend, "host")} if beyond else set())
    before = _before(config, ways, shape.arcs, (*seconds, *own))
    answers = {stage: min(answers_of(config, stage), shape.vertices) for stage in config.stages}
    disk = shape.disk() + (sizes.edges * rates.EDGE if sizes.copied else 0)
    disk += sum(BY_NAME[stage].costs.stored * shape.vertices * count for stage, count in answers.items())
    disk += sum(table.costs.stored * shape.arcs for table in of_graph)
    disk += sum(of_product.bytes for of_product in trees.values())
    disk += sum(shape.vertices * 8 * (1 + len(stage.columns)) for stage in config.custom)
    if beyond:
        memory = memory_beyond_gpu(config, shape, sizes.floats, trees, sizes.group)
    else:
        memory = memory_of(config, backend, shape, sizes.floats, trees, sizes.group)
    disk += shape.arrays if memory.sparing else 0
    needs = [
        Need("memory", memory.total, free_memory() + private_memory()),  # which this process gives back when it ends
        Need("disk", int(disk), free_disk(config.output)),
    ]
    if backend == "gpu":
        on_gpu, free = gpu_memory(config, shape, trees), free_memory("gpu")
        needs.append(Need("GPU memory", memory_beside_arcs(config, shape, free) if beyond else on_gpu, free))
    start = rates.START[backend] * of_cpu
    return Estimate(
        sizes, shape.arcs, backend, cores(), of_cpu, start, before or seconds, bool(before), memory, needs,
        "" if backend == "cpu" else "host" if beyond else "device", [] if before else own,
    )  # fmt: skip


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
        return Work(config, backend, vertices / 1e6, arcs / 1e6, cores=cores()).of_step(name) / (2 if name in BY_NAME else 1)
    return None


def _before(config: RunConfig, ways: set[tuple[str, str | None]], arcs: int, steps: tuple[str, ...]) -> dict[str, float]:
    """Seconds of the steps in the output folder, in proportion to the arcs; empty unless all are there.

    `ways`: backends that may have laid the graph out, and `arcs_in` of its facts.
    """
    work = config.output / "steps"
    with suppress(Damaged):
        graph = GraphFacts.of(manifest.read(work / "graph"))
        if (graph.backend, graph.arcs_in) in ways and graph.arcs:
            parts = {step: [step, *([f"proof-{step}"] if step in BY_NAME else [])] for step in steps} | {
                step: [path.name for pattern in patterns for path in work.glob(pattern)]
                for step, patterns in _PARTS.items()
                if step in steps
            }
            share = arcs / graph.arcs
            return {
                step: share * sum(manifest.read(work / part).manifest.seconds for part in names) for step, names in parts.items()
            }
    return {}
