"""The report: one self-contained HTML page per run, without scripts.

`findings` reads the tables, `charts` and `maps` compute the drawings, and `page` fills the template `report.html`, whose style is
`report.css`.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any

from pipeline.runtime.backend import Backend
from pipeline.store.manifest import Folder, digest_of, make, sha256_of


def draw(
    name: str, edges: Folder, graph: Folder, answers: Sequence[Folder], proofs: Sequence[Folder], work: Path,
    backend: Backend = "cpu",
) -> Folder:  # fmt: skip
    """Write the report of a run.

    Parameters
    ----------
    name : str
        Name of the graph on the page.
    edges, graph : Folder
        The edge list (with coordinates, or none) and the stored graph.
    answers, proofs : sequence of Folder
        What `run_stage` and `prove` wrote, in any order; a stage without a proof is shown as not proved.
    backend : {"cpu", "gpu"}
        Where the run computes; the page names the GPU.

    Returns
    -------
    Folder
        `work / "report"` with `report.html`. Facts: `bytes` of the page, `maps` and `charts` on it.
    """
    from pipeline.report.machine import machine

    # The page shows times and facts, so its inputs are complete manifests, not only the content of the steps.
    inputs = {folder.manifest.step: digest_of(asdict(folder.manifest)) for folder in (edges, graph, *answers, *proofs)}
    look = {file.name: sha256_of(file) for file in sorted(Path(__file__).parent.glob("report.*"))}
    where = machine(backend)

    def write(folder: Path) -> dict[str, Any]:
        from pipeline.report.page import render

        html, facts = render(name, edges, graph, answers, proofs, where)
        (folder / "report.html").write_text(html, encoding="utf-8")
        return {"bytes": len(html.encode()), **facts}

    return make(work / "report", "report", inputs, {"name": name, "look": look, "machine": where}, write)
