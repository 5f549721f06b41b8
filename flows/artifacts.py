"""Artifacts of a run in Prefect: a summary, the report with its pictures, the first rows of each table in the report's order.

They are sent to the server, so that its pages show them whichever host the worker runs on.
"""

import json
import re
from pathlib import Path
from typing import Any

from prefect.artifacts import create_markdown_artifact, create_table_artifact

from pipeline.markdown import cells, code, escaped
from pipeline.report.wording import read_as
from pipeline.steps.publication.proved import proof_of_table, sentence
from pipeline.store.facts.run import RunFacts
from pipeline.store.manifest import Folder
from pipeline.strict_json import representable
from pipeline.tables import files as tables
from pipeline.tables.points import as_text
from pipeline.tables.readable import readable

ROWS = 10


def show(published: Folder) -> None:
    """Create the artifacts of a published run, with keys NAME-summary, NAME-report and NAME-TABLE."""
    facts = RunFacts.of(published)
    name = facts.graph.name
    create_markdown_artifact(summary(published), key=key(name, "summary"))
    report = (published.path / "report.md").read_text(encoding="utf-8")
    create_markdown_artifact(report, key=key(name, "report"), description=f"The report of {published.path.name}")
    tops = json.loads((published.path / "tops.json").read_text(encoding="utf-8"))
    for table, described in facts.tables.items():
        rows, said = _top(tops[table]) if table in tops else _first(published.path / table, described.rows)
        of = f"of {described.rows:,} rows of {code(published.path / table)}"
        create_table_artifact(rows, key=key(name, table), description=f"{said} {of}")


def _top(lists: list[dict[str, Any]]) -> tuple[list[dict[str, Any]], str]:
    """The first rows of a table in the report's order, and what they are; of several lists, each row has the title of its own."""
    titled = [({"list": top["title"]} if len(lists) > 1 else {}, top) for top in lists]
    rows = [title | dict(zip(top["columns"], row, strict=True)) for title, top in titled for row in top["rows"]]
    return rows, f"{escaped(lists[0]['title'])}{' and more' if len(lists) > 1 else ''}:"


def _first(table: Path, rows: int) -> tuple[list[dict[str, Any]], str]:
    """The first rows of a table that has no other order."""
    first = readable(tables.head(table, ROWS)).to_pylist()
    shown = [{column: as_text(value) if isinstance(value, bytes) else value for column, value in row.items()} for row in first]
    return representable(shown), f"The first {min(ROWS, rows)}"


def key(name: str, what: str) -> str:
    """A key that Prefect accepts: lower-case letters, digits and hyphens."""
    return re.sub("[^a-z0-9]+", "-", f"{name}-{what}".lower()).strip("-")


def summary(published: Folder) -> str:
    """Tables and steps of a run, as Markdown."""
    facts = RunFacts.of(published)
    graph, proofs, custom = facts.graph, facts.proofs, facts.custom or {}
    lines = [
        f"# {escaped(graph.name)}: {graph.vertices:,} vertices, {graph.arcs:,} arcs",
        f"Published in {code(published.path)}. Its layout is proved; {sentence(facts.custom)}.",
        "| read as | |\n|---|---|",
        *(f"| {cells([what, how])} |" for what, how in read_as(facts.input).items()),
        "",
        "| table | rows | proof |\n|---|---:|---|",
        *(
            f"| {cells([table, f'{described.rows:,}', proof_of_table(table, proofs, custom).how])} |"
            for table, described in facts.tables.items()
        ),
        "\n| step | seconds | |\n|---|---:|---|",
        *(
            f"| {cells([step, f'{did.seconds:.2f}', 'still valid, skipped' if did.reused else ''])} |"
            for step, did in facts.steps.items()
        ),
    ]
    return "\n".join(lines)
