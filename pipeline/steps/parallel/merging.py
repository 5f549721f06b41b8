"""The step that merges parallel rows into one edge, and proves it."""

import logging
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pyarrow as pa

from kernels.cpu.parallel import over_items
from kernels.layout.parallel import SumTooLarge, merged
from kernels.layout.rules import Edges
from pipeline import progress
from pipeline.config.layout import LayoutConfig
from pipeline.errors import BadInput
from pipeline.ingest.writer import edges_schema, store
from pipeline.steps.parallel import STEP
from pipeline.steps.parallel.blocks import RangeRows, rows_of_ranges
from pipeline.steps.parallel.proof import prove_merging
from pipeline.steps.runtime import Runtime
from pipeline.store.edges import unchanged
from pipeline.store.facts import EdgeFacts
from pipeline.store.manifest import Folder, make, unsealed
from pipeline.store.names import open_names

log = logging.getLogger(__name__)
_MIRRORED = "each edge has as many rows in one direction as in the other"


def merge_parallel(edges: Folder, rule: str, layout: LayoutConfig, runtime: Runtime, order: str | None = None) -> Folder:
    """Merge the parallel rows of an edge list into the edge list `work / "merged"`, ascending by ends.

    Args:
        rule: One of `CODES`.
        order: The name of the column of order in the source, if one is stated, for the facts.

    Returns:
        As `pipeline.ingest.ingest`, with fact `merged`. Weights are int64 of `count` and of sums of integers, double of other
        sums, and otherwise of the type of the rows.

    Raises:
        BadInput: A sum exceeds 64 bits.
        Changed: The source to which the edge list refers is not the file that was ingested.
        ProofFailed: The edges are not those of the rows. Nothing is written.
    """
    both = layout.symmetrise or not EdgeFacts.of(edges).directed  # rows of reversed ends are parallel

    def write(folder: Path) -> dict[str, Any]:
        runtime.held_edges.take(edges)  # their memory is needed, and these may be on a GPU
        with unchanged(edges, runtime.held_edges.sources.get(edges.digest)):
            progress.phase("merging parallel rows")
            weight = _type_of(edges, rule)
            written = store(_merged(edges, rule, both, weight), edges_schema(weight), folder, None)
            facts = EdgeFacts.of(edges).stored()
            facts = {name: fact for name, fact in facts.items() if name not in ("refers_to", "order")}
            facts |= {"edges": written.edges, "largest": written.largest, "weight": str(weight)}
            facts |= {"measure": "rows"} if rule == "count" or EdgeFacts.of(edges).weight is None else {}
            progress.phase("proving")
            unproved = Folder(folder, unsealed(STEP, facts))
            counted = prove_merging(edges, unproved, rule, both, order)
        return EdgeFacts.model_validate(facts | {"merged": counted.stored()}).stored()

    return make(runtime.work / STEP, STEP, {"edges": edges.digest}, {"rule": rule, "both": both, "order": order}, write)


def require_unmirrored(merged: Folder, stage: str) -> None:
    """Raise BadInput where a stage would add the capacities of rows that may be both directions of one edge."""
    facts = EdgeFacts.of(merged)
    if facts.merged and facts.merged.mirrored:
        remedy = f'for stage {stage}, set parallel = "sum" for two, or parallel = "lightest" for one, below [graph]'
        raise BadInput(facts.source.path, f"{_MIRRORED}: two edges, whose capacities add up, or one edge? {remedy}")


def warn_if_mirrored(merged: Folder) -> None:
    """Warn where a rule may count both directions of one edge."""
    facts = EdgeFacts.of(merged)
    if facts.merged and facts.merged.mirrored and facts.merged.rule in ("sum", "count"):
        log.warning("%s: %s; if these are one edge, it counts twice (graph.parallel)", facts.source.path, _MIRRORED)


def _type_of(edges: Folder, rule: str) -> pa.DataType:
    """The type of the merged weights."""
    given = EdgeFacts.of(edges).weight
    kind = pa.int64() if given is None or rule == "count" else pa.type_for_alias(given)
    if rule == "sum":
        return pa.float64() if pa.types.is_floating(kind) else pa.int64()
    return kind


def _merged(edges: Folder, rule: str, both: bool, weight: pa.DataType) -> Iterator[pa.Table]:
    """The merged edges, range by range."""

    def merge(part: RangeRows) -> Edges:
        try:
            return merged(part.rows, rule, both)
        except SumTooLarge as error:
            raise _too_large(edges, part, error.row) from None

    for ranges in rows_of_ranges(edges, rule, both):
        for of_range in over_items(ranges, merge):
            columns = {"src": of_range.src, "dst": of_range.dst, "weight": pa.array(of_range.weights).cast(weight)}
            yield pa.table(columns)


def _too_large(edges: Folder, part: RangeRows, row: int) -> BadInput:
    facts, names, rows = EdgeFacts.of(edges), open_names(edges), part.rows
    assert rows.weights is not None
    src, dst = (names.text(int(end[row])) if names else str(end[row]) for end in (rows.src, rows.dst))
    limit = "is not finite" if rows.weights.dtype.kind == "f" else f"exceeds {2**63 - 1}"
    place = f"edge {int(part.numbers[row])}, from {src} to {dst} of weight {rows.weights[row]}"
    reason = f"with it the sum of the weights of parallel edges {limit}; state another rule in graph.parallel"
    return BadInput(facts.source.path, f"{place} (counted from 0): {reason}")
