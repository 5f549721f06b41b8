"""How much of a GPU's memory a run takes: its layout, or the graph with the stage or product that takes the most beside it."""

from collections.abc import Mapping

from kernels.registry import BY_NAME
from pipeline.config.run import RunConfig
from pipeline.inspection import rates
from pipeline.inspection.products import TreesOfProduct, are_swept, seeds_of
from pipeline.registry.products import PRODUCTS
from pipeline.runtime.beyond_gpu import beside_arcs
from pipeline.runtime.memory import Shape

_RANKING = 48  # bytes for each vertex of one ranking from seeds, or of its proof


def memory_beside_arcs(config: RunConfig, shape: Shape, free: int) -> int:
    """Bytes that a run takes of the `free` ones of its GPU, which reads arcs from the host's memory.

    They are those of the stage that takes the most; one that does not fit is computed on the CPU.
    """
    reading = [stage for name in config.stages if (stage := BY_NAME[name].costs.pinned)]
    needed = [stage.needed(shape.vertices, shape.arcs, shape.symmetric) for stage in reading]
    least = beside_arcs(shape.vertices, 1 if shape.symmetric else 2) if needed else 0
    return max([least, *(most for most in needed if most <= free)])


def gpu_memory(config: RunConfig, shape: Shape, trees: Mapping[str, TreesOfProduct]) -> int:
    """Bytes that a run takes at least on its GPU, with as few sources or pairs at a time as possible.

    Args:
        trees: What its products need, as `pipeline.inspection.products.trees_of` says.
    """
    constant, of_vertex, of_arc = rates.GPU_MEMORY
    rows, arcs = shape.vertices, shape.arcs
    stages = [BY_NAME[stage] for stage in config.stages]
    beside = [vertex * rows + arc * arcs for vertex, arc in (stage.costs.gpu_memory for stage in stages)]
    for stage in stages:
        if seeds_of(config, stage.name):
            beside.append(_RANKING * rows)
        if stage.has_index:
            from kernels.reachability import memory as of_index

            options = config.of_stages[stage.name].model_dump(include={"dimensions", "method"})
            beside.append(of_index(rows, arcs, **options, gpu=True).build)
    if any(are_swept(product.number, rows, arcs) for product in trees.values()):
        from kernels.hierarchy import memory as of_hierarchy

        beside.append(of_hierarchy(rows, arcs, gpu=True))
    beside += [
        PRODUCTS[table.product].resolve("gpu_memory")(config.of_products[table.product], table.number, rows)
        for table in trees.values()
        if PRODUCTS[table.product].gpu_memory
    ]
    return int(constant + max(of_vertex * rows + of_arc * arcs, *(shape.disk() + most for most in beside)))
