"""Table `nearest`: the nearest facilities of every vertex."""

from collections.abc import Iterator, Sequence
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa

from kernels.decimals import in_decimals
from kernels.gpu.loader import to_host
from kernels.graph import ID, Array, distance_dtype
from kernels.reductions import Nearest
from pipeline import progress
from pipeline.cluster.protocol import TaskContext
from pipeline.config.products.nearest import NearestConfig
from pipeline.runtime.backend import bring
from pipeline.runtime.memory import require_memory
from pipeline.steps.places.columns import PlaceColumns, ranked, with_fields
from pipeline.steps.places.files import places_at
from pipeline.steps.products.sweeping import Sweeps, Swept
from pipeline.steps.products.vertices import read_vertices
from pipeline.steps.runtime import Runtime
from pipeline.store.arrays import dtype_of
from pipeline.store.counting import decimals_of
from pipeline.store.facts import GraphFacts
from pipeline.store.manifest import Folder, make
from pipeline.store.scratch import attempts_beside, new_attempt
from pipeline.store.vertices import open_vertices
from pipeline.tables import files as tables

STEP = "nearest"  # and the table
PER_TASK = 256  # facilities


def tabulate_nearest(edges: Folder, graph: Folder, config: NearestConfig, runtime: Runtime) -> Folder:
    """Find the nearest facilities of every vertex, of equally near ones those of the smallest ids.

    Args:
        edges: The edge list, which has names and coordinates.
        runtime: The folder is `work / "nearest"`.

    Returns:
        The table, with a row for each vertex and each rank up to `count`, or to the number of facilities if that is smaller.
            Facts: `ProductFacts`.

    Raises as `read_vertices` and `tabulate_closeness`.
    """
    sweeps = Sweeps(graph, read_vertices(config.facilities, edges, graph, runtime), config.direction == "to", counted=True)
    places = places_at(config.facilities, edges, graph, runtime)
    most = min(config.count, sweeps.count)

    def write(folder: Path) -> dict[str, Any]:
        tasks, total, parts = sweeps.tasks(PER_TASK), Swept(), []
        run = partial(_find, sweeps.prepared(runtime), most, attempts_beside(folder))
        for ((path, swept),) in progress.counted(
            runtime.cluster.map(run, tasks, runtime.backend, one_at_a_time=True), list(map(len, tasks)), "facilities"
        ):
            parts.append(np.load(path, mmap_mode="r"))
            total.add(swept)
        total.rows = _write(folder, graph, parts, most, _Ranked(places, config.count) if places else None)
        return total.facts(sweeps, runtime).stored()

    parameters = {"facilities": sweeps.parameter, "count": most, "towards": sweeps.towards}
    parameters |= {"places": places.digest, "ranks": config.count} if places else {}
    return make(runtime.work / STEP, STEP, {"graph": graph.digest}, parameters, write)


def gpu_memory(config: NearestConfig, trees: int, vertices: int) -> int:
    """Bytes on the GPU of the facilities of one task, of `trees` in all."""
    return 2 * ID.itemsize * min(config.count, PER_TASK, trees) * vertices


def _find(sweeps: Sweeps, most: int, attempts: Path, context: TaskContext, part: range) -> tuple[Path, Swept]:
    """Write the nearest of some facilities: one array of rows by rank with distances and facilities, int64 or float64 bits.

    There are `most` ranks, or as many as there are facilities. Raises TooLarge before they are searched for.
    """
    sweeps, most = sweeps.for_task(), min(most, len(part))
    graph = sweeps.graph_at(context)
    what = f"nearest: {most:,} facilities for each of {graph.num_vertices:,} vertices"
    require_memory(what, 2 * ID.itemsize * most * graph.num_vertices, context.backend)
    nearest = Nearest(graph.ids, most, graph.num_vertices, distance_dtype(graph.out.weights))
    for ids, trees in sweeps.batches(context, part):
        nearest.add(trees.distances, bring(np.ascontiguousarray(ids), context.backend))
        progress.advance(len(ids))
    attempt, decimals = new_attempt(attempts).with_suffix(".npy"), decimals_of(sweeps.graph)
    distance = nearest.distance if decimals is None else in_decimals(nearest.distance, decimals)
    np.save(attempt, np.stack([to_host(distance).view(np.int64), to_host(nearest.facility)]))
    return attempt, sweeps.swept


class _Ranked(NamedTuple):
    """The places at facilities, and how many of them each vertex gets at most."""

    places: PlaceColumns
    most: int

    @property
    def ranks(self) -> int:
        """How many each vertex gets."""
        return min(self.most, len(self.places.vertices))

    def schema(self, plain: pa.Schema) -> pa.Schema:
        """That of the table, with columns of places."""
        return with_fields(plain, {"facility": self.places})


def _write(folder: Path, graph: Folder, parts: Sequence[Array], most: int, ranked_places: _Ranked | None) -> int:
    """Merge the nearest facilities of all tasks, which ascend, and write the table; return its rows."""
    facts = GraphFacts.of(graph)
    ids, rows_by_id, _, _ = open_vertices(graph)
    schema = tables.schema(STEP, facts.weight, 0, facts.measure)
    kind = dtype_of(schema.field("distance").type)
    step = max(1, tables.ROWS_PER_GROUP // max(most, ranked_places.ranks if ranked_places else 0, 1))
    written = ranked_places.schema(schema) if ranked_places else schema
    per_file = step * (tables.ROWS_PER_FILE // tables.ROWS_PER_GROUP)

    def batches(first: int) -> Iterator[pa.RecordBatch]:
        for begin in range(first, min(first + per_file, len(ids)), step):
            rows = rows_by_id[begin : begin + step]
            distance, facility = (np.concatenate([part[of][:, rows] for part in parts]) for of in range(2))
            distance = distance.view(kind)
            if len(parts) > 1:
                order = np.argsort(distance.view(np.uint64), axis=0, kind="stable")[:most]  # UNREACHED is negative, so last
                distance, facility = (np.take_along_axis(values, order, 0) for values in (distance, facility))
            ranks = np.tile(np.arange(1, most + 1), len(rows))
            columns = [np.repeat(ids[rows], most), ranks, facility.T.ravel(), distance.T.ravel()]
            arrays = [pa.array(column, mask=column < 0) for column in columns]
            batch = pa.RecordBatch.from_arrays(arrays, schema=schema)
            yield ranked(batch, ranked_places.places, ranked_places.ranks, written) if ranked_places else batch

    firsts = range(0, max(len(ids), 1), per_file)
    keys = tables.keys(STEP)
    return sum(tables.write_rows(folder / tables.file_name(n), written, keys, batches(first)) for n, first in enumerate(firsts))
