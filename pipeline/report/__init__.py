"""The report: a self-contained HTML page per run, which loads nothing, and a shorter one in Markdown for Prefect.

`findings` reads the tables and sorts what they show, which `results`, `charts` and `maps` compute. `page` fills the templates;
the page's own script is `templates/maps.js`.
"""

from pathlib import Path
from typing import Any

from pipeline.registry.graph import GRAPH_TABLES
from pipeline.registry.products import TABLES
from pipeline.runtime.backend import Backend
from pipeline.steps.publication.facts import described_machine
from pipeline.steps.publication.results import Results
from pipeline.steps.runtime import Runtime
from pipeline.store.code import Code
from pipeline.store.facts.run import listing
from pipeline.store.manifest import Folder, digest_of, make


def prepare_page(backend: Backend) -> None:
    """Import what the page needs, compile its templates, and read the code and the machine; a run does this while it computes."""
    from pipeline.report.page import compiled_templates

    compiled_templates()
    described_machine(backend)
    _code().version()


def draw(results: Results, runtime: Runtime) -> Folder:
    """Write the report of a run.

    Args:
        results: Answers and proofs may be in any order; a stage without a proof is shown as not proved. `report` is
            not read.
        runtime: If the backend is a GPU, the page names it.

    Returns:
        `runtime.work / "report"` with `report.html`, `report.md` and `tops.json`; publication replaces the marks in them. Facts:
        `bytes` of the page, `maps` and `charts` on it, and `figures`, by which runs are compared.
    """
    steps = (results.edges, results.graph, *results.tabled, *results.proofs, *filter(None, [results.changes]))
    # The page shows times and facts, so its inputs are complete manifests, not only the content of the steps.
    inputs = {folder.manifest.step: digest_of(vars(folder.manifest)) for folder in steps}
    where = described_machine(runtime.backend)

    def write(folder: Path) -> dict[str, Any]:
        from pipeline.report.page import render

        files, facts = render(results, where)
        for name, text in files.items():
            (folder / name).write_text(text, encoding="utf-8")
        return {"bytes": len(files["report.html"].encode()), **facts}

    parameters = {"name": results.name, "machine": where, **listing(results.places)}
    return make(runtime.work / "report", "report", inputs, parameters, write, _code())


def _code() -> Code:
    """Of the page and of what tables show on it."""
    reported = [table.report for table in TABLES.values()] + [table.report for table in GRAPH_TABLES.values()]
    return Code((__name__, *sorted({report.partition(":")[0] for report in reported if report})))
