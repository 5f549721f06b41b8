"""Table `closeness`: how near each vertex is to all that it reaches, exact over all vertices."""

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from kernels.graph import Array, Graph
from kernels.reductions import measure
from kernels.trees import Trees
from pipeline.config.products.closeness import ClosenessConfig
from pipeline.errors import BadInput
from pipeline.steps.places.columns import at_places, parameters_of
from pipeline.steps.places.files import places_at
from pipeline.steps.products.sweeping import Sweeps
from pipeline.steps.products.tabulating import write_rows
from pipeline.steps.products.vertices import read_vertices
from pipeline.steps.runtime import Runtime
from pipeline.store.counting import decimals_of
from pipeline.store.facts import GraphFacts
from pipeline.store.manifest import Folder, make
from pipeline.tables import files as tables

STEP = "closeness"  # and the table


@dataclass(frozen=True)
class _Closeness:
    sweeps: Sweeps
    schema: pa.Schema

    def rows_of(self, graph: Graph, ids: Array, trees: Trees) -> Iterator[pa.RecordBatch]:
        try:
            measured = measure(trees.distances, decimals_of(self.sweeps.graph), trees.sums)
        except OverflowError as error:
            raise BadInput(self.sweeps.graph.path, f"{STEP}: {error}") from error
        others = (measured.reached - 1).astype(np.float64)
        nearness = np.divide(others, measured.total, out=np.zeros_like(others), where=measured.total > 0)
        closeness = nearness * (others / max(graph.num_vertices - 1, 1))
        columns = [ids, measured.reached, measured.total, measured.farthest, closeness]
        yield pa.RecordBatch.from_arrays([pa.array(column) for column in columns], schema=self.schema)


def tabulate_closeness(edges: Folder, graph: Folder, config: ClosenessConfig, runtime: Runtime) -> Folder:
    """Measure the distances from vertices to all that they reach.

    With n vertices reached of V, the vertex itself included, and `total` the sum of the distances to them, closeness is
    (n - 1) / total * (n - 1) / (V - 1), and 0 if `total` is 0 (Wasserman and Faust: Social Network Analysis, 1994, section 5.2),
    as NetworkX computes it on the reversed graph. The eccentricity is the largest distance to a vertex that is reached.

    Args:
        edges: The edge list, which has names and coordinates.
        runtime: The folder is `work / "closeness"`.

    Returns:
        The table. Facts: `ProductFacts`; `diameter` is the largest eccentricity, and `radius` the smallest of the vertices that
            reach most vertices; of a graph without vertices neither is there.

    Raises:
        BadInput: A distance, or a sum of distances, exceeds 64 bits.
        ProofFailed: As `Sweeps.batches`.
        ClusterLost: As `cluster.map`.
    Otherwise as `read_vertices`.
    """
    facts = GraphFacts.of(graph)
    sources = read_vertices(config.sources, edges, graph, runtime) if config.sources else None
    places = {"vertex": places_at(config.sources, edges, graph, runtime)}
    schema = tables.schema(STEP, facts.weight, 0, facts.measure)
    product = at_places(STEP, _Closeness(Sweeps(graph, sources, counted=True, summed=True), schema), places)

    def write(folder: Path) -> dict[str, Any]:
        swept, table = write_rows(folder, product, tables.keys(STEP, product.schema.names), runtime)
        facts = swept.facts(product.sweeps, runtime)
        if len(table):
            most = table.filter(pc.equal(table["reached"], pc.max(table["reached"])))
            extremes = pc.max(table["eccentricity"]).as_py(), pc.min(most["eccentricity"]).as_py()
            facts = facts.model_copy(update=dict(zip(("diameter", "radius"), extremes, strict=True)))
        return facts.stored()

    parameters = {"sources": product.sweeps.parameter} | parameters_of(places)
    return make(runtime.work / STEP, STEP, {"graph": graph.digest}, parameters, write)
