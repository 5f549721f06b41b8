"""Artifacts of a run in Prefect: a summary, the report with its pictures, the first rows of each table.

They are sent to the server, so that its pages show them whichever host the worker runs on.
"""

import re
from typing import Any

from prefect.artifacts import create_markdown_artifact, create_table_artifact

from pipeline.markdown import cells, code, escaped
from pipeline.report.wording import read_as
from pipeline.steps.published.proved import proof_of_table
from pipeline.store.facts.run import RunFacts
from pipeline.store.manifest import Folder
from pipeline.strict_json import representable
from pipeline.tables import files as tables
from pipeline.tables.readable import readable

ROWS = 10


def show(published: Folder) -> None:
    """Create the artifacts of a published run, with keys NAME-summary, NAME-report and NAME-TABLE."""
    facts = RunFacts.of(published)
    name = facts.graph.name
    create_markdown_artifact(summary(published), key=key(name, "summary"))
    report = (published.path / "report.md").read_text(encoding="utf-8")
    create_markdown_artifact(report, key=key(name, "report"), description=f"The report of {published.path.name}")
    for table, described in facts.tables.items():
        create_table_artifact(
            [_shown(row) for row in readable(tables.head(published.path / table, ROWS)).to_pylist()],
            key=key(name, table),
            description=f"The first {min(ROWS, described.rows)} of {described.rows:,} rows of {code(published.path / table)}",
        )


def _shown(row: dict[str, Any]) -> dict[str, Any]:
    """A row without its geometry, which JSON cannot hold, and which the columns before it state."""
    return {column: representable(value) for column, value in row.items() if not isinstance(value, bytes)}


def key(name: str, what: str) -> str:
    """A key that Prefect accepts: lower-case letters, digits and hyphens."""
    return re.sub("[^a-z0-9]+", "-", f"{name}-{what}".lower()).strip("-")


def summary(published: Folder) -> str:
    """Tables and steps of a run, as Markdown."""
    facts = RunFacts.of(published)
    graph, proofs = facts.graph, facts.proofs
    lines = [
        f"# {escaped(graph.name)}: {graph.vertices:,} vertices, {graph.arcs:,} arcs",
        f"Published in {code(published.path)}. Its layout and the answers are proved.",
        "| read as | |\n|---|---|",
        *(f"| {cells([what, sentence])} |" for what, sentence in read_as(facts.input).items()),
        "",
        "| table | rows | proof |\n|---|---:|---|",
        *(
            f"| {cells([table, f'{described.rows:,}', proof_of_table(table, proofs).how])} |"
            for table, described in facts.tables.items()
        ),
        "\n| step | seconds | |\n|---|---:|---|",
        *(
            f"| {cells([step, f'{did.seconds:.2f}', 'still valid, skipped' if did.reused else ''])} |"
            for step, did in facts.steps.items()
        ),
    ]
    return "\n".join(lines)
