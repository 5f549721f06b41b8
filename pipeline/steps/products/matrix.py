"""Table `matrix`: the distances from sources to targets."""

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa

from kernels.gpu.loader import to_host
from kernels.graph import Array, Graph
from kernels.trees import Trees
from pipeline.config.products.matrix import MatrixOptions
from pipeline.steps.derived.names import as_named, naming
from pipeline.steps.places.columns import at_places
from pipeline.steps.places.given import NO_PLACES, PlacesOfCommand
from pipeline.steps.products.sweeping import Sweeps
from pipeline.steps.products.tabulating import write_files
from pipeline.steps.runtime import Runtime
from pipeline.store.arrays import dtype_of
from pipeline.store.facts import GraphFacts
from pipeline.store.manifest import Folder, make
from pipeline.tables import files as tables

STEP = "matrix"  # and the table


@dataclass(frozen=True)
class _Matrix:
    sweeps: Sweeps
    schema: pa.Schema
    cutoff: int | np.float64 | None  # the largest distance of this table that is within the cutoff

    def rows_of(self, _: Graph, ids: Array, trees: Trees) -> Iterator[pa.RecordBatch]:
        kind = dtype_of(self.schema.field("distance").type)
        heads = self.sweeps.targets
        assert heads is not None
        for source, distances in zip(ids.tolist(), to_host(trees.distances), strict=True):
            kept = slice(None) if self.cutoff is None else (distances >= 0) & (distances <= self.cutoff)
            distance, head = distances[kept], heads[kept]
            columns = [np.full(len(head), source), head, distance.astype(kind)]
            arrays = [pa.array(column, mask=column < 0) for column in columns]
            yield pa.RecordBatch.from_arrays(arrays, schema=self.schema)


def largest_within(cutoff: float, kind: pa.DataType) -> int | np.float64:
    """The largest distance of a type that is at most a cutoff, which NumPy would round to the type of the distances."""
    if pa.types.is_integer(kind):
        return math.floor(cutoff)
    rounded = float(cutoff)
    return np.float64(rounded if rounded <= cutoff else math.nextafter(rounded, 0))


def tabulate_matrix(
    graph: Folder, ends: Sequence[Array | None], options: MatrixOptions, runtime: Runtime, places: PlacesOfCommand = NO_PLACES
) -> Folder:
    """Write the distances from sources to targets, a file for each range of sources of about 4 million rows.

    Args:
        ends (int64 [n] or None): External ids of the sources and of the targets, ascending; None: all vertices.
        asked: `cutoff` leaves out pairs that are farther apart, or not connected; `proof` decides how many trees are proved.
        places: The places among the ends.

    Returns:
        The table in `asked.output`. Facts: `ProductFacts`.

    Raises:
        TooLarge: As `require_disk`.
        Damaged: The graph was replaced meanwhile.
    Otherwise as `tabulate_closeness`.
    """
    facts, (sources, targets), cutoff = GraphFacts.of(graph), ends, options.cutoff
    heads = Sweeps(graph, targets).ids
    sweeps = Sweeps(graph, sources, targets=heads, every=options.proof == "every")
    schema = tables.schema(STEP, facts.weight, 0, facts.measure)
    matrix = _Matrix(sweeps, schema, None if cutoff is None else largest_within(cutoff, schema.field("distance").type))
    product = at_places(STEP, matrix, places.beside({"source": "sources", "target": "targets"}))

    def write(folder: Path) -> dict[str, Any]:
        per_file = max(1, tables.ROWS_PER_FILE // max(1, len(heads)))
        swept = write_files(folder, product, tables.keys(STEP, product.schema.names), per_file, runtime)
        places.write(folder, runtime)
        sweeps.require_same()
        return swept.facts(sweeps, runtime, sweeps.every).stored()

    parameters: dict[str, Any] = {"sources": sweeps.parameter, "targets": Sweeps(graph, targets).parameter}
    parameters |= {"cutoff": cutoff, "proof": options.proof, **places.parameters, **as_named(runtime)}
    return make(options.output, STEP, {"graph": graph.digest}, parameters, naming(runtime, STEP, write))
