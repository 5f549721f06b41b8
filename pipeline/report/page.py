"""What the page says, from the manifests and tables of a run, and the page itself."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import jinja2
import pyarrow as pa
import pyarrow.compute as pc

from kernels.algorithm import Form
from kernels.registry import BY_NAME
from pipeline.config.run import STAGES, StageName
from pipeline.report import charts, reading
from pipeline.report.atlas import Atlas, Map
from pipeline.report.charts import Chart
from pipeline.report.distributions import component_chart, component_sizes, degree_chart, distance_chart, level_chart
from pipeline.report.reaching import Reaching, reaching
from pipeline.report.wording import counted, number, utc
from pipeline.store.manifest import Folder
from pipeline.tables import files as tables

HEAD_ROWS = 6
HIGHEST = 10  # vertices whose share of all values is stated
DRAWN_SOURCES = 3  # a source has two charts
Answers = Mapping[StageName, Folder]


def render(
    name: str, edges: Folder, graph: Folder, answers: Sequence[Folder], proofs: Sequence[Folder], machine: Mapping[str, str]
) -> tuple[str, dict[str, Any]]:
    """HTML of the page, and how many `maps` and `charts` are on it."""
    by_stage = {answer.manifest.step: answer for answer in answers}
    ordered: Answers = {stage: by_stage[stage] for stage in STAGES if stage in by_stage}
    proved = {proof.facts["stage"]: proof for proof in proofs}
    vertices = reading.vertices(graph)
    findings = Findings(edges, vertices, ordered)
    loader = jinja2.FileSystemLoader(Path(__file__).parent)
    environment = jinja2.Environment(
        loader=loader, autoescape=True, undefined=jinja2.StrictUndefined, trim_blocks=True, lstrip_blocks=True
    )
    environment.filters |= {"number": number, "utc": utc}
    html = environment.get_template("report.html").render(
        name=name,
        edges=edges,
        graph=graph,
        machine=machine,
        created=max(folder.manifest.created for folder in (edges, graph, *answers, *proofs)),
        stages=[_stage(stage, answer, proved.get(stage), findings) for stage, answer in ordered.items()],
        seconds=sum(folder.manifest.seconds for folder in (edges, graph, *answers, *proofs)),
        maps=findings.maps,
        map_note=findings.map_note,
        charts=findings.charts,
        chart_frame=charts,
        undrawn=findings.undrawn,
        heads=list(_heads(edges, ordered)),
        reaching=findings.reaching,
        sources=next((answer.facts["sources"] for answer in ordered.values() if "sources" in answer.facts), []),
    )
    return html, {"maps": len(findings.maps), "charts": len(findings.charts)}


class Findings:
    """What the tables say, each read once: charts, maps, and a sentence for each stage.

    Attributes
    ----------
    charts : list of Chart
    maps : list of Map
    map_note : str
        How the maps were drawn; empty without maps.
    undrawn : list of str
        What has no chart or map though a reader may look for it, and why.
    says : dict
        Stage to its answer in a sentence.
    arcs_traversed : dict
        Stage with sources to the number of arcs that leave reached vertices, over all sources.
    reaching : Reaching or None
        The section on reachability.
    """

    def __init__(self, edges: Folder, vertices: reading.Vertices, answers: Answers) -> None:
        self.charts: list[Chart] = []
        self.maps: list[Map] = []
        self.map_note = ""
        self.undrawn: list[str] = []
        self.says: dict[str, str] = {}
        self.arcs_traversed: dict[str, int] = {}
        self.reaching: Reaching | None = None
        self._vertices = vertices
        self._first_distance: pa.ChunkedArray | None = None
        self._add(degree_chart(vertices), "No vertex has an arc: there is no degree to draw.")
        say = {
            Form.PATHS: self._paths,
            Form.FOREST: self._forest,
            Form.COMPONENTS: self._components,
            Form.VALUES: self._values,
            Form.LABELS: self._labels,
        }
        for stage, answer in answers.items():
            say[BY_NAME[stage].form](stage, answer)
        self._draw_maps(edges, answers)

    def _add(self, chart: Chart | None, otherwise: str) -> None:
        if chart:
            self.charts.append(chart)
        else:
            self.undrawn.append(otherwise)

    def _paths(self, stage: StageName, answer: Folder) -> None:
        sources = answer.facts["sources"]
        draw = level_chart if stage == "bfs" else distance_chart
        reached = self.arcs_traversed[stage] = 0
        for position, distance in enumerate(reading.distances(answer, len(self._vertices.ids))):
            known = distance.is_valid().to_numpy()
            reached += int(known.sum())
            self.arcs_traversed[stage] += int(self._vertices.out_degree[known].sum())
            if position < DRAWN_SOURCES:
                self.charts.append(draw(sources[position], distance))
            if stage == "sssp" and position == 0:
                self._first_distance = distance
        if len(sources) > DRAWN_SOURCES:
            self.undrawn.append(f"{stage}: the first {DRAWN_SOURCES} of {len(sources):,} sources are drawn; the table has all.")
        of = len(sources) * len(self._vertices.ids)
        rest = f"; {of - reached:,} unreached" if reached < of else ""
        self.says[stage] = f"{counted(len(sources), 'source')}; {counted(reached, 'distance')}{rest}"

    def _forest(self, stage: StageName, answer: Folder) -> None:
        table = tables.read(answer.path, columns=["weight"])
        total = sum(table["weight"].to_pylist())  # Python's integers do not overflow
        trees = len(self._vertices.ids) - table.num_rows
        self.says[stage] = f"{counted(table.num_rows, 'edge')} of total weight {number(total)}; {counted(trees, 'tree')}"

    def _components(self, stage: StageName, answer: Folder) -> None:
        sizes = component_sizes(answer)
        title = BY_NAME[stage].title
        if not len(sizes):
            self.says[stage] = "no component: the graph has no vertex"
            return
        share = sizes[-1] / len(self._vertices.ids)
        single = int((sizes == 1).sum())
        self.says[stage] = (
            f"{counted(len(sizes), 'component')}; the largest has {counted(int(sizes[-1]), 'vertex', 'vertices')} ({share:.2%})"
            + (f"; {single:,} of one vertex" if single else "")
        )
        alike = f"{counted(len(sizes), 'component')} of {counted(int(sizes[0]), 'vertex', 'vertices')}"
        self._add(component_chart(title, sizes), f"{title}: {alike}; no distribution to draw.")

    def _values(self, stage: StageName, answer: Folder) -> None:
        table = tables.read(answer.path)
        if not table.num_rows:
            self.says[stage] = "no value: the graph has no vertex"
            return
        sentences = []
        for name in table.schema.names[1:]:
            first = table.sort_by([(name, "descending"), ("vertex", "ascending")]).slice(0, HIGHEST)
            vertex, highest = first["vertex"][0].as_py(), first[name][0].as_py()
            total = pc.sum(table[name]).as_py()
            share = f"; the {first.num_rows} highest have {pc.sum(first[name]).as_py() / total:.2%} of the sum" if total else ""
            sentences.append(f"vertex {vertex} has the highest {name}, {number(highest)}{share}")
        self.says[stage] = "; ".join(sentences)

    def _labels(self, stage: StageName, answer: Folder) -> None:
        self.reaching = reaching(answer, self._vertices)
        self.says[stage] = self.reaching.says
        self._add(self.reaching.chart, f"{BY_NAME[stage].title}: all components are on one level; no distribution to draw.")

    def _draw_maps(self, edges: Folder, answers: Answers) -> None:
        places = reading.places(edges)
        if places is None or not len(places.ids):
            self.undrawn.append("No map: the graph has no coordinates.")
            return
        atlas = Atlas(edges, places)
        if self._first_distance is not None:
            source = answers["sssp"].facts["sources"][0]
            self.maps.append(atlas.distances(self._vertices.ids, source, self._first_distance))
        if "mst" in answers:
            self.maps.append(atlas.forest(answers["mst"]))
        if self.maps:
            self.map_note = atlas.note
        else:
            self.undrawn.append("No map: neither sssp nor mst ran.")


def _stage(stage: StageName, answer: Folder, proof: Folder | None, findings: Findings) -> dict[str, Any]:
    seconds = answer.facts["seconds"]
    arcs = findings.arcs_traversed.get(stage)
    return {
        "name": stage,
        "title": BY_NAME[stage].title,
        "answer": answer,
        "proof": proof,
        "says": findings.says[stage],
        "mteps": f"{arcs / seconds / 1e6:,.1f}" if arcs and seconds else "",
    }


def _heads(edges: Folder, answers: Answers) -> Iterator[dict[str, Any]]:
    for stage, answer in answers.items():
        rows = reading.head(tables.files(answer.path)[0], HEAD_ROWS)
        table = tables.table_of(stage)
        columns = tables.describe(table, answer.facts["weight"], answer.facts.get("dimensions", 0))
        yield {"name": table, "total": answer.facts["rows"], "columns": columns, "rows": rows}
    if tables.COORDINATES in edges.manifest.files:
        facts = edges.facts["coordinates"]
        units = {"vertex": "external id", "x": facts["unit"], "y": facts["unit"]}
        columns = [{"name": name, "unit": unit} for name, unit in units.items()]
        rows = reading.head(edges.path / tables.COORDINATES, HEAD_ROWS)
        yield {"name": "coordinates", "total": facts["vertices"], "columns": columns, "rows": rows}
