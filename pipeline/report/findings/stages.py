"""What the table of each stage shows: a result and a sentence, charts and maps. Each table is read once."""

from collections.abc import Collection, Mapping
from dataclasses import dataclass, field, replace
from itertools import accumulate
from math import isinf
from typing import TYPE_CHECKING

import pyarrow as pa
import pyarrow.compute as pc

from kernels.algorithm import Algorithm, Form
from kernels.graph import Array
from kernels.registry import BY_NAME
from pipeline.registry.stages import STAGES
from pipeline.report import reading, results
from pipeline.report.aggregates import of_groups, of_parts, part_of_sum, total_of
from pipeline.report.charts import Chart
from pipeline.report.charts.distributions import component_chart, component_sizes, distance_chart, level_chart
from pipeline.report.reaching import Reaching, reaching
from pipeline.report.results import Result
from pipeline.report.wording import counted, number
from pipeline.steps.publication.facts import measure_of
from pipeline.store.counting import decimals_of
from pipeline.store.facts import facts_of_answer
from pipeline.store.manifest import Folder
from pipeline.store.names import VertexNames, open_names
from pipeline.tables import files as tables

if TYPE_CHECKING:
    from pipeline.report.atlas import Atlas, Map

DRAWN_SOURCES = 3  # a source has a chart, and a list of the farthest vertices, for each stage
MAPPED_SOURCES = 100
COMPARED_SOURCES = 12


@dataclass(frozen=True)
class ReportedGraph:
    """The graph of a report: its vertices, where they are, and how they and the weights are called.

    Attributes:
        drawn_at: Where the maps show the vertices: at their coordinates or, if a small graph has none, on a plane.
        measure: The quantity and the unit of weights.
        decimals: Of the unit in which weights are counted; None if they are not.
    """

    vertices: reading.VertexColumns
    coordinates: reading.Coordinates | None
    drawn_at: reading.Coordinates | None
    names: VertexNames | None
    measure: str | None
    decimals: int | None = None

    @classmethod
    def of(cls, edges: Folder, graph: Folder) -> "ReportedGraph":
        """Read the vertices of a stored graph, and what its edge list knows of them."""
        vertices, coordinates = reading.VertexColumns(graph), reading.coordinates(edges)
        has_some = coordinates is not None and len(coordinates.ids)
        drawn_at = coordinates if has_some else reading.made_coordinates(graph, vertices)
        return cls(vertices, coordinates, drawn_at, open_names(edges), measure_of(edges, graph), decimals_of(graph))

    @property
    def unit(self) -> str:
        """The unit of sums of weights."""
        return self.measure or "sum of weights"

    def text(self, vertex: int) -> str:
        """The text by which a reader knows a vertex."""
        return self.names.text(vertex) if self.names else str(vertex)

    def named(self, result: Result) -> Result:
        """The result, with the names of vertices if the graph has some."""
        if self.names:
            result.tops = [results.with_names(top, self.names.text) for top in result.tops]
        return result


@dataclass
class TableFindings:
    """The findings from one table."""

    result: Result
    charts: list[Chart] = field(default_factory=list)
    maps: list["Map"] = field(default_factory=list)
    not_drawn: list[str] = field(default_factory=list)
    arcs_traversed: int | None = None
    reaching: Reaching | None = None

    def add(self, chart: Chart | None, otherwise: str) -> None:
        """Add a chart, or say why it is missing."""
        if chart:
            self.charts.append(chart)
        else:
            self.not_drawn.append(otherwise)


class StageReader:
    """Reads the tables of stages, and draws what they show.

    Args:
        atlas: Where the maps are from; None if none is drawn.
        mapped: The stages with maps.
    """

    def __init__(self, graph: ReportedGraph, atlas: "Atlas | None", mapped: Collection[str]) -> None:
        self._graph, self._atlas, self._mapped = graph, atlas, mapped

    def read(self, answered: tuple[str, Folder]) -> TableFindings:
        """What the table of a stage shows."""
        stage, answer = answered
        of_form = {
            Form.PATHS: self._paths,
            Form.FOREST: self._forest,
            Form.COMPONENTS: self._components,
            Form.VALUES: self._values,
            Form.EDGES: self._edges,
            Form.PAIRS: self._pairs,
            Form.FLOWS: self._flows,
            Form.LABELS: self._labels,
        }
        algorithm = BY_NAME[stage]
        findings = TableFindings(Result(algorithm.title))
        if facts_of_answer(answer).seeds:
            from pipeline.report.findings.rankings import rankings

            return TableFindings(rankings(algorithm, answer, self._graph.vertices.count, self._graph.names))
        findings.result.sentence = of_form[algorithm.form](algorithm, answer, findings)
        return findings

    def _paths(self, algorithm: Algorithm, answer: Folder, of_table: TableFindings) -> str:
        name, sources = algorithm.name, facts_of_answer(answer).sources or []
        hops = _counts_hops(algorithm)
        unit = "hops" if hops else self._graph.unit
        reached = of_table.arcs_traversed = 0
        for position, distance in enumerate(reading.distances(answer, self._graph.vertices.count)):
            source, near = sources[position], len(distance) - distance.null_count
            shown = self._graph.text(source)
            reached += near
            of_table.arcs_traversed += self._arcs_of(distance)
            if position < COMPARED_SOURCES:
                compared = {"vertices reached": near, "farthest": pc.max(distance).as_py()}
                of_table.result.figures |= {f"{name} from {shown}: {what}": value for what, value in compared.items()}
            if position < DRAWN_SOURCES:
                of_table.charts.append(level_chart(shown, distance) if hops else distance_chart(shown, distance, unit))
                known = results.Known.by(source, self._graph.names)
                vertices, several = self._graph.vertices, len(sources) > 1
                top = results.farthest((algorithm.table_name, unit), known, distance, vertices, several, self._graph.coordinates)
                of_table.result.tops.append(replace(top, title=f"Farthest from {shown}"))
            if self._atlas and name in self._mapped and position < MAPPED_SOURCES:
                of_table.maps.append(self._atlas.distances(source, shown, distance, unit))
        if len(sources) > DRAWN_SOURCES:
            of_table.not_drawn.append(
                f"{name}: the first {DRAWN_SOURCES} of {len(sources):,} sources have charts; the table has all."
            )
        if of_table.maps and len(sources) > MAPPED_SOURCES:
            of_table.not_drawn.append(f"{name}: the first {MAPPED_SOURCES} of {len(sources):,} sources have maps.")
        total = len(sources) * self._graph.vertices.count
        rest = f"; {total - reached:,} unreached" if reached < total else ""
        return f"{counted(len(sources), 'source')}; {counted(reached, 'distance')}{rest}"

    def _arcs_of(self, distance: pa.ChunkedArray) -> int:
        """Number of arcs that leave the vertices with a distance."""
        ends = [*accumulate(map(len, distance.chunks))]
        out_degree = self._graph.vertices.out_degree
        degrees = [out_degree[end - len(chunk) : end] for end, chunk in zip(ends, distance.chunks, strict=True)]
        pairs = [*zip(degrees, distance.chunks, strict=True)]

        def of_part(pair: tuple[Array, pa.Array]) -> int:
            degrees, chunk = pair
            return int((degrees[chunk.is_valid().to_numpy(zero_copy_only=False)] if chunk.null_count else degrees).sum())

        return sum(of_parts(of_part, pairs))

    def _forest(self, algorithm: Algorithm, answer: Folder, of_table: TableFindings) -> str:
        decimals = self._graph.decimals

        def of_group(rows: pa.Table) -> tuple[int, int | float, pa.Table]:
            weights = rows["weight"].combine_chunks().to_numpy()
            return rows.num_rows, part_of_sum(weights, decimals), results.highest_edges(rows, "weight")

        counts, sums, highest = zip(*of_groups(answer, ["src", "dst", "weight"], of_group), strict=True)
        edges, total = sum(counts), total_of(sums, decimals)
        trees = self._graph.vertices.count - edges
        of_table.result.figures = {
            f"{algorithm.name}: {what}": value for what, value in (("total weight", total), ("trees", trees))
        }
        if edges:
            of_table.result.tops.append(results.heaviest(algorithm.table_name, pa.concat_tables(highest)))
        if self._atlas:
            of_table.maps.append(self._atlas.forest(answer))
        if isinf(total):
            weight = "beyond 1.8e308, the largest float64"
        else:
            weight = f"{number(total)} {self._graph.measure}" if self._graph.measure else number(total)
        return f"{counted(edges, 'edge')} of total weight {weight}; {counted(trees, 'tree')}"

    def _components(self, algorithm: Algorithm, answer: Folder, of_table: TableFindings) -> str:
        labels, sizes = component_sizes(answer)
        one, several = algorithm.part
        if not len(sizes):
            return f"no {one}: the graph has no vertex"
        equal = f"{counted(len(sizes), one, several)} of {counted(int(sizes[0]), 'vertex', 'vertices')}"
        of_table.add(component_chart(algorithm.title, sizes, several), f"{algorithm.title}: {equal}; no distribution to draw.")
        largest, single = int(sizes.max()), int((sizes == 1).sum())
        compared = {several: len(sizes), "vertices of the largest": largest}
        of_table.result.figures = {f"{algorithm.name}: {what}": value for what, value in compared.items()}
        of_table.result.tops.append(results.largest(algorithm.table_name, labels, sizes, self._graph.vertices.count, several))
        return (
            f"{counted(len(sizes), one, several)}; the largest has {counted(largest, 'vertex', 'vertices')} "
            f"({largest / self._graph.vertices.count:.2%})" + (f"; {single:,} of one vertex" if single else "")
        )

    def _values(self, algorithm: Algorithm, answer: Folder, of_table: TableFindings) -> str:
        if not self._graph.vertices.count:
            return "no value: the graph has no vertex"
        stage, sentences = STAGES[algorithm.name], []
        if stage.summary:
            text, figures = stage.resolve("summary")(tables.read(answer.path))
            sentences.append(text)
            of_table.result.figures |= {f"{algorithm.name}: {what}": value for what, value in figures.items()}
        for name in stage.ranked or [column.name for column in algorithm.columns[1:]]:
            first, total = _highest_and_sum(answer, name)
            vertex, highest = first["vertex"][0].as_py(), first[name][0].as_py()
            share = f"; the {first.num_rows} highest have {pc.sum(first[name]).as_py() / total:.2%} of the sum" if total else ""
            sentences.append(f"vertex {self._graph.text(vertex)} has the highest {name}, {number(highest)}{share}")
            of_table.result.tops.append(results.best(algorithm.table_name, name, first))
            of_table.result.figures[f"{algorithm.name}: highest {name}"] = highest
            if not self._graph.names:  # the number of a name changes when others are added
                of_table.result.figures[f"{algorithm.name}: vertex of it"] = vertex
        return "; ".join(sentences)

    def _edges(self, algorithm: Algorithm, answer: Folder, of_table: TableFindings) -> str:
        table, name = tables.read(answer.path), algorithm.columns[-1].name
        if not table.num_rows:
            return "no value: the graph has no edge"
        first = results.highest_edges(table, name)
        of_table.result.tops.append(results.busiest(algorithm.table_name, first))
        highest, total = first[name][0].as_py(), pc.sum(table[name]).as_py()
        of_table.result.figures[f"{algorithm.name}: highest {name}"] = highest
        ends = " to ".join(self._graph.text(first[end][0].as_py()) for end in ("src", "dst"))
        share = f"; the {first.num_rows} highest have {pc.sum(first[name]).as_py() / total:.2%} of the sum" if total else ""
        return f"edge {ends} has the highest {name}, {number(highest)}{share}"

    def _pairs(self, algorithm: Algorithm, answer: Folder, of_table: TableFindings) -> str:
        vertices = tables.read(answer.path, columns=["vertex"])["vertex"]
        reach = pc.value_counts(vertices)
        counts = pa.RecordBatch.from_arrays([reach.field("values"), reach.field("counts")], ["vertex", "reached"])
        possible = self._graph.vertices.count**2
        of_table.result.figures = {f"{algorithm.name}: pairs": len(vertices)}
        if not len(vertices):
            return "no pair: no vertex reaches another one"
        of_table.result.tops.append(
            results.most_reached(algorithm.table_name, results.highest([counts], "reached", results.MOST))
        )
        return f"{counted(len(vertices), 'pair')} of {possible:,} ({len(vertices) / possible:.2%})"

    def _flows(self, algorithm: Algorithm, answer: Folder, of_table: TableFindings) -> str:
        table = tables.read(answer.path)
        if not table.num_rows:
            return "no pair was asked for"
        total, none = pc.sum(table["flow"]).as_py(), pc.sum(pc.equal(table["flow"], 0)).as_py()
        of_table.result.figures = {f"{algorithm.name}: {what}": value for what, value in (("pairs", len(table)), ("flow", total))}
        of_table.result.tops.append(results.first_flows(algorithm.table_name, table.slice(0, results.MOST).to_pylist()))
        arcs = pc.sum(pc.list_value_length(table["cut_src"])).as_py()
        return f"{counted(len(table), 'pair')}, {none:,} without a flow; {counted(arcs, 'arc')} in the cuts"

    def _labels(self, algorithm: Algorithm, answer: Folder, of_table: TableFindings) -> str:
        of_table.reaching = reaching(answer, self._graph.vertices, self._graph.text)
        of_table.add(of_table.reaching.chart, f"{algorithm.title}: all components are on one level; no distribution to draw.")
        of_table.result.figures = {f"{algorithm.name}: {what}": value for what, value in of_table.reaching.sizes.items()}
        return of_table.reaching.sentence


def _highest_and_sum(answer: Folder, name: str) -> tuple[pa.Table, int | float]:
    """The rows of the highest values of a column, and its sum."""

    def of_group(rows: pa.Table) -> tuple[pa.Table, int | float]:
        return results.highest(rows.to_batches(), name, results.MOST), pc.sum(rows[name]).as_py() or 0

    highest, sums = zip(*of_groups(answer, ["vertex", name], of_group), strict=True)
    return results.highest(pa.concat_tables(highest).to_batches(), name, results.MOST), sum(sums)


def _counts_hops(algorithm: Algorithm) -> bool:
    return any(column.unit == "hops" for column in algorithm.columns)


def mapped(answers: Mapping[str, Folder]) -> list[str]:
    """The stages with maps: the forest, and the stage of distances that reads weights, if it ran, or the other one."""
    paths = sorted(
        (stage for stage in answers if BY_NAME[stage].form is Form.PATHS), key=lambda stage: _counts_hops(BY_NAME[stage])
    )
    return paths[:1] + [stage for stage in answers if BY_NAME[stage].form is Form.FOREST]


def maps_of(stage: str, answer: Folder) -> int:
    """How many maps a stage with maps has."""
    return 1 if BY_NAME[stage].form is Form.FOREST else min(len(facts_of_answer(answer).sources or []), MAPPED_SOURCES)
