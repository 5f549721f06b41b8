"""The steps that split crossings and store the split graph."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq

from pipeline.config.layout import LayoutConfig
from pipeline.errors import BadConfig, BadInput
from pipeline.ingest.writer import edges_schema, store
from pipeline.steps.layout import lay_out
from pipeline.steps.parallel import Parallels
from pipeline.steps.runtime import Runtime
from pipeline.steps.turns import COPIES, MOVEMENTS, SPLIT, TURNED
from pipeline.steps.turns.arcs import StreetArcs, read_restrictions, read_signals
from pipeline.steps.turns.costs import costs_of_signals
from pipeline.steps.turns.prefixes import forbidden_sequences
from pipeline.steps.turns.proof import prove_split
from pipeline.steps.turns.splitting import split
from pipeline.steps.turns.turned import Turned
from pipeline.store.facts import EdgeFacts
from pipeline.store.manifest import Folder, make

_OF_STREETS = "refers_to", "coordinates", "roads", "attached"  # facts that are none of the split graph


def turned_of(
    edges: Folder, graph: Folder, layout: LayoutConfig, runtime: Runtime, steps: Callable[..., Folder],
    names: tuple[str, str] = (SPLIT, TURNED),
) -> Turned | None:  # fmt: skip
    """The split graph of streets, if their turns matter; products find it in the runtime.

    Args:
        names: Of both steps.

    Raises:
        BadConfig: The layout, or parallel rows that are merged, contradict turns.
        BadInput: A number does not fit 63 bits.
        ProofFailed: The split graph has not exactly the permitted movements.
    """
    if not EdgeFacts.of(edges).has_turns:
        return None
    parallel = graph.manifest.parameters.get("parallel")
    if layout.symmetrise or parallel not in ("lightest", "keep", "error"):
        given = "layout.symmetrise" if layout.symmetrise else f'graph.parallel = "{parallel}"'
        raise BadConfig(f"{given} makes other arcs than those of the streets, whose turn restrictions paths obey; leave it out, "
                        "or set restrictions = false and no turns below [graph.osm]")  # fmt: skip
    pieces = steps(names[0], split_crossings, edges, runtime, names[0])
    stored = steps(names[1], lay_out, edges, layout, runtime, (), Parallels("lightest", pieces, names[1]))
    turned = Turned(graph, pieces, stored)
    runtime.turned[graph.digest] = turned
    return turned


def split_crossings(edges: Folder, runtime: Runtime, step: str = SPLIT) -> Folder:
    """Write the edge list of the split graph into `work / step`, and prove it.

    Returns:
        As `pipeline.ingest.ingest`, with int64 weights, COPIES and MOVEMENTS beside the edges, and fact `split`.

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
        kept = {name: fact for name, fact in facts.stored().items() if name not in _OF_STREETS}
        kept |= {"edges": written.edges, "largest": written.largest, "weight": "int64"}
        kept["split"] = {"copies": len(pieces.copies), "rules": rules, "seconds": seconds}
        return EdgeFacts.model_validate(kept).stored()

    return make(runtime.work / step, step, {"edges": edges.digest}, {}, write)
