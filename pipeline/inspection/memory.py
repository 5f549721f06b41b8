"""How much memory the processes of a run take: the run itself, and its workers."""

from collections.abc import Mapping
from dataclasses import dataclass

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
from pipeline.runtime.memory import Shape, leave_enough, stages_at_once

_RANKING = 48  # bytes for each vertex of a ranking that is computed beside others
_FLOATS = 2  # how many times as many bytes a tree takes with floats


@dataclass(frozen=True)
class Memory:
    """Bytes of memory.

    Attributes:
        steps: Of the process in which a step computes, by its name.
        own: Of the run's process.
        workers, each: How many workers of this machine there are, and bytes of each.
        sparing: Whether the layout reads the edges from the disk, again and again, because memory does not hold them.
    """

    steps: dict[str, int]
    own: int
    workers: int
    each: int
    sparing: bool = False

    @property
    def total(self) -> int:
        """Bytes of all processes."""
        return self.own + self.workers * self.each


def memory_of(config: RunConfig, backend: Backend, shape: Shape, floats: bool, trees: Mapping[str, TreesOfProduct]) -> Memory:
    """Estimate the memory of a run's processes."""
    if backend == "gpu":
        layout = _bytes(rates.HOST, shape)
        return Memory({"graph": layout}, layout, 0, 0)
    sparing = not leave_enough(shape.columns, backend)
    layout = int(rates.LAYOUT[sparing] + rates.LAID_OUT * shape.vertices + shape.layout(sparing))
    beside = {stage: _of_stage(config, stage, shape) for stage in config.stages}
    beside |= {name: _of_trees(one, shape, floats) for name, one in trees.items()}
    beside |= {
        name: _of_costs(table.costs.memory, shape) for name, table in GRAPH_TABLES.items() if table.is_wanted(config, shape.arcs)
    }
    cluster = config.cluster
    if cluster.scheduler == "none":
        held = _bytes(rates.HELD, shape)
        steps = {"graph": layout} | {name: int(held + more) for name, more in beside.items()}
        at_once = 1 if cluster.shards else stages_at_once(backend, shape.vertices, shape.arcs)
        together = sorted((beside[stage] for stage in config.stages), reverse=True)[:at_once]
        return Memory(steps, max([*steps.values(), int(held + sum(together))]), 0, 0, sparing)
    whole = {stage for stage in config.stages if BY_NAME[stage].opens_whole_graph}  # of which a process has all
    share = 1 / cluster.shards if cluster.shards else 1.0
    workers = cluster.local_workers(cores()) if cluster.scheduler == "local" else 0
    ranks_of_each = max(1, -(-cluster.shards // max(1, workers)))
    graph = _bytes((0.0, *rates.WORKER[1:]), shape)

    def of_worker(name: str, more: float) -> float:
        if name in trees:
            return graph + more  # products do not run over ranks: a worker opens all of the graph
        return graph + more * ranks_of_each if name in whole else (graph + more) * share * ranks_of_each

    steps = {name: int(rates.WORKER[0] + of_worker(name, more)) for name, more in beside.items()}
    own = int(rates.HELD[0] if cluster.shards else layout)
    return Memory({"graph": own} | steps, own, workers, max(steps.values(), default=0))


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
