"""The steps that split crossings and store the split graph, and how its vertices are those of the graph of streets."""

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow.parquet as pq

from kernels.graph import Array, Graph
from pipeline.cluster.protocol import TaskContext
from pipeline.cluster.whole_graph import WholeGraph
from pipeline.config.layout import LayoutConfig
from pipeline.errors import BadConfig, BadInput
from pipeline.ingest.writer import edges_schema, store
from pipeline.runtime.backend import bring
from pipeline.steps.layout import lay_out
from pipeline.steps.parallel import Parallels
from pipeline.steps.runtime import Runtime
from pipeline.steps.turns import COPIES, MOVEMENTS, SPLIT, TURNED, has_turns
from pipeline.steps.turns.arcs import StreetArcs, read_restrictions, read_signals
from pipeline.steps.turns.costs import costs_of_signals
from pipeline.steps.turns.prefixes import forbidden_sequences
from pipeline.steps.turns.proof import prove_split
from pipeline.steps.turns.splitting import split
from pipeline.store.facts import EdgeFacts
from pipeline.store.manifest import Folder, make
from pipeline.tables.row_lookup import rows_of


@dataclass(frozen=True)
class Turned:
    """A split graph: what was split, its edge list, and the stored graph."""

    streets: Folder  # the stored graph of streets
    split: Folder
    graph: Folder

    def split_graph(self, context: TaskContext) -> WholeGraph:
        """Open the split graph."""
        return context.whole_graph(self.graph, self.streets)

    def street_graph(self, context: TaskContext) -> WholeGraph:
        """Open the graph of streets."""
        return context.whole_graph(self.streets, self.graph)

    def rows(self, context: TaskContext) -> "TurnedRows":
        """Its rows and those of the graph of streets, where the context computes."""
        whole, streets = self.split_graph(context).graph, self.street_graph(context).graph
        return whole.derived.get((TurnedRows, self.streets.digest), lambda: self._rows(whole, streets, context))

    def _rows(self, whole: Graph, streets: Graph, context: TaskContext) -> "TurnedRows":
        copies = pq.read_table(self.split.path / COPIES, page_checksum_verification=True)
        ids, vertices = (bring(copies[name].to_numpy(), context.backend) for name in ("id", "vertex"))
        is_end = bring(copies["end"].to_numpy(), context.backend)
        begin = rows_of(whole, streets.ids)
        end, crossing = begin.copy(), begin.copy()
        added, of = rows_of(whole, ids), rows_of(streets, vertices)
        end[of[is_end]] = added[is_end]
        crossing = np.empty(whole.num_vertices, streets.rows_by_id.dtype, like=whole.ids)
        crossing[begin] = np.arange(streets.num_vertices, dtype=crossing.dtype, like=whole.ids)
        crossing[added] = of
        return TurnedRows(begin, end, crossing)


@dataclass(frozen=True)
class TurnedRows:
    """The rows of a split graph.

    Attributes:
        begin, end (index width [V]): Of each crossing, where paths begin that start there, and where those end that lead there.
        crossing (index width [V']): The crossing of each.
    """

    begin: Array
    end: Array
    crossing: Array


def turned_of(
    edges: Folder, graph: Folder, layout: LayoutConfig, runtime: Runtime, steps: Callable[..., Folder]
) -> Turned | None:
    """The split graph of streets, if their turns matter; products find it in the runtime.

    Raises:
        BadConfig: The layout, or parallel rows that are merged, contradict turns.
        BadInput: A number does not fit 63 bits.
        ProofFailed: The split graph has not exactly the permitted movements.
    """
    if not has_turns(edges):
        return None
    parallel = graph.manifest.parameters.get("parallel")
    if layout.symmetrise or parallel not in ("lightest", "keep", "error"):
        given = "layout.symmetrise" if layout.symmetrise else f'graph.parallel = "{parallel}"'
        raise BadConfig(f"{given} makes other arcs than those of the streets, whose turn restrictions paths obey; leave it out, "
                        "or set restrictions = false and no turns below [graph.osm]")  # fmt: skip
    pieces = steps(SPLIT, split_crossings, edges, runtime)
    stored = steps(TURNED, lay_out, edges, layout, runtime, (), Parallels("lightest", pieces, TURNED))
    turned = Turned(graph, pieces, stored)
    runtime.turned[graph.digest] = turned
    return turned


def split_crossings(edges: Folder, runtime: Runtime) -> Folder:
    """Write the edge list of the split graph into `work / "split"`, and prove it.

    Returns:
        As `pipeline.ingest.ingest`, with int64 weights, COPIES and MOVEMENTS beside the edges, and fact `proof`.

    Raises as `turned_of`.
    """
    facts = EdgeFacts.of(edges)
    assert facts.roads and facts.roads.turns
    costs = facts.roads.turns.costs or {}
    if costs and facts.weight is None:
        raise BadConfig("graph.osm.turns has costs, but graph.columns.weight is false, so that every arc weighs 1; leave one out")

    def write(folder: Path) -> dict[str, Any]:
        arcs = StreetArcs.of(edges)
        signals = costs_of_signals(arcs, read_signals(edges), costs.get("signals", 0))
        try:
            pieces = split(arcs, forbidden_sequences(arcs, read_restrictions(edges)), signals, costs)
        except OverflowError as error:
            raise BadInput(facts.source.path, str(error)) from None
        schema = edges_schema(pieces.edges.schema.field("weight").type)
        written = store(iter([pieces.edges]), schema, folder, None)
        for name, table in ((COPIES, pieces.copies), (MOVEMENTS, pieces.movements)):
            pq.write_table(table, folder / name, compression="zstd", write_page_checksum=True)
        rules, seconds = prove_split(edges, folder)
        kept = {name: fact for name, fact in facts.stored().items() if name not in ("refers_to", "coordinates", "roads")}
        kept |= {"edges": written.edges, "largest": written.largest, "weight": "int64"}
        kept["split"] = {"copies": len(pieces.copies), "proof": {"rules": rules, "seconds": seconds}}
        return EdgeFacts.model_validate(kept).stored()

    return make(runtime.work / SPLIT, SPLIT, {"edges": edges.digest}, {}, write)
