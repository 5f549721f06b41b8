"""The steps that build a hierarchy of a stored graph: an order of its vertices, which is kept while its arcs stay, and the rest.

They run where something asks for many trees. The order is that of the first weights; while only weights change, the next nights
search for shortcuts on this order, which takes a fraction of the time.
"""

from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

from kernels import hierarchy as kernel
from kernels.answers import Hierarchy
from kernels.graph import Graph
from pipeline.cluster.protocol import TaskContext
from pipeline.errors import Damaged, NotRoadLike
from pipeline.runtime.backend import Clock
from pipeline.runtime.memory import require_memory
from pipeline.steps.runtime import Runtime
from pipeline.store.arrays import save_array
from pipeline.store.code import HELD_GRAPH, Code
from pipeline.store.facts import GraphFacts
from pipeline.store.hierarchy import ORDER, STEP, arrays_of, open_order
from pipeline.store.hierarchy.facts import HierarchyFacts
from pipeline.store.manifest import Folder, digest_of, make, read
from pipeline.store.scratch import attempts_beside, new_attempt

_CODE = Code((__name__, *HELD_GRAPH))
_WORSE = 1.25  # how many times as many arcs as the order's own weights need are accepted of others
_DESCRIPTION = ("offsets.npy", "indices.npy", "rows_by_id.npy")  # files of a graph without its weights


def build_hierarchy(graph: Folder, runtime: Runtime) -> Folder:
    """Build the hierarchy of a stored graph into `work / "hierarchy"`, and its order into `work / "hierarchy_order"`.

    A run that asks again gets what it has, and its files are not read again.

    Returns:
        Read by `open_hierarchy`. Facts: `HierarchyFacts`. The bytes are the same on every backend and cluster.

    Raises:
        NotRoadLike: It would need too many shortcuts: use plain searches.
        TooLarge: Building it may take more memory than is free.
        ClusterLost: As `cluster.map`.
    """
    key = runtime.work, graph.digest
    if key not in runtime.hierarchies:
        order = _order(graph, runtime)
        inputs, build = {"graph": graph.digest, "order": order.digest}, partial(_on_order, graph, order)
        runtime.hierarchies.clear()  # of another graph, whose files are replaced
        runtime.hierarchies[key] = make(runtime.work / STEP, STEP, inputs, {}, partial(_written, build, runtime), _CODE)
    return runtime.hierarchies[key]


def stored_steps(work: Path) -> list[Folder]:
    """The steps `hierarchy_order` and `hierarchy` that earlier calls have stored, of this graph or of others."""
    stored = []
    for name in (ORDER, STEP):
        with suppress(Damaged):
            stored.append(read(work / name))
    return stored


def steps_of(graph: Folder, work: Path, before: Sequence[Folder]) -> list[Folder]:
    """The steps `hierarchy_order` and `hierarchy` of this graph, if a call has stored them; those of `before` are reused."""
    stored = stored_steps(work)
    ours = len(stored) == 2 and stored[-1].manifest.inputs["graph"] == graph.digest
    return [replace(step, reused=step in before) for step in stored] if ours else []


def _order(graph: Folder, runtime: Runtime) -> Folder:
    """The order of the graph's arcs, whatever they weigh; of a changed graph, that of its base while it has the same vertices."""
    files = {name: entry.blake3 for name, entry in graph.manifest.files.items() if name.endswith(_DESCRIPTION)}
    inputs = {"arcs": digest_of({"vertices": GraphFacts.of(graph).vertices, "files": files})}
    return make(runtime.work / ORDER, ORDER, inputs, {}, partial(_written, partial(_new_order, graph), runtime), _CODE)


Build = Callable[[Path, TaskContext], HierarchyFacts]


def _written(build: Build, runtime: Runtime, folder: Path) -> dict[str, Any]:
    """Let one worker build, and move its files into `folder`; the facts."""
    run = partial(_attempt, build, attempts_beside(folder))
    ((path, facts),) = next(iter(runtime.cluster.map(run, [None], runtime.backend, one_at_a_time=True, code=_CODE)))
    for file in path.iterdir():
        file.rename(folder / file.name)
    return facts


def _attempt(build: Build, attempts: Path, context: TaskContext, _: None) -> tuple[Path, dict[str, Any]]:
    path = new_attempt(attempts)
    path.mkdir()
    with context.turn():
        return path, build(path, context).stored()


def _new_order(graph: Folder, path: Path, context: TaskContext) -> HierarchyFacts:
    hierarchy, facts = _built(graph, context, kernel.build_hierarchy)
    save_array(path / "positions.npy", hierarchy.positions)
    return facts


def _on_order(graph: Folder, order: Folder, path: Path, context: TaskContext) -> HierarchyFacts:
    most = _WORSE * HierarchyFacts.of(order).arcs

    def build(held: Graph) -> Hierarchy:
        try:
            hierarchy = kernel.customise(open_order(order, context.backend), held)
        except kernel.TooManyShortcuts:
            return kernel.build_hierarchy(held)
        return hierarchy if _arcs(hierarchy) <= most else kernel.build_hierarchy(held)

    hierarchy, facts = _built(graph, context, build)
    for name, array in arrays_of(hierarchy):
        save_array(path / f"{name}.npy", array)
    return facts


def _arcs(hierarchy: Hierarchy) -> int:
    return len(hierarchy.up.others) + (0 if hierarchy.symmetric else len(hierarchy.down.others))


def _built(graph: Folder, context: TaskContext, build: Callable[[Graph], Hierarchy]) -> tuple[Hierarchy, HierarchyFacts]:
    facts, clock = GraphFacts.of(graph), Clock(context.backend)
    needed = kernel.memory(facts.vertices, facts.arcs, context.backend == "gpu")
    require_memory(f"the hierarchy of {facts.vertices:,} vertices and {facts.arcs:,} arcs", needed, context.backend)
    try:
        held = context.whole_graph(graph).graph
        with clock.timed():
            hierarchy = build(held)
    except kernel.TooManyShortcuts as error:
        raise NotRoadLike(f"{graph.path}: {error}") from None
    return hierarchy, HierarchyFacts(
        vertices=facts.vertices, levels=hierarchy.num_levels, up_arcs=len(hierarchy.up.others),
        weights=str(hierarchy.up.weights.dtype), down_arcs=None if hierarchy.symmetric else len(hierarchy.down.others),
        shortcuts=_shortcuts(hierarchy), exact=hierarchy.exact, backend=context.backend, seconds=clock.seconds,
    )  # fmt: skip


def _shortcuts(hierarchy: Hierarchy) -> int:
    sides = (hierarchy.up,) if hierarchy.symmetric else (hierarchy.up, hierarchy.down)
    return sum(int((side.middles >= 0).sum()) for side in sides)
