"""Results, charts, maps and a sentence for each stage, from the tables of a run; each table is read once."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from itertools import accumulate
from math import isinf
from typing import TYPE_CHECKING

import pyarrow as pa
import pyarrow.compute as pc

from kernels.algorithm import Algorithm, Form
from kernels.cpu.parallel import over_items
from kernels.graph import Array
from kernels.registry import BY_NAME
from pipeline.report import reading, results
from pipeline.report.aggregates import exact_sum, of_parts
from pipeline.report.changed import movement
from pipeline.report.charts import Chart
from pipeline.report.charts.distributions import component_chart, component_sizes, degree_chart, distance_chart, level_chart
from pipeline.report.products import Context, shown
from pipeline.report.reaching import Reaching, reaching
from pipeline.report.results import Result
from pipeline.report.wording import counted, number
from pipeline.signals import beside
from pipeline.store.facts import EdgeFacts, facts_of_answer
from pipeline.store.manifest import Folder
from pipeline.store.names import open_names
from pipeline.tables import files as tables

if TYPE_CHECKING:
    from pipeline.report.atlas import Atlas, Map, Marker

DRAWN_SOURCES = 3  # a source has a chart, and a list of the farthest vertices, for each stage
MAPPED_SOURCES = 100
COMPARED_SOURCES = 12
MARKED_PLACES, NAMED_PLACES = 500, 12  # of a product, on its map


@dataclass
class _Found:
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


class Findings:
    """What the tables show.

    Attributes:
        coordinates: Of the vertices; None if the graph has none.
        atlas: Where the maps are from; None without coordinates, or without a stage that has a map.
        not_drawn: Charts and maps that a reader may expect, and why they are missing.
        results: Stage to its results.
        products: The results of the products.
        tops: Table to its first rows in a stated order.
        arcs_traversed: Stage with sources to the number of arcs that leave reached vertices, over all sources.
        reaching: The section on reachability.
    """

    def __init__(
        self,
        edges: Folder,
        graph: Folder,
        answers: Mapping[str, Folder],
        products: Sequence[Folder] = (),
        changes: Folder | None = None,
    ) -> None:
        self._vertices = vertices = reading.vertices(graph)
        self.coordinates = reading.coordinates(edges)
        self._measure, self._names = EdgeFacts.of(edges).measure, open_names(edges)
        degrees = _Found(Result("Degrees"))
        moving = beside(partial(movement, changes, vertices, self._names, self._measure)) if changes else None
        degrees.add(degree_chart(vertices), "No vertex has an arc: there is no degree to draw.")
        self._mapped = _mapped(answers)
        unit = self._measure or "sum of weights"
        by_step = {product.manifest.step: product for product in products}
        context = Context(vertices, unit, by_step, self.coordinates is not None)
        parts = [shown(product, context) for product in products]
        drawn = [part.drawn for part in parts if part.drawn]
        count = len(drawn) + sum(_maps_of(stage, answers[stage]) for stage in self._mapped)
        self.atlas: Atlas | None = None
        if self.coordinates is None or not len(self.coordinates.ids):
            degrees.not_drawn.append("No map: the graph has no coordinates.")
        elif not (count := count + bool(moving and moving.result())):
            degrees.not_drawn.append("No map: no stage with a map ran.")
        else:
            from pipeline.report import atlas  # with matplotlib's colours, which take long to import

            self.atlas = atlas.Atlas(graph, self.coordinates, vertices.ids, count, self._shown)
        by_stage = dict(zip(answers, over_items(answers.items(), self._find, parallel=len(answers) > 1), strict=True))
        if moving and (found_moved := moving.result()):
            moved, chart = found_moved
            degrees.maps += [self.atlas.changes(moved)] if self.atlas else []
            degrees.charts += [chart] if chart else []
        found = [degrees, *by_stage.values(), *(_Found(part.result) for part in parts)]
        if self.atlas:
            degrees.maps += [of.on(self.atlas, self._markers(of.marked, of.what)) for of in drawn]
            degrees.not_drawn += [part.not_drawn for part in parts if part.not_drawn]
        self.charts = [chart for of in found for chart in of.charts]
        self.maps = [drawn for of in found for drawn in of.maps]
        self.not_drawn = [reason for of in found for reason in of.not_drawn]
        self.results = {stage: self.named(of.result) for stage, of in by_stage.items()}
        self.products = [self.named(part.result) for part in parts]
        self.tops = {tables.table_of(stage): result.tops for stage, result in self.results.items()}
        self.tops |= {step: result.tops for step, result in zip(by_step, self.products, strict=True)}
        self.arcs_traversed = {stage: of.arcs_traversed for stage, of in by_stage.items() if of.arcs_traversed is not None}
        self.reaching = next((of.reaching for of in found if of.reaching), None)

    def named(self, result: Result) -> Result:
        """The result, with the names of vertices if the graph has some."""
        if self._names:
            result.tops = [results.with_names(top, self._names.text) for top in result.tops]
        return result

    def _shown(self, vertex: int) -> str:
        return self._names.text(vertex) if self._names else str(vertex)

    def _markers(self, vertices: Array | None, what: str) -> Sequence["Marker"]:
        """Markers of the places of a product, with names if they are few."""
        if self.atlas is None or vertices is None:
            return ()
        few = len(vertices) <= NAMED_PLACES
        return self.atlas.markers(
            {int(one): f"{what} {self._shown(int(one))}" if few else "" for one in vertices[:MARKED_PLACES]}
        )

    def _find(self, answered: tuple[str, Folder]) -> _Found:
        stage, answer = answered
        of_form = {
            Form.PATHS: self._paths,
            Form.FOREST: self._forest,
            Form.COMPONENTS: self._components,
            Form.VALUES: self._values,
            Form.PAIRS: self._pairs,
            Form.FLOWS: self._flows,
            Form.LABELS: self._labels,
        }
        algorithm = BY_NAME[stage]
        found = _Found(Result(algorithm.title))
        found.result.sentence = of_form[algorithm.form](algorithm, answer, found)
        return found

    def _paths(self, algorithm: Algorithm, answer: Folder, found: _Found) -> str:
        name, sources = algorithm.name, facts_of_answer(answer).sources or []
        hops = _counts_hops(algorithm)
        unit = "hops" if hops else self._measure or "sum of weights"
        reached = found.arcs_traversed = 0
        for position, distance in enumerate(reading.distances(answer, len(self._vertices.ids))):
            source, near = sources[position], len(distance) - distance.null_count
            shown = self._shown(source)
            reached += near
            found.arcs_traversed += self._arcs_of(distance)
            if position < COMPARED_SOURCES:
                compared = {"vertices reached": near, "farthest": pc.max(distance).as_py()}
                found.result.figures |= {f"{name} from {shown}: {what}": value for what, value in compared.items()}
            if position < DRAWN_SOURCES:
                found.charts.append(level_chart(shown, distance) if hops else distance_chart(shown, distance, unit))
                known = results.Known.by(source, self._names)
                asked = (algorithm.table_name, unit), known, distance, self._vertices.ids, len(sources) > 1, self.coordinates
                found.result.tops.append(replace(results.farthest(*asked), title=f"Farthest from {shown}"))
            if self.atlas and name in self._mapped and position < MAPPED_SOURCES:
                found.maps.append(self.atlas.distances(source, shown, distance, unit))
        if len(sources) > DRAWN_SOURCES:
            found.not_drawn.append(
                f"{name}: the first {DRAWN_SOURCES} of {len(sources):,} sources have charts; the table has all."
            )
        if found.maps and len(sources) > MAPPED_SOURCES:
            found.not_drawn.append(f"{name}: the first {MAPPED_SOURCES} of {len(sources):,} sources have maps.")
        total = len(sources) * len(self._vertices.ids)
        rest = f"; {total - reached:,} unreached" if reached < total else ""
        return f"{counted(len(sources), 'source')}; {counted(reached, 'distance')}{rest}"

    def _arcs_of(self, distance: pa.ChunkedArray) -> int:
        """Number of arcs that leave the vertices with a distance."""
        ends = [*accumulate(map(len, distance.chunks))]
        degrees = [self._vertices.out_degree[end - len(chunk) : end] for end, chunk in zip(ends, distance.chunks, strict=True)]
        pairs = [*zip(degrees, distance.chunks, strict=True)]
        return sum(of_parts(lambda pair: int(pair[0][pair[1].is_valid().to_numpy(zero_copy_only=False)].sum()), pairs))

    def _forest(self, algorithm: Algorithm, answer: Folder, found: _Found) -> str:
        table = tables.read(answer.path, columns=["src", "dst", "weight"])
        trees, total = len(self._vertices.ids) - table.num_rows, exact_sum(table["weight"])
        found.result.figures = {f"{algorithm.name}: {what}": value for what, value in (("total weight", total), ("trees", trees))}
        if table.num_rows:
            found.result.tops.append(results.heaviest(algorithm.table_name, table))
        if self.atlas:
            found.maps.append(self.atlas.forest(answer))
        if isinf(total):
            weight = "beyond 1.8e308, the largest float64"
        else:
            weight = f"{number(total)} {self._measure}" if self._measure else number(total)
        return f"{counted(table.num_rows, 'edge')} of total weight {weight}; {counted(trees, 'tree')}"

    def _components(self, algorithm: Algorithm, answer: Folder, found: _Found) -> str:
        labels, sizes = component_sizes(answer)
        one, several = algorithm.part
        if not len(sizes):
            return f"no {one}: the graph has no vertex"
        equal = f"{counted(len(sizes), one, several)} of {counted(int(sizes[0]), 'vertex', 'vertices')}"
        found.add(component_chart(algorithm.title, sizes, several), f"{algorithm.title}: {equal}; no distribution to draw.")
        largest, single = int(sizes.max()), int((sizes == 1).sum())
        compared = {several: len(sizes), "vertices of the largest": largest}
        found.result.figures = {f"{algorithm.name}: {what}": value for what, value in compared.items()}
        found.result.tops.append(results.largest(algorithm.table_name, labels, sizes, len(self._vertices.ids), several))
        return (
            f"{counted(len(sizes), one, several)}; the largest has {counted(largest, 'vertex', 'vertices')} "
            f"({largest / len(self._vertices.ids):.2%})" + (f"; {single:,} of one vertex" if single else "")
        )

    def _values(self, algorithm: Algorithm, answer: Folder, found: _Found) -> str:
        table = tables.read(answer.path)
        if not table.num_rows:
            return "no value: the graph has no vertex"
        sentences = []
        for name in table.schema.names[1:]:
            batches = table.select(["vertex", name]).to_batches()
            first = results.highest(batches, name, results.MOST)
            vertex, highest = first["vertex"][0].as_py(), first[name][0].as_py()
            total = pc.sum(table[name]).as_py()
            share = f"; the {first.num_rows} highest have {pc.sum(first[name]).as_py() / total:.2%} of the sum" if total else ""
            sentences.append(f"vertex {self._shown(vertex)} has the highest {name}, {number(highest)}{share}")
            found.result.tops.append(results.best(algorithm.table_name, name, first))
            found.result.figures[f"{algorithm.name}: highest {name}"] = highest
            if not self._names:  # the number of a name changes when others are added
                found.result.figures[f"{algorithm.name}: vertex of it"] = vertex
        return "; ".join(sentences)

    def _pairs(self, algorithm: Algorithm, answer: Folder, found: _Found) -> str:
        vertices = tables.read(answer.path, columns=["vertex"])["vertex"]
        reach = pc.value_counts(vertices)
        counts = pa.RecordBatch.from_arrays([reach.field("values"), reach.field("counts")], ["vertex", "reached"])
        possible = len(self._vertices.ids) ** 2
        found.result.figures = {f"{algorithm.name}: pairs": len(vertices)}
        if not len(vertices):
            return "no pair: no vertex reaches another one"
        found.result.tops.append(results.most_reached(algorithm.table_name, results.highest([counts], "reached", results.MOST)))
        return f"{counted(len(vertices), 'pair')} of {possible:,} ({len(vertices) / possible:.2%})"

    def _flows(self, algorithm: Algorithm, answer: Folder, found: _Found) -> str:
        table = tables.read(answer.path)
        if not table.num_rows:
            return "no pair was asked for"
        total, none = pc.sum(table["flow"]).as_py(), pc.sum(pc.equal(table["flow"], 0)).as_py()
        found.result.figures = {f"{algorithm.name}: {what}": value for what, value in (("pairs", len(table)), ("flow", total))}
        found.result.tops.append(results.first_flows(algorithm.table_name, table.slice(0, results.MOST).to_pylist()))
        arcs = pc.sum(pc.list_value_length(table["cut_src"])).as_py()
        return f"{counted(len(table), 'pair')}, {none:,} without a flow; {counted(arcs, 'arc')} in the cuts"

    def _labels(self, algorithm: Algorithm, answer: Folder, found: _Found) -> str:
        found.reaching = reaching(answer, self._vertices, self._shown)
        found.add(found.reaching.chart, f"{algorithm.title}: all components are on one level; no distribution to draw.")
        found.result.figures = {f"{algorithm.name}: {what}": value for what, value in found.reaching.sizes.items()}
        return found.reaching.sentence


def _counts_hops(algorithm: Algorithm) -> bool:
    return any(column.unit == "hops" for column in algorithm.columns)


def _mapped(answers: Mapping[str, Folder]) -> list[str]:
    """The stages with maps: the forest, and the stage of distances that reads weights, if it ran, or the other one."""
    paths = sorted(
        (stage for stage in answers if BY_NAME[stage].form is Form.PATHS), key=lambda stage: _counts_hops(BY_NAME[stage])
    )
    return paths[:1] + [stage for stage in answers if BY_NAME[stage].form is Form.FOREST]


def _maps_of(stage: str, answer: Folder) -> int:
    return 1 if BY_NAME[stage].form is Form.FOREST else min(len(facts_of_answer(answer).sources or []), MAPPED_SOURCES)
