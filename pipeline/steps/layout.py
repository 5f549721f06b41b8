"""Layout: an edge list in, the stored graph out, cleaned, numbered in its running order and cut into shards.

The step is the same on every rank of a group: a rank reads its part of the edge list, writes its shards, and proves them. A group
of one reads everything, and writes all shards. A stored graph without a proof does not exist.
"""

from collections.abc import Sequence
from concurrent.futures import Future
from contextlib import ExitStack, nullcontext
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from pydantic import TypeAdapter

from kernels.arrays import ArcMemory
from kernels.graph import OFFSET, Csr, Graph
from kernels.layout.laid_out import LaidOut
from kernels.layout.on_gpu.streaming import StreamedEdges
from kernels.layout.rules import ArcRules, EdgeSource
from kernels.spans import span
from pipeline import progress
from pipeline.cluster.threads import LocalThreads
from pipeline.config.layout import LayoutConfig
from pipeline.errors import BadConfig, BadInput
from pipeline.runtime.backend import Backend
from pipeline.runtime.beyond_gpu import layout_on_host, on_gpu_or_cpu
from pipeline.runtime.memory import Shape, free_memory, require_space, return_unused
from pipeline.signals import beside
from pipeline.steps.layout_files import StoredPart, StoredShard, complete, forget_what_used, store_shards
from pipeline.steps.parallel import Parallels
from pipeline.steps.runtime import Runtime
from pipeline.steps.sources import require_sources_in
from pipeline.store.arrays import Background
from pipeline.store.edges import Columns, as_edges, bytes_of, types_of, unchanged
from pipeline.store.facts import DirectionFacts, EdgeFacts, GraphFacts
from pipeline.store.manifest import FileEntry, Folder, WrittenStep, make, unsealed
from pipeline.store.scratch import attempts_beside, shared_attempt
from pipeline.store.vertices import compare_declared

if TYPE_CHECKING:
    from kernels.distributed.communicator import Communicator
    from pipeline.cluster.protocol import TaskContext
    from pipeline.store.graph_writing import WrittenDirection

PLAIN = Parallels()
_SPARSE = 4  # edges per id up to which a graph is taken for a road network: social networks have more


def lay_out(
    edges: Folder, layout: LayoutConfig, runtime: Runtime, sources: Sequence[int] = (), parallel: Parallels = PLAIN
) -> Folder:  # fmt: skip
    """Clean an edge list and store it as a graph in `work / "graph"`: the same bytes on either backend and over any ranks.

    Args:
        sources: External ids that the graph must have, which is checked first.
        layout: `shards` is the cluster's where that holds a graph in shards. Each rank makes its own, and none holds more; if all
            are threads of this process, which holds the edges, one makes all shards.
        parallel: What becomes of parallel arcs. Merged edges are laid out in the place of those of the edge list.

    Returns:
        Read by `pipeline.store.graph.open_graph`. Facts:

        * `vertices`, `arcs`, `directed`, `symmetric`, `weight` (the edge list's Arrow type, or null), `stored_weight` (NumPy's)
        * `self_loops`, `parallel_arcs`: how many were found
        * `self_loops_dropped`, `arcs_added`, `parallel_arcs_dropped`: edges - dropped + added - dropped = arcs
        * `out`, and `in` unless symmetric: `groups` (rows from 1024 arcs, from 32, below; under `degree` and `windowed` the
          out-rows are in this order)
        * `shards`: `rows` (first, and the one after the last), and for each direction `arcs`
        * `counted`: `decimals`, and the `largest` weight in that unit, if weights are counted in it (`pipeline.store.counting`)
        * `backend`, `arcs_in` as in `GraphFacts`, and `proof`: the rules that were proved, and seconds

    Raises:
        BadConfig: Self-loops are kept, but vertices without edges are declared by them.
        BadSource: No edge has one of the sources. Nothing is written.
        Damaged: The edge list cannot be read, or a file differs from its array on the GPU (`runtime.checking` may say so later).
        BadInput: The source to which the edge list refers is not the file that was ingested, or it declares fewer vertices, or
            parallel arcs have different weights and the layout refuses them.
        ProofFailed: The stored graph is not that of the edge list. Nothing is written.
        ClusterLost: As `cluster.map`.
    """
    if EdgeFacts.of(edges).alone and layout.self_loops == "keep":
        reason = "the nodes declare vertices by self-loops (graph.node_columns.declare), which would be arcs"
        raise BadConfig(f'layout.self_loops is "keep", but {reason}; leave one of both out')
    cluster, backend, held = runtime.cluster, runtime.backend, runtime.held_edges.take(edges)
    rows, held = (parallel.merged, None) if parallel.merged else (edges, held)
    if cluster.shards and held and _shape_of(rows, layout).layout(sparing=False) > free_memory(backend):
        held = None  # ranks share what one has no memory for
    over_ranks = cluster.shards > 0 and held is None
    if cluster.shards:
        layout = layout.model_copy(update={"shards": cluster.shards})
    if not over_ranks:
        cluster = LocalThreads()  # one rank lays out the whole graph: in this process, which has all the memory
    opened, deferred = list[Graph](), list[tuple[list[Future[None]], Background | None]]()

    def write(folder: Path) -> WrittenStep:
        forget_what_used(target, inputs)
        require_sources_in(edges, sources, held)
        shape, attempts = _shape_of(rows, layout), attempts_beside(folder)

        def store(where: Backend, arcs_in: ArcMemory) -> Sequence[StoredPart]:
            nonlocal held
            held = held if (where, arcs_in) == (backend, "device") else None
            if not over_ranks:  # ranks hold a part each
                require_space(shape, where if arcs_in == "device" else "cpu", folder, held=held is not None)
            with nullcontext() if held else unchanged(rows, runtime.held_edges.sources.get(rows.digest)):
                work = partial(store_part, rows, layout, parallel.rule, Place(held, arcs_in))
                return next(iter(cluster.map(work, [attempts], where, cluster.shards)))

        needed, columns = 0 if held else shape.on_gpu, bytes_of(shape.edges, types_of(EdgeFacts.of(rows)))
        apart = over_ranks or backend == "cpu"
        on_host = 0 if apart else layout_on_host(shape, columns, parallel.rule == "keep")
        stored, *others = store(backend, "device") if apart else on_gpu_or_cpu("graph: laid out", needed, on_host, store)
        with ExitStack() as until_deferred:
            saving = until_deferred.enter_context(stored.saving) if stored.saving else None
            if (read := EdgeFacts.of(edges)).first_id is None:
                compare_declared(read.source.path, read.declared_vertices, GraphFacts.of(stored.folder).vertices)
            for path in list(stored.folder.path.iterdir()):
                path.rename(folder / path.name)
            opened.extend([stored.graph] if stored.graph else [])
            digests = {name: digest for of in (stored, *others) for name, digest in of.digests.items()}
            if saving and (runtime.checking is None or not runtime.in_this_process):
                saving.finish()
            if runtime.checking is None or not digests:
                return WrittenStep(stored.folder.facts, digests)
            until_deferred.pop_all()
            deferred.append((runtime.checking, saving))
        known = {name: FileEntry((folder / name).stat().st_size, digest) for name, digest in digests.items()}
        return WrittenStep(stored.folder.facts, {}, known)

    inputs = {"edges": edges.digest} | ({"merged": rows.digest} if parallel.merged else {})
    target = runtime.work / (parallel.folder or parallel.step)
    graph = make(target, parallel.step, inputs, layout.model_dump() | {"parallel": parallel.rule}, write)
    for checking, saving in deferred:  # writing the files, and reading them again, takes as long as the stages
        checking.append(beside(partial(complete, graph, saving)))
    holder = runtime.cluster.open_graphs if parallel.step == PLAIN.step and not runtime.ranks_of(graph) else None
    if not (opened and holder and holder.keep(graph, backend, opened[0])):
        for saving in (saving for _, saving in deferred if saving):
            saving.finish()  # its arrays take memory that the stages need
    return graph


def _shape_of(edges: Folder, layout: LayoutConfig) -> Shape:
    """Facts of a graph that are known before it is laid out."""
    facts, rules = EdgeFacts.of(edges), rules_of(edges, layout)
    return Shape(facts.edges, len(rules.declared), getattr(types_of(facts).get("weight"), "itemsize", 0), rules.both)


def suited(layout: LayoutConfig, edges: Folder, shards: int) -> LayoutConfig:
    """The layout of a graph that several ranks hold: of a sparse one, such as roads, the rows keep their locality.

    By descending degree, nearly every row of a road network has neighbours on other ranks. A stated order is kept.
    """
    largest = EdgeFacts.of(edges).largest
    ids = max((largest.get(column) or 0 for column in ("src", "dst")), default=0)
    if not shards or "order" in layout.model_fields_set or EdgeFacts.of(edges).edges > _SPARSE * ids:
        return layout
    return layout.model_copy(update={"order": "windowed"})


_SHARDS = TypeAdapter(list[StoredShard])


class Place(NamedTuple):
    """Where a single rank has edges and arcs."""

    held: Columns | None  # all edges, if they are in memory
    arcs_in: ArcMemory


def store_part(
    edges: Folder, layout: LayoutConfig, parallel: str, place: Place, context: "TaskContext", attempts: Path
) -> StoredPart:  # fmt: skip
    """Lay out a rank's share of a graph, write its shards into a folder that all ranks of this attempt share, and prove them.

    A collective.
    """
    from pipeline.steps.layout_proof import DifferentWeights, prove_layout
    from pipeline.store.edges_on_disk import open_edges
    from pipeline.store.graph import open_graph
    from pipeline.store.graph_writing import write_vertices

    ranks, rules = context.communicator, rules_of(edges, layout, parallel)
    progress.phase("reading the edges")
    return_unused()  # what reading the source has left
    backend = context.backend
    source = as_edges(place.held, backend) if place.held else open_edges(edges, backend, ranks.rank, ranks.size, place.arcs_in)
    progress.phase("ordering the rows")
    part = lay_out_part(source, rules, layout, ranks)
    return_unused()
    progress.phase("storing")
    folder = shared_attempt(attempts, ranks)
    if ranks.rank == 0:
        folder.mkdir()
    ranks.sum(0)  # the folder has to exist before any rank writes into it
    kept: dict[str, Csr] | None = {} if context.backend == "gpu" and ranks.size == 1 else None
    with ExitStack() as until_saved:
        background = until_saved.enter_context(Background())
        stored = store_shards(part, folder, background, rules.keep_parallel, kept, source.spill)
        write_vertices(folder, part, ranks)
        if kept is None:
            background.finish()  # as they are read
        dropped, self_loops = source.none().with_parts(part.dropped), part.self_loops
        del part
        shards = ranks.gather(np.frombuffer(_SHARDS.dump_json(stored, exclude_unset=True), np.uint8))
        # From here on the files of all ranks are complete, except those that are saved in the background.
        of_all = [shard for of_rank in shards for shard in _SHARDS.validate_json(of_rank.tobytes())]
        facts = _facts_of(edges, rules, of_all, self_loops, context.backend)
        if place.arcs_in == "host":
            facts = facts.model_copy(update={"arcs_in": "host"})
        laid_out = Folder(folder, unsealed("graph", facts.stored()))
        graph = open_graph(laid_out, context.backend, kept) if ranks.size == 1 else None
        progress.phase("proving")
        try:
            with span("prove graph", "proof"):
                proof = prove_layout(laid_out, graph, source, dropped, rules, context)
        except DifferentWeights as different:
            raise BadInput(EdgeFacts.of(edges).source.path, f'{different} ([graph] parallel = "error")') from None
        digests = {path.relative_to(folder).as_posix(): digest for path, digest in background.digests().items()}
        if later := kept is not None and not context.sharded:  # in the process of the run
            until_saved.pop_all()
    proved = facts.model_copy(update={"proof": proof} | _in_rows(edges, rules, facts.arcs))
    parts = Folder(folder, unsealed("graph", proved.stored()))
    return StoredPart(parts, digests, graph if kept else None, background if later else None)


def lay_out_part(
    source: EdgeSource, rules: ArcRules, layout: LayoutConfig, ranks: "Communicator", deals: bool = False
) -> LaidOut:
    """Lay out a rank's share of a graph, in memory. A collective; `deals` is that of `kernels.layout.building.build_csr`."""
    from kernels.layout.building import build_csr

    window = {"source": None, "windowed": layout.window, "degree": np.iinfo(OFFSET).max}[layout.order]
    if isinstance(source, StreamedEdges):
        from kernels.layout.on_gpu.ranges import build_in_ranges

        return build_in_ranges(source, rules, window, layout.shards)
    return build_csr(source, rules, window, ranks, layout.shards, deals)


def rules_of(edges: Folder, layout: LayoutConfig, parallel: str = PLAIN.rule) -> ArcRules:
    """Which arcs are stored of an edge list; `parallel` is the rule for those that are parallel."""
    first, declared = EdgeFacts.of(edges).first_id, EdgeFacts.of(edges).declared_vertices or 0
    return ArcRules(
        range(0) if first is None else range(first, first + declared),
        both=layout.symmetrise or not EdgeFacts.of(edges).directed,
        keep_self_loops=layout.self_loops == "keep",
        keep_parallel=parallel == "keep",
        alike=parallel == "error",
    )


def _facts_of(edges: Folder, rules: ArcRules, stored: list[StoredShard], self_loops: int, backend: Backend) -> GraphFacts:
    """Facts of a graph, from all of its shards in order, and the number of self-loops among its edges."""
    from pipeline.store.counting import counting

    edge_count = EdgeFacts.of(edges).edges
    names = list(stored[0].directions)
    arcs = sum(shard.directions["out"].sizes.arcs for shard in stored)
    dropped = 0 if rules.keep_self_loops else self_loops
    added = edge_count - self_loops if rules.both else 0
    missing = edge_count - dropped + added - arcs
    optional: dict[str, Any] = {name: _summary([shard.directions[name] for shard in stored]) for name in names}
    if (read := EdgeFacts.of(edges)).weight and read.measure:
        optional["measure"] = read.measure
    if count := counting([shard.places for shard in stored], arcs):
        optional["counted"] = count
    return GraphFacts(
        vertices=stored[-1].rows[1],
        arcs=arcs,
        directed=not rules.both,
        symmetric="in" not in names,
        weight=EdgeFacts.of(edges).weight,
        stored_weight=stored[0].directions["out"].weight,
        self_loops=self_loops,
        self_loops_dropped=dropped,
        arcs_added=added,
        parallel_arcs=sum(shard.parallel_arcs for shard in stored) if rules.keep_parallel else missing,
        parallel_arcs_dropped=missing,
        shards=[shard.facts for shard in stored],
        backend=backend,
        **optional,
    )


def _in_rows(edges: Folder, rules: ArcRules, arcs: int) -> dict[str, Any]:
    """The facts that count the rows of the source, where these were merged into the edges that were laid out."""
    merged = EdgeFacts.of(edges).merged
    if not merged:
        return {}
    dropped, added = 0 if rules.keep_self_loops else merged.self_loops, merged.rows if rules.both else 0
    missing = merged.rows + merged.self_loops - dropped + added - arcs
    counts = {"self_loops": merged.self_loops, "self_loops_dropped": dropped, "arcs_added": added}
    return counts | {"parallel_arcs": missing, "parallel_arcs_dropped": missing, "merged": merged}


def _summary(stored: "list[WrittenDirection]") -> DirectionFacts:
    """Facts of one direction of all shards."""
    return DirectionFacts(groups=[sum(group) for group in zip(*(part.groups for part in stored), strict=True)])
