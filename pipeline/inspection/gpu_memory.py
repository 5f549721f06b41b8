"""How much of a GPU's memory a run takes: its layout, or the graph with the stage or product that takes the most beside it."""

from collections.abc import Mapping

from pipeline.config.run import RunConfig
from pipeline.inspection import rates
from pipeline.inspection.products import Trees, are_swept
from pipeline.runtime.memory import Shape


def gpu_memory(config: RunConfig, shape: Shape, trees: Mapping[str, Trees]) -> int:
    """Bytes that a run takes at least on its GPU, with as few sources or pairs at a time as possible.

    Args:
        trees: What its products need, as `pipeline.inspection.products.trees_of` says.
    """
    constant, of_vertex, of_arc = rates.GPU_MEMORY
    rows, arcs = shape.vertices, shape.arcs
    beside = [vertex * rows + arc * arcs for vertex, arc in (rates.GPU_STAGE.get(stage, (0, 0)) for stage in config.stages)]
    if "reachability" in config.stages:
        from kernels.reachability import memory as of_index

        index = config.reachability
        beside.append(of_index(rows, arcs, index.dimensions, index.method, gpu=True).build)
    if any(are_swept(product.number, rows, arcs) for product in trees.values()):
        from kernels.hierarchy import memory as of_hierarchy

        beside.append(of_hierarchy(rows, arcs, gpu=True))
    if near := config.nearest:
        from pipeline.steps.products.nearest import PER_TASK

        beside.append(16 * min(near.count, PER_TASK, trees["nearest"].number) * rows)
    return int(constant + max(of_vertex * rows + of_arc * arcs, *(shape.disk() + most for most in beside)))
