"""The HTML page, from the manifests and tables of a run."""

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import jinja2

from kernels.registry import ALGORITHMS, BY_NAME
from pipeline.report import charts, reading, wording
from pipeline.report.findings import Findings
from pipeline.report.wording import number, utc
from pipeline.steps.publish import Results
from pipeline.steps.reading import input_of
from pipeline.store.facts import EdgeFacts, GraphFacts, PathFacts, ProofFacts, QueryFacts, facts_of_answer
from pipeline.store.manifest import Folder
from pipeline.tables import files as tables
from pipeline.tables.points import COORDINATES

HEAD_ROWS = 6


def render(results: Results, machine: Mapping[str, str]) -> tuple[str, dict[str, Any]]:
    """Return the HTML of the page, and the numbers of `maps` and `charts` on it; `machine` is shown unchanged."""
    edges, graph, answers, proofs = results.edges, results.graph, results.answers, results.proofs
    steps = (edges, graph, *answers, *proofs)
    by_stage = {answer.manifest.step: answer for answer in answers}
    ordered = {algorithm.name: by_stage[algorithm.name] for algorithm in ALGORITHMS if algorithm.name in by_stage}
    proved = {proof.stage: proof for proof in map(ProofFacts.of, proofs)}
    vertices = reading.vertices(graph)
    findings = Findings(edges, vertices, ordered)
    loader = jinja2.FileSystemLoader(Path(__file__).parent)
    environment = jinja2.Environment(
        loader=loader, autoescape=True, undefined=jinja2.StrictUndefined, trim_blocks=True, lstrip_blocks=True
    )
    environment.filters |= {"number": number, "utc": utc}
    html = environment.get_template("report.html").render(
        name=results.name,
        edges=EdgeFacts.of(edges),
        read_as=wording.read_as(input_of(edges, graph, answers)),
        graph=GraphFacts.of(graph),
        ingest=edges.manifest,
        layout=graph.manifest,
        machine=machine,
        created=max(folder.manifest.created for folder in steps),
        stages=[_stage(stage, answer, proved.get(stage), findings) for stage, answer in ordered.items()],
        seconds=sum(folder.manifest.seconds for folder in steps),
        maps=findings.maps,
        map_note=findings.map_note,
        charts=findings.charts,
        chart_frame=charts,
        not_drawn=findings.not_drawn,
        heads=list(_heads(edges, ordered)),
        reaching=findings.reaching,
        queries=[*_queries(results)],
        sources=next((sources for answer in ordered.values() if (sources := facts_of_answer(answer).sources) is not None), []),
    )
    return html, {"maps": len(findings.maps), "charts": len(findings.charts)}


def _stage(stage: str, answer: Folder, proof: ProofFacts | None, findings: Findings) -> dict[str, Any]:
    facts, arcs = facts_of_answer(answer), findings.arcs_traversed.get(stage)
    return {
        "name": stage,
        "title": BY_NAME[stage].title,
        "answer": facts,
        "seconds": answer.manifest.seconds,
        "proof": proof,
        "sentence": findings.sentences[stage],
        "mteps": f"{arcs / facts.seconds / 1e6:,.1f}" if arcs and facts.seconds else "",
    }


def _queries(results: Results) -> Iterator[str]:
    if results.reached:
        yield wording.answered(QueryFacts.of(results.reached))
    if results.paths:
        yield wording.witnessed(PathFacts.of(results.paths))


def _heads(edges: Folder, answers: Mapping[str, Folder]) -> Iterator[dict[str, Any]]:
    for stage, answer in answers.items():
        rows = reading.head(tables.files(answer.path)[0], HEAD_ROWS)
        table, facts = tables.table_of(stage), facts_of_answer(answer)
        columns = tables.describe(table, tables.schema(table, facts.weight, facts.num_dimensions), facts.num_dimensions)
        yield {"name": table, "total": facts.rows, "columns": columns, "rows": rows}
    if placed := EdgeFacts.of(edges).coordinates:
        units = {"vertex": "external id", "x": placed.unit, "y": placed.unit}
        columns = [{"name": name, "unit": unit} for name, unit in units.items()]
        rows = reading.head(edges.path / COORDINATES, HEAD_ROWS)
        yield {"name": "coordinates", "total": placed.vertices, "columns": columns, "rows": rows}
