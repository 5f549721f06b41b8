"""The HTML page, from the manifests and tables of a run."""

import math
from base64 import b64encode
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cache
from hashlib import sha256
from pathlib import Path
from typing import Any

import jinja2
import pyarrow.parquet as pq

from kernels.registry import ALGORITHMS, BY_NAME
from pipeline import markdown
from pipeline.registry.graph import GRAPH_TABLES
from pipeline.report import change_tables, charts, reading, wording
from pipeline.report.findings import Findings, read_and_draw
from pipeline.report.results import MOST, Figures, Result, Top, first_pairs
from pipeline.report.wording import located, number
from pipeline.steps.publication.facts import input_of, measure_of
from pipeline.steps.publication.proved import counted_proofs
from pipeline.steps.publication.report_marks import unmarked
from pipeline.steps.publication.results import Results, custom_facts_of, proof_of_custom, proofs_of
from pipeline.store.facts import EdgeFacts, GraphFacts, PathFacts, ProofFacts, QueryFacts, facts_of_answer
from pipeline.store.facts.changes import ChangesFacts
from pipeline.store.facts.products import CustomFacts, ProductFacts
from pipeline.store.facts.run import PlaceFacts, PlaceTableFacts
from pipeline.store.manifest import Folder
from pipeline.store.names import VertexNames, open_names
from pipeline.strict_json import written
from pipeline.tables import files as tables
from pipeline.tables.points import as_text
from pipeline.units import utc

HEAD_ROWS = 6
PLACES = 100
TEMPLATES = Path(__file__).with_name("templates")


def render(results: Results, machine: Mapping[str, str]) -> tuple[dict[str, str], dict[str, Any]]:
    """Return the files of the report by their names, and facts; `machine` is shown unchanged.

    What depends on the run that publishes the report are marks, which `pipeline.steps.publication.report_marks` replaces.
    """
    edges, graph, answers, proofs = results.edges, results.graph, results.answers, results.proofs
    by_stage = {answer.manifest.step: answer for answer in answers}
    ordered = {algorithm.name: by_stage[algorithm.name] for algorithm in ALGORITHMS if algorithm.name in by_stage}
    proved = {proof.stage: proof for proof in map(ProofFacts.of, proofs)}
    findings = read_and_draw(edges, graph, ordered, [*results.products, *results.custom], results.changes, results.placed)
    facts = GraphFacts.of(graph)
    of_graph = {table.manifest.step: findings.graph.named(_of_graph(table, findings)) for table in results.of_graph}
    listed = [*findings.results.values(), *of_graph.values(), *findings.products, *map(findings.graph.named, _queries(results))]
    read_from = input_of(edges, graph, answers, capacities=results.capacities)
    heads = list(_heads(results, ordered, findings.graph.coordinates))
    custom = {tables.table_of(table.manifest.step): custom_facts_of(table) for table in results.custom}
    proofs_of_tables = {proof.stage: proof for proof in proofs_of(results)}
    directed = "directed, every arc with its reverse" if facts.symmetric else "directed"
    script = (TEMPLATES / "maps.js").read_text(encoding="utf-8")
    content = {
        "name": results.name,
        "edges": EdgeFacts.of(edges),
        "graph": facts,
        "direction": directed if facts.directed else "undirected",
        "read_as": wording.read_as(read_from) | ({"Changes": wording.changed(facts.state)} if facts.state else {}),
        "files": {"File": read_from.source, "Coordinates": read_from.coordinates, "Nodes": read_from.nodes},
        "ingest": edges.manifest,
        "layout": graph.manifest,
        "machine": machine,
        "stages": [
            *(_stage(stage, answer, proved.get(stage), findings) for stage, answer in ordered.items()),
            *map(_custom, results.custom, findings.products[len(results.products) :]),
        ],
        "products": [
            {"title": shown.title, "proof": proofs_of_tables.get(product.manifest.step), "proved": ""}
            for product, shown in zip(results.products, findings.products, strict=False)
        ],
        "changed_arcs": facts.arcs - _arcs_read(edges, facts),
        "changed": _changed(ChangesFacts.of(results.changes)) if results.changes else None,
        "results": listed,
        "maps": findings.maps,
        "atlas": findings.atlas,
        "charts": findings.charts,
        "chart_frame": charts,
        "not_drawn": findings.not_drawn,
        "heads": heads,
        "proved": counted_proofs([head["name"] for head in heads], proofs_of_tables, custom),
        "reaching": findings.reaching,
        "places": _farthest(results),
        "all_places": len(results.places) + (PlaceTableFacts.of(results.placed).rows if results.placed else 0),
        "sources": read_from.source_names or read_from.sources or [],
        "script": script,
        "script_hash": f"sha256-{b64encode(sha256(script.encode()).digest()).decode()}",
    }
    files = {name: template.render(content) for name, template in compiled_templates().items()}
    files["tops.json"] = _tops(findings.tops | {table: result.tops for table, result in of_graph.items()})
    figures: Figures = {"vertices": facts.vertices, "arcs": facts.arcs}
    for result in listed:
        figures |= {what: value for what, value in result.figures.items() if math.isfinite(value)}  # JSON has no others
    return files, {"maps": len(findings.maps), "charts": len(findings.charts), "figures": figures}


def _farthest(results: Results) -> list[PlaceFacts]:
    """The places that are listed."""
    if not (results.places or results.placed):
        return []
    from pipeline.report.places import farthest_places

    return farthest_places(results.places, results.placed, open_names(results.edges), PLACES)


def _listed(top: Top) -> dict[str, Any]:
    return {"title": top.title, "columns": top.columns, "rows": top.rows}


def _of_graph(table: Folder, findings: Findings) -> Result:
    """What a table of the stored graph shows."""
    result: Result = GRAPH_TABLES[table.manifest.step].resolve("report")(table, findings.graph)
    return result


def _tops(by_table: Mapping[str, list[Top]]) -> str:
    """The first rows of each table in a stated order, for pages that are not ours; without `<`, so also without a mark."""
    tops = {table: [_listed(top) for top in of] for table, of in by_table.items() if of}
    return written(tops, ensure_ascii=False, indent=1).replace("<", "\\u003c") + "\n"


def _arcs_read(edges: Folder, graph: GraphFacts) -> int:
    """The arcs of the graph before any changes."""
    read = EdgeFacts.of(edges).edges
    return read - graph.self_loops_dropped + graph.arcs_added - graph.parallel_arcs_dropped


def _changed(facts: ChangesFacts) -> dict[str, Any]:
    return {"heads": change_tables.HEADS, "rows": change_tables.rows_of(facts), "note": change_tables.left_out(facts)}


@cache
def compiled_templates() -> dict[str, jinja2.Template]:
    """The templates by the names of the report's files; they take as long to compile as the rest of a small graph's report."""
    environment = jinja2.Environment(
        loader=jinja2.FileSystemLoader(TEMPLATES), autoescape=jinja2.select_autoescape(["html"]),
        undefined=jinja2.StrictUndefined, trim_blocks=True, lstrip_blocks=True,
    )  # fmt: skip
    environment.policies["json.dumps_function"] = written
    environment.filters |= {"number": number, "utc": utc, "located": located, "degrees": "{:.10g}".format}
    environment.filters |= {
        "written": markdown.Markdown,
        "cells": markdown.cells,
        "code": lambda text: unmarked(markdown.code(text)),
        "fenced": markdown.fenced,
    }
    escaping = environment.overlay(finalize=markdown.escaped)  # all that is not `written`
    return {"report.html": environment.get_template("report.html"), "report.md": escaping.get_template("report.md")}


def _stage(stage: str, answer: Folder, proof: ProofFacts | None, findings: Findings) -> dict[str, Any]:
    facts, arcs = facts_of_answer(answer), findings.arcs_traversed.get(stage)
    return {
        "name": stage,
        "step": stage,
        "title": BY_NAME[stage].title,
        "answer": facts,
        "seconds": answer.manifest.seconds,
        "proof": proof,
        "sentence": findings.results[stage].sentence,
        "mteps": f"{arcs / facts.seconds / 1e6:,.1f}" if arcs and facts.seconds else "",
        "proved": "",
    }


def _custom(table: Folder, shown: Result) -> dict[str, Any]:
    """The same of a stage that the user wrote, with how it was proved in words and by which rules."""
    facts = CustomFacts.of(table)
    return {
        "name": tables.table_of(table.manifest.step),
        "step": table.manifest.step,
        "title": f"stage of {Path(facts.file).name}",
        "answer": facts,
        "seconds": table.manifest.seconds,
        "proof": proof_of_custom(table),
        "sentence": shown.sentence,
        "mteps": "",
        "proved": facts.proved,
        "rules": facts.proof.rules,
    }


def _queries(results: Results) -> Iterator[Result]:
    """The pairs that the run was asked about."""
    if not results.reached:
        return
    facts = QueryFacts.of(results.reached)
    sentence = wording.answered(facts)
    if results.paths:
        sentence += f"; {wording.witnessed(PathFacts.of(results.paths))}"
    first = tables.head(results.reached.path, MOST).to_pylist()
    figures = {"queries: pairs": facts.rows, "queries: reachable": facts.reachable}
    yield Result("Queries", sentence, [first_pairs(first)] if first else [], {**figures})


def _heads(results: Results, answers: Mapping[str, Folder], coordinates: reading.Coordinates | None) -> Iterator[dict[str, Any]]:
    first = _Heads(measure_of(results.edges, results.graph), open_names(results.edges))
    for stage, answer in answers.items():
        facts = facts_of_answer(answer)
        yield first.of(answer, tables.table_of(stage), facts.rows, facts.num_dimensions)
    for table in (*results.derived, *results.of_graph):
        yield first.of(table, table.manifest.step, table.facts["rows"])
    if results.placed:
        yield first.of(results.placed, results.placed.manifest.step, PlaceTableFacts.of(results.placed).rows)
    for product in results.products:
        yield first.of(product, product.manifest.step, ProductFacts.of(product).rows)
    for table in results.custom:
        yield first.of(table, tables.table_of(table.manifest.step), CustomFacts.of(table).rows)
    if results.reached:
        yield first.of(results.reached, "reached", QueryFacts.of(results.reached).rows)
    if results.paths:
        yield first.of(results.paths, "paths", PathFacts.of(results.paths).paths)
    if (placed := EdgeFacts.of(results.edges).coordinates) and coordinates:
        units = {"vertex": "external id", "x": placed.unit, "y": placed.unit}
        columns = [{"name": name, "unit": unit} for name, unit in units.items()]
        rows = [[first.shown(vertex, True), x, y] for vertex, x, y in coordinates.head(HEAD_ROWS)]
        yield {"name": "coordinates", "total": placed.vertices, "columns": columns, "rows": rows}


@dataclass(frozen=True)
class _Heads:
    """How the first rows of tables are shown: the unit of weights, and names instead of the numbers of vertices."""

    measure: str | None
    names: VertexNames | None

    def of(self, folder: Folder, table: str, total: int, dimensions: int = 0) -> dict[str, Any]:
        path = tables.files(folder.path)[0]
        columns = tables.describe(table, pq.read_schema(path), dimensions, self.measure)
        named = {column["name"].removesuffix("_name") for column in columns if column["name"].endswith("_name")}
        ids = [self._is_bare(column, named | ({"vertex"} if table == "vertices" else set())) for column in columns]
        rows = [[self.shown(*value) for value in zip(row, ids, strict=True)] for row in reading.head(path, HEAD_ROWS)]
        return {"name": table, "total": total, "columns": columns, "rows": rows}

    def shown(self, value: object, is_id: bool) -> object:
        """What a cell shows; a pair may have an id without a vertex, hence without a name."""
        if isinstance(value, list):
            return [self.shown(one, is_id) for one in value]
        if isinstance(value, bytes):
            return as_text(value)
        return self.names.text(value) if self.names and is_id and isinstance(value, int) and value >= 0 else value

    def _is_bare(self, column: Mapping[str, str], named: set[str]) -> bool:
        """Whether a column has numbers of vertices whose names are not in another column of the table."""
        return column["unit"].startswith("external id") and column["name"] not in named
