"""Table `matrix`: the distances from sources to targets."""

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa

from kernels.gpu.loader import to_host
from kernels.graph import Array, Graph
from kernels.trees import Trees
from pipeline.steps.products.sweeping import Sweeps
from pipeline.steps.products.tabulating import write_files
from pipeline.steps.runtime import Runtime
from pipeline.store.facts import GraphFacts
from pipeline.store.manifest import Folder, make
from pipeline.tables import files as tables
from pipeline.tables.row_lookup import rows_of

STEP = "matrix"  # and the table


@dataclass(frozen=True)
class _Matrix:
    sweeps: Sweeps
    schema: pa.Schema
    targets: Sweeps  # which has the same graph
    cutoff: float | None

    def rows_of(self, graph: Graph, ids: Array, trees: Trees) -> Iterator[pa.RecordBatch]:
        heads = self.targets.ids
        rows = graph.derived.get((_Matrix, self.targets.parameter), lambda: rows_of(graph, heads))
        for source, distances in zip(ids.tolist(), trees.distances, strict=True):
            distance, head = to_host(distances[rows]), heads
            if self.cutoff is not None:
                near = (distance >= 0) & (distance <= self.cutoff)
                distance, head = distance[near], heads[near]
            columns = [np.full(len(head), source), head, distance.astype(self.schema.field("distance").type.to_pandas_dtype())]
            arrays = [pa.array(column, mask=column < 0) for column in columns]
            yield pa.RecordBatch.from_arrays(arrays, schema=self.schema)


def tabulate_matrix(
    graph: Folder, sources: Array | None, targets: Array | None, cutoff: float | None, out: Path, runtime: Runtime
) -> Folder:
    """Write the distances from sources to targets, a file for each range of sources of about 4 million rows.

    Args:
        sources, targets (int64 [n] or None): External ids, ascending; None: all vertices.
        cutoff: Leave out pairs that are farther apart, or not connected; None keeps all pairs.

    Returns:
        The table in `out`. Facts: `ProductFacts`.

    Raises as `tabulate_closeness`.
    """
    facts = GraphFacts.of(graph)
    product = _Matrix(Sweeps(graph, sources), tables.schema(STEP, facts.weight, 0, facts.measure), Sweeps(graph, targets), cutoff)
    per_file = max(1, tables.ROWS_PER_FILE // max(1, product.targets.count))

    def write(folder: Path) -> dict[str, Any]:
        swept = write_files(folder, product, tables.keys(STEP), per_file, runtime)
        return swept.facts(product.sweeps.count, runtime.backend).stored()

    asked = {"sources": product.sweeps.parameter, "targets": product.targets.parameter, "cutoff": cutoff}
    return make(out, STEP, {"graph": graph.digest}, asked, write)
