"""Table `remotest`: the vertex farthest from each source, of equally far ones that of the smallest id."""

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa

from kernels.gpu.loader import to_host
from kernels.graph import Array, Graph
from kernels.trees import Trees
from pipeline.config.products.remotest import RemotestConfig
from pipeline.steps.products.sweeping import Sweeps
from pipeline.steps.products.tabulating import write_rows
from pipeline.steps.products.vertices import read_vertices
from pipeline.steps.runtime import Runtime
from pipeline.store.facts import GraphFacts
from pipeline.store.manifest import Folder, make
from pipeline.tables import files as tables

STEP = "remotest"  # and the table


@dataclass(frozen=True)
class _Remotest:
    sweeps: Sweeps
    schema: pa.Schema

    def rows_of(self, graph: Graph, ids: Array, trees: Trees) -> Iterator[pa.RecordBatch]:
        ascending = to_host(trees.distances[:, graph.rows_by_id])  # negative where there is no path
        last = ascending.argmax(axis=1)
        columns = [ids, to_host(graph.ids[graph.rows_by_id])[last], ascending[np.arange(len(ids)), last]]
        arrays = [pa.array(column, field.type) for column, field in zip(columns, self.schema, strict=True)]
        yield pa.RecordBatch.from_arrays(arrays, schema=self.schema)


def tabulate_remotest(edges: Folder, graph: Folder, config: RemotestConfig, runtime: Runtime) -> Folder:
    """Write the table to `work / "remotest"`. Facts: `ProductFacts`. Raises as `tabulate_closeness`."""
    facts = GraphFacts.of(graph)
    sources = read_vertices(config.sources, edges, graph, runtime) if config.sources else None
    product = _Remotest(Sweeps(graph, sources), tables.schema(STEP, facts.weight, 0, facts.measure))

    def write(folder: Path) -> dict[str, Any]:
        swept, _ = write_rows(folder, product, tables.keys(STEP), runtime)
        return swept.facts(product.sweeps, runtime).stored()

    return make(runtime.work / STEP, STEP, {"graph": graph.digest}, {"sources": product.sweeps.parameter}, write)
