"""Whether a result may be published: the limits of `[expect]`, and that nothing empty replaces what is not."""

from collections.abc import Mapping

from pipeline.config.expect import ExpectConfig
from pipeline.errors import Refused
from pipeline.steps.publication.target import Target
from pipeline.store.facts import EdgeFacts, GraphFacts
from pipeline.store.facts.run import TableFacts
from pipeline.store.manifest import Folder
from pipeline.suggestions import did_you_mean
from pipeline.tables.changes import SUFFIX
from pipeline.tables.definitions import REJECTED


def require_columns(edges: Folder, expect: ExpectConfig, target: Target) -> None:
    """Raise Refused unless the source has the expected columns."""
    facts = EdgeFacts.of(edges)
    present = sorted([*(facts.columns or {}).values(), *facts.ignored_columns])
    for name in expect.columns:
        if name not in present:
            among = (
                f"among {', '.join(map(repr, present))[:200]}{did_you_mean(name, present)}" if present else f"in {facts.format}"
            )
            raise _refused("columns", f"{facts.source.path} has no column {name!r} {among}", target)
        if facts.source.files and (lacking := facts.source.files.partly.get(name)):
            raise _refused("columns", f"{lacking} has no column {name!r}, which other files have", target)


def require_graph(graph: Folder, expect: ExpectConfig, target: Target) -> None:
    """Raise Refused unless the graph's size is as expected, and not empty after one that was not."""
    facts = GraphFacts.of(graph)
    for noun, count in (("vertices", facts.vertices), ("arcs", facts.arcs)):
        least, most = getattr(expect, f"min_{noun}"), getattr(expect, f"max_{noun}")
        before = target.previous.get("graph", {}).get(noun, 0)
        if least is not None and count < least:
            raise _refused(f"min_{noun}", f"the graph has {count:,} {noun}, the minimum is {least:,}", target)
        if most is not None and count > most:
            raise _refused(f"max_{noun}", f"the graph has {count:,} {noun}, the maximum is {most:,}", target)
        if before and not count and not expect.empty:
            raise _refused("empty", f"the graph has no {noun}, the previous one had {before:,}", target)
        if before and expect.max_change is not None and abs(count - before) > expect.max_change * before:
            change = f"{abs(count - before) / before:.1%}, the maximum is {expect.max_change:.1%}"
            raise _refused("max_change", f"the graph has {count:,} {noun} after {before:,}: a change of {change}", target)


def require_tables(tables: Mapping[str, TableFacts], expect: ExpectConfig, target: Target) -> None:
    """Raise Refused if a table is empty that was not empty before; bad rows of the source may well be gone."""
    for name, table in tables.items():
        if name.endswith(SUFFIX) or f"{name}.parquet" == REJECTED:
            continue
        before = target.previous.get("tables", {}).get(name, {}).get("rows", 0)
        if before and not table.rows and not expect.empty:
            raise _refused("empty", f"table {name} has no rows, the previous one had {before:,}", target)


def _refused(limit: str, reason: str, target: Target) -> Refused:
    stays = f", and {target.link} stays {target.previous['run']}" if "run" in target.previous else ""
    return Refused(f"expect.{limit}: {reason}; nothing is published{stays}")
