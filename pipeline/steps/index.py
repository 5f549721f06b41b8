"""The step that builds a reachability index: dimension by dimension on workers, or over the ranks of one graph.

All groups write the same bytes. Each worker condenses the graph for itself, once: storing the condensation and reading it back
takes longer.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np

from kernels.gpu.loader import to_host
from pipeline import progress
from pipeline.cluster.protocol import TaskContext
from pipeline.config.stages import ReachabilityConfig
from pipeline.runtime.backend import Clock
from pipeline.runtime.memory import require_memory
from pipeline.steps.runtime import Runtime
from pipeline.store.arrays import create_array, write_slice
from pipeline.store.code import HELD_INDEX, Code
from pipeline.store.facts import GraphFacts, IndexFacts, over_ranks
from pipeline.store.index.arrays import NUMBERS
from pipeline.store.index.folder import FORMAT, STEP
from pipeline.store.manifest import Folder, make
from pipeline.store.scratch import attempts_beside, shared_attempt

_TASKS = 64  # at most, each of some dimensions
_CODE = Code((__name__, *HELD_INDEX))


def build_index(graph: Folder, config: ReachabilityConfig, runtime: Runtime) -> Folder:
    """Build the index of a stored graph into `work / "reachability_index"`.

    Args:
        graph: The stored graph.
        runtime: The bytes are the same on every backend and cluster. On CPU workers each dimension is a task. Where ranks hold
            the graph together they build the index together by method "tree". Method "dfs" over ranks, and all dimensions on a
            GPU, run on one worker.

    Returns:
        Read by `open_index`. Facts: `IndexFacts`.

    Raises:
        TooLarge: The bound on the memory that the build takes is larger than what is free.
        ClusterLost: As `cluster.map`.
    """
    cluster, backend = runtime.cluster, runtime.backend
    ranks = runtime.ranks_of(graph) if config.method == "tree" else 0

    def write(folder: Path) -> dict[str, Any]:
        one_task = ranks or runtime.in_this_process or backend == "gpu"
        count = 1 if one_task else min(config.dimensions, _TASKS)
        cuts = [config.dimensions * number // count for number in range(count + 1)]
        tasks = [range(*cut) for cut in pairwise(cuts)]
        built = cluster.map(partial(_build, graph, config, attempts_beside(folder)), tasks, backend, ranks, True, _CODE)
        parts = [of_ranks[0] for of_ranks in progress.counted(built, list(map(len, tasks)), "dimensions")]
        _put_together([part.path for part in parts], folder)
        facts = parts[0].facts.stored() | over_ranks(ranks, parts[0].supersteps)
        facts["compared_paths"] = [compared for part in parts for compared in part.facts.compared_paths]
        facts["seconds"] = round(sum(part.facts.seconds for part in parts), 6)
        return facts

    return make(runtime.work / STEP, STEP, {"graph": graph.digest}, config.model_dump(), write, _CODE)


@dataclass(frozen=True)
class _Built:
    """A folder with the arrays of an index, or with those of some dimensions."""

    path: Path
    facts: IndexFacts
    supersteps: int


def _build(graph: Folder, config: ReachabilityConfig, attempts: Path, context: TaskContext, dimensions: range) -> _Built:
    """Label some dimensions, and write them, the first ones with all else, to a folder that the ranks of this attempt share."""
    held, clock, ranks = context.graph_with_index(graph), Clock(context.backend), context.communicator
    with context.turn():
        what, needed, where = held.index_memory(config, dimensions)
        require_memory(f"reachability: {what}", needed, where)
        build = held.index_builder(config, dimensions)
        with clock.timed():
            built = build()
    path = shared_attempt(attempts, ranks)
    slices = [own for own in held.index_slices(built.answer) if dimensions.start == 0 or own.name in NUMBERS]
    if ranks.rank == 0:
        path.mkdir()
        for own in {own.name: own for own in slices}.values():
            create_array(path / f"{own.name}.npy", own.values.dtype, *own.values.shape[:-1], own.length)
    ranks.sum(0)  # the files have to exist before any rank writes into them
    for own in slices:
        for row, values in enumerate(np.atleast_2d(to_host(own.values))):
            write_slice(path / f"{own.name}.npy", row * own.length + own.first, values)
    index = built.answer if not hasattr(built.answer, "index") else built.answer.index
    counts = np.array([index.condensation.num_nodes, len(index.condensation.children.indices)])
    components, arcs = ranks.total(counts).tolist()
    level = index.labels.level
    levels = ranks.max(int(level.max()) + 1 if len(level) else 0)  # after it, the files of all ranks are complete
    facts = IndexFacts(
        format=FORMAT, vertices=GraphFacts.of(graph).vertices, components=components, arcs=arcs, levels=levels,
        **config.model_dump(), compared_paths=list(index.labels.compared_paths), bytes_needed=needed,
        backend=context.backend, seconds=clock.seconds,
    )  # fmt: skip
    return _Built(path, facts, built.supersteps)


def _put_together(parts: Sequence[Path], folder: Path) -> None:
    """Move the arrays of the first part; the arrays that other parts have too are concatenated dimension by dimension."""
    for path in sorted(parts[0].iterdir()):
        if len(parts) == 1 or path.stem not in NUMBERS:
            path.rename(folder / path.name)
            continue
        rows = [row for part in parts for row in np.load(part / path.name, mmap_mode="r")]
        create_array(folder / path.name, rows[0].dtype, len(rows), len(rows[0]))
        for dimension, row in enumerate(rows):
            write_slice(folder / path.name, dimension * len(row), row)
