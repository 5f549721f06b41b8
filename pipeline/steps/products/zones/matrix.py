"""Table `matrix_zones`: the distances from sources to targets, by the zones of both."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa

from kernels.gpu.loader import to_host
from kernels.graph import Array
from kernels.reductions.groups import GroupSums, by_groups
from pipeline import progress
from pipeline.cluster.protocol import TaskContext
from pipeline.config.model import LARGEST
from pipeline.config.products.matrix import MatrixOptions
from pipeline.runtime.memory import require_memory
from pipeline.steps.products.matrix import largest_within
from pipeline.steps.products.sweeping import Sweeps, Swept
from pipeline.steps.products.zones import Zones, parameters, require_finite, schema_of, write_zones
from pipeline.steps.products.zones.centres import central_vertices, table_of_zones
from pipeline.steps.products.zones.recount import OF_TREES, OF_ZONES, MergedAgain, require_trees
from pipeline.steps.products.zones.weights import EndWeights
from pipeline.steps.runtime import Runtime
from pipeline.store.arrays import dtype_of
from pipeline.store.facts import GraphFacts
from pipeline.store.manifest import Folder, make
from pipeline.store.scratch import attempts_beside, new_attempt
from pipeline.store.vertices import ids_of
from pipeline.tables import files as tables

STEP = "matrix_zones"  # and the table
FOLDER = "_zones"  # in that of the table, whose readers skip names that begin like this
_PER_TASK, _ENTRIES = 1024, 1 << 22  # sources of a task, at most, and groups that its file has


@dataclass(frozen=True)
class _Targets:
    """The zones of the targets; it is sent to workers."""

    numbers: Array  # int64 [T]
    weights: Array  # float64 [T]
    count: int
    limit: Any  # distances that are larger count as none


def tabulate_matrix_zones(
    edges: Folder, graph: Folder, ends: Sequence[Array | None], options: MatrixOptions, runtime: Runtime
) -> Folder:
    """Write the least and the mean distances from the sources to the targets of each two zones.

    Args:
        edges: The edge list, which has the table of nodes.
        ends (int64 [n] or None): As `tabulate_matrix`; `cutoff` counts pairs that are farther apart as not reached.

    Returns:
        The table in `options.output`. Sums are added in the order of sources and targets, see `kernels.reductions.groups`.
            Facts: `ProductFacts`.

    Raises:
        BadConfig: A column is not in the table of nodes, or has no zones or weights; and as `EndWeights.of`.
        TooLarge: Memory does not hold what is known of all pairs of zones.
        Damaged: The graph was replaced meanwhile.
    Otherwise as `tabulate_closeness`.
    """
    assert options.zone
    facts, weights = GraphFacts.of(graph), EndWeights.of(edges, graph, options, runtime)
    zones = replace(Zones.of(edges, graph, ("matrix.zone", ""), options.zone, None, runtime.zones), weights=weights.ends[0])
    (sources, targets), beside = _ends(edges, graph, zones, ends, options, runtime)
    weighted = bool(options.zone_weight) and options.zone_ends == "every"
    schema = schema_of(STEP, facts.weight, facts.measure, zones, weighted)
    kind, heads = dtype_of(schema.field("min").type), Sweeps(graph, targets).ids
    limit: Any = np.inf if kind.kind == "f" else LARGEST
    if options.cutoff is not None:
        limit = min(limit, largest_within(options.cutoff, schema.field("min").type))
    of_targets = _rows_of(graph, heads)
    product = _Targets(zones.numbers[of_targets], weights.ends[1][of_targets], len(zones), limit)
    sweeps, pairs = Sweeps(graph, sources, targets=heads, every=options.proof == "every"), len(zones) ** 2
    require_memory(f"{STEP}: {len(zones):,} zones with each other", zones.memory_for(pairs), "cpu")

    def write(folder: Path) -> dict[str, Any]:
        tasks, total = sweeps.tasks(max(1, min(_PER_TASK, _ENTRIES // max(1, len(zones))))), Swept()
        rows, known = _rows_of(graph, sweeps.ids), GroupSums.empty((len(zones), len(zones)), kind)
        again = MergedAgain(known)
        run = partial(_group, sweeps.prepared(runtime), product, attempts_beside(folder))
        made = runtime.cluster.map(run, tasks, runtime.backend, one_at_a_time=True)
        for task, ((part, swept),) in zip(tasks, progress.counted(made, list(map(len, tasks)), "sources"), strict=True):
            of_task = rows[task.start : task.stop]
            with np.load(part) as arrays:
                added = GroupSums(**arrays), zones.numbers[of_task], zones.weights[of_task]
            known.merge(*added)
            again.add(*added)
            part.unlink()
            total.add(swept)
        require_finite(STEP, known)
        again.require_same(STEP, known)
        total.rows = _write(folder, schema, zones, known)
        if beside is not None:
            (folder / FOLDER).mkdir()
            tables.write_rows(folder / FOLDER / tables.file_name(0), beside.schema, (), beside.to_batches())
        sweeps.require_same()
        rules = [OF_TREES, OF_ZONES, *zones.rules]
        return total.facts(sweeps, runtime, sweeps.every, rules).model_copy(update=zones.figures).stored()

    keys = {"sources": sweeps.parameter, "targets": Sweeps(graph, targets).parameter, "cutoff": options.cutoff}
    keys |= {"proof": options.proof, **parameters(options.zone, options.zone_weight, zones), **weights.parameters}
    keys |= {"zone_ends": options.zone_ends} if options.zone_ends != "every" else {}
    return make(options.output, STEP, {"edges": edges.digest, "graph": graph.digest}, keys, write)


def _ends(
    edges: Folder, graph: Folder, zones: Zones, given: Sequence[Array | None], options: MatrixOptions, runtime: Runtime
) -> tuple[list[Array | None], pa.Table | None]:
    """The sources and targets, and the table of the zones; None of zones of a column that all their vertices stand for."""
    weighted, chosen = bool(options.zone_weight), dict[str, tuple[Array, Array]]()
    if options.zone_ends == "centre":
        for name, among in zip(("source", "target"), given, strict=True):
            chosen[name] = central_vertices(edges, graph, zones, weighted, among, runtime)
    elif not zones.shapes:
        return [*given], None
    ends: list[Array | None] = [np.sort(vertices) for vertices, _ in chosen.values()]
    return ends or [*given], table_of_zones(zones, chosen, weighted)


def _rows_of(graph: Folder, vertices: Array) -> Array:
    """The rows of external ids of the graph."""
    ids, rows_by_id = ids_of(graph)
    rows: Array = rows_by_id[np.searchsorted(ids[rows_by_id], vertices)]
    return rows


def _group(sweeps: Sweeps, targets: _Targets, attempts: Path, context: TaskContext, part: range) -> tuple[Path, Swept]:
    """Write what is known of some sources and the zones of targets."""
    sweeps, kind = sweeps.for_task(), np.int64 if isinstance(targets.limit, int) else np.float64
    made = [GroupSums.empty((0, targets.count), kind)]
    for ids, trees in sweeps.batches(context, part):
        distances, of_targets = to_host(trees.distances), (targets.numbers, targets.weights)
        made.append(by_groups(distances, *of_targets, targets.count, targets.limit))
        require_trees(STEP, distances, *of_targets, targets.limit, made[-1])
        progress.advance(len(ids))
    attempt = new_attempt(attempts).with_suffix(".npz")
    counts, least, sums = (np.concatenate([getattr(of, name) for of in made]) for name in ("counts", "least", "sums"))
    np.savez(attempt, counts=counts, least=least, sums=sums)
    return attempt, sweeps.swept


def _write(folder: Path, schema: pa.Schema, zones: Zones, known: GroupSums) -> int:
    count = len(zones)
    numbers = np.arange(count * count)
    columns = [zones.names.take(pa.array(of)) for of in (numbers // max(count, 1), numbers % max(count, 1))]
    flat = GroupSums(known.counts.reshape(-1, 2), known.least.ravel(), known.sums.reshape(-1, 6))
    counted = {"pairs": flat.counts[:, 0], "unreached": flat.counts[:, 1]}
    return write_zones(folder, schema, columns, flat, counted)
