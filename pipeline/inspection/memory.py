"""How much memory the processes of a run take: the run itself, and its workers."""

from collections.abc import Mapping
from dataclasses import dataclass, replace

from kernels.algorithm import Rate
from kernels.cpu.parallel import cores
from kernels.pagerank.seeded.constants import COLUMNS
from kernels.registry import BY_NAME
from kernels.trees import batch_on_cpu
from pipeline.config.run import RunConfig
from pipeline.inspection import rates
from pipeline.inspection.products import TreesOfProduct, answers_of, are_swept, rows_of_pairs, seeds_of
from pipeline.registry.graph import GRAPH_TABLES
from pipeline.registry.products import PRODUCTS
from pipeline.runtime.backend import Backend
from pipeline.runtime.beyond_gpu import pinned_bytes
from pipeline.runtime.memory import PLENTY, Shape, free_memory, leave_enough, stages_at_once

_RANKING = 48  # bytes for each vertex of a ranking that is computed beside others
_FLOATS = 2  # how many times as many bytes a tree takes with floats


@dataclass(frozen=True)
class Memory:
    """Bytes of memory that the kernel cannot give up.

    Attributes:
        steps: Of the process in which a step computes, by its name.
        own: Of the run's process.
        workers, each: How many workers of this machine there are, and bytes of each.
        mapped: Of each worker with the maps of files that it reads, which count for `[cluster] memory`.
        sparing: Whether the layout reads the edges from the disk, again and again, because memory does not hold them.
    """

    steps: dict[str, int]
    own: int
    workers: int
    each: int
    mapped: int = 0
    sparing: bool = False

    @property
    def total(self) -> int:
        """Bytes of all processes."""
        return self.own + self.workers * self.each


def memory_of(
    config: RunConfig, backend: Backend, shape: Shape, floats: bool, trees: Mapping[str, TreesOfProduct], group: int = 0
) -> Memory:  # fmt: skip
    """Estimate the memory of a run's processes; a core reads `group` rows of the source at a time, 0 if that is not known."""
    if backend == "gpu":
        layout = _bytes(rates.HOST, shape)
        return Memory({"graph": layout}, layout, 0, 0)
    cluster = config.cluster
    beside = {stage: _of_stage(config, stage, shape) for stage in config.stages}
    beside |= {name: _of_trees(one, shape, floats) for name, one in trees.items()}
    beside |= {
        name: _of_costs(table.costs.memory, shape) for name, table in GRAPH_TABLES.items() if table.is_wanted(config, shape.arcs)
    }
    read = int(rates.PROCESS + _of_reading(shape, group))
    sparing, keeps, layout = _of_layout(shape, read)
    if cluster.scheduler == "none":
        held = max(_bytes(rates.HELD, shape), read if keeps else 0)
        if cluster.shards:
            held += int(_of_shards(shape, cluster.shards))
        times = (rates.SHARDED_STAGE if cluster.shards else 1.0) * (1.0 if keeps else rates.RETURNING)
        beside = {name: times * more for name, more in beside.items()}
        steps = {"graph": layout} | {name: int(held + more) for name, more in beside.items()}
        at_once = 1 if cluster.shards else stages_at_once(backend, shape.vertices, shape.arcs)
        others = sorted((beside[stage] for stage in config.stages), reverse=True)[1:at_once]
        return Memory(steps, int(max(steps.values()) + rates.OVERLAP * sum(others)), 0, 0, 0, sparing)
    workers = cluster.local_workers(cores()) if cluster.scheduler == "local" else 0
    if not cluster.shards:
        steps = {name: int(rates.WORKER + rates.RETURNING * more) for name, more in beside.items()}
        with_maps = int(_bytes(rates.MAPPED, shape) + max(beside.values(), default=0))
        own = int(layout + rates.DASK)
        return Memory({"graph": own} | steps, own, workers, max(steps.values(), default=0), with_maps, sparing)
    share = -(-cluster.shards // max(1, workers)) / cluster.shards  # of a worker
    whole = {stage for stage in config.stages if BY_NAME[stage].opens_whole_graph} | {*trees}  # of which a process has all

    def of_worker(name: str, more: float) -> float:
        ranks = share * cluster.shards if name in config.stages else 1
        return more * ranks if name in whole else (_of_shards(shape, cluster.shards) + rates.SHARDED_STAGE * more) * share

    of_vertex, times = rates.RANKS
    layout = int((of_vertex * shape.vertices + times * shape.layout(sparing) + _of_reading(shape, group)) * share)
    steps = {"graph": int(rates.WORKER) + layout}
    steps |= {name: int(rates.WORKER + of_worker(name, more)) for name, more in beside.items()}
    graph = rates.MAPPED[1] * shape.vertices + rates.MAPPED[2] * shape.arcs
    mapped = [rates.MAPPED[0] + graph * (1 if one in whole else share) + of_worker(one, more) for one, more in beside.items()]
    each = max(steps.values())
    own = int(max(read + rates.DASK, _bytes(rates.REPORT, shape)))
    return Memory(steps, own, workers, each, int(max([each, *mapped])), sparing)


def memory_beyond_gpu(
    config: RunConfig, shape: Shape, floats: bool, trees: Mapping[str, TreesOfProduct], group: int = 0
) -> Memory:  # fmt: skip
    """As `memory_of`, if the GPU's memory does not hold the graph: the CPU lays it out, and then its arcs are pinned here."""
    on_cpu = tuple(stage for stage in config.stages if not BY_NAME[stage].costs.pinned)
    here = memory_of(config.model_copy(update={"stages": on_cpu}), "cpu", shape, floats, trees, group)
    pinned = pinned_bytes(shape.arrays, shape.arcs * (1 if shape.symmetric else 2)) if len(on_cpu) < len(config.stages) else 0
    stages = [most for name, most in here.steps.items() if name != "graph"] or [0]
    return replace(here, own=max(here.steps["graph"], max(stages) + pinned + int(rates.HOST[0])))


def _of_reading(shape: Shape, group: int) -> float:
    """Bytes of the rows that are decoded at a time, which Arrow keeps while memory is plentiful."""
    if not group:
        return rates.READ_TEXT
    return rates.READ * min(cores() * group, shape.edges) * (24 if shape.weight else 16)


def _of_layout(shape: Shape, read: int) -> tuple[bool, bool, int]:
    """Whether the layout reads edges from the disk, whether freed memory is kept, and bytes of the process that lays out."""
    sparing = not leave_enough(shape.columns, "cpu")
    of_vertices = (rates.LAID_OUT_SPARING if sparing else rates.LAID_OUT) * shape.vertices
    layout = of_vertices + shape.layout(sparing)
    keeps = not sparing and free_memory() > PLENTY * (read + layout)
    return sparing, keeps, int((read if keeps else rates.LAYOUT[sparing]) + layout)


def _of_shards(shape: Shape, ranks: int) -> float:
    """Bytes of all shards of a graph: they have their arcs in memory, and data of their ghosts."""
    return shape.arrays + rates.SHARD * shape.vertices * (2 - 2 / max(2, ranks))


def _bytes(rate: Rate, shape: Shape) -> int:
    return int(rate[0] + rate[1] * shape.vertices + rate[2] * shape.arcs)


def _of_costs(memory: tuple[float, float], shape: Shape) -> float:
    return memory[0] * shape.vertices + memory[1] * shape.arcs


def _of_stage(config: RunConfig, name: str, shape: Shape) -> float:
    """Bytes of a stage beside the graph."""
    stage = BY_NAME[name]
    more = 0.0
    if stage.row_bytes:
        more = stage.row_bytes * min(config.of_stages[name].model_dump()["limit"], shape.vertices**2)
    if seeds_of(config, name):
        more += _RANKING * min(answers_of(config, name), COLUMNS) * shape.vertices
    if stage.has_pairs:
        more += 64 * sum(map(rows_of_pairs, config.of_stages[name].pair_files.values()))
    return more + _of_costs(stage.costs.memory, shape)


def _of_trees(trees: TreesOfProduct, shape: Shape, floats: bool) -> float:
    """Bytes of a product beside the graph: a batch of its trees, and the hierarchy."""
    if not trees.number:
        return 0.0
    swept = are_swept(trees.number, shape.vertices, shape.arcs)
    together = min(trees.number, batch_on_cpu(shape.vertices, swept, floats))
    one = PRODUCTS[trees.product].tree_memory * (_FLOATS if floats else 1)
    return shape.vertices * (one * together + (rates.HIERARCHY if swept else 0))
