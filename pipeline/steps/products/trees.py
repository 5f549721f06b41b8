"""Command `trees`: the table of stage `sssp` for many sources, swept in batches."""

from collections.abc import Iterator, Sequence
from functools import partial
from pathlib import Path
from typing import Any

import pyarrow as pa

from kernels.answers import Paths
from kernels.cpu.parallel import cores
from kernels.graph import Array, distance_dtype
from pipeline import progress
from pipeline.cluster.protocol import TaskContext
from pipeline.config.products import ProductOptions
from pipeline.registry.products import PRODUCTS
from pipeline.steps.derived.names import as_named, naming
from pipeline.steps.places.given import NO_PLACES, PlacesOfCommand
from pipeline.steps.products.space import require_disk
from pipeline.steps.products.sweeping import Sweeps, Swept
from pipeline.steps.runtime import Runtime
from pipeline.store.code import HELD_GRAPH, Code
from pipeline.store.facts import GraphFacts
from pipeline.store.manifest import Folder, make
from pipeline.store.scratch import attempts_beside
from pipeline.tables import files as tables
from pipeline.tables.forms import PATHS

STEP = "trees"
TABLE = PRODUCTS[STEP].tables[0].name
_CODE = Code((__name__, *HELD_GRAPH))


def tabulate_trees(
    graph: Folder,
    vertices: Sequence[Array | None],
    options: ProductOptions,
    runtime: Runtime,
    places: PlacesOfCommand = NO_PLACES,
) -> Folder:
    """Write the shortest paths from each source: the files of stage `sssp`, byte for byte.

    Args:
        vertices (int64 [n] or None): One array, the external ids of the sources, ascending; None: all vertices.
        places: The places among the sources, whose trees are those of their vertices.

    Returns:
        The table in `asked.output`. Facts: `ProductFacts`.

    Raises:
        TooLarge: As `require_disk`.
        Damaged: The graph was replaced meanwhile.
    Otherwise as `tabulate_closeness`.
    """
    (sources,) = vertices
    sweeps, count = Sweeps(graph, sources, counted=True), GraphFacts.of(graph).vertices

    def write(folder: Path) -> dict[str, Any]:
        require_disk(folder, sweeps, _rows, _schema(graph), tables.keys(TABLE), runtime)
        tasks, total = tables.by_file(sweeps.count, count), Swept()
        run = partial(_write, sweeps.prepared(runtime), attempts_beside(folder))
        written = runtime.cluster.map(run, tasks, runtime.backend, one_at_a_time=True, code=_CODE)
        for ((paths, swept),) in progress.counted(written, list(map(len, tasks)), "sources"):
            for number, path in paths.items():
                path.rename(folder / tables.file_name(number))
            total.add(swept)
        places.write(folder, runtime)
        sweeps.require_same()
        return total.facts(sweeps, runtime).stored()

    parameters = {"sources": sweeps.parameter, **places.parameters, **as_named(runtime)}
    return make(options.output, STEP, {"graph": graph.digest}, parameters, naming(runtime, TABLE, write), _CODE)


def _schema(graph: Folder) -> pa.Schema:
    facts = GraphFacts.of(graph)
    return tables.schema(TABLE, facts.weight, 0, facts.measure)


def _write(sweeps: Sweeps, attempts: Path, context: TaskContext, part: range) -> tuple[dict[int, Path], Swept]:
    sweeps = sweeps.for_task()
    with tables.Files(attempts, _schema(sweeps.graph), tables.keys(TABLE), cores()) as files:
        for file, rows in _in_files(sweeps, context, part):
            files.write(file, rows)
        if not part:
            files.begin(0)
    sweeps.swept.rows = files.rows
    return files.paths, sweeps.swept


def _rows(sweeps: Sweeps, context: TaskContext, part: range) -> Iterator[pa.RecordBatch]:
    return (rows for _, rows in _in_files(sweeps, context, part))


def _in_files(sweeps: Sweeps, context: TaskContext, part: range) -> Iterator[tuple[int, pa.RecordBatch]]:
    """The rows of a range of sources, each batch with the number of its file."""
    held, schema, number = sweeps.held(context), _schema(sweeps.graph), part.start
    wide = distance_dtype(held.graph.out.weights)
    for _, trees in sweeps.batches(context, part, predecessors=True):
        assert trees.predecessors is not None
        for row, distances, predecessors in zip(trees.sources.tolist(), trees.distances, trees.predecessors, strict=True):
            paths = Paths(row, distances.astype(wide, copy=False), predecessors)
            yield from held.batches(PATHS, paths, schema, number)
            number += 1
            progress.advance()
