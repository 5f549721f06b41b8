"""Charts, maps and a sentence for each stage, from the tables of a run; each table is read once."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from itertools import accumulate
from typing import TYPE_CHECKING

import pyarrow as pa
import pyarrow.compute as pc

from kernels.algorithm import Algorithm, Form
from kernels.cpu.parallel import over_items
from kernels.registry import BY_NAME
from pipeline.report import reading
from pipeline.report.aggregates import exact_sum, of_parts
from pipeline.report.charts import Chart
from pipeline.report.distributions import component_chart, component_sizes, degree_chart, distance_chart, level_chart
from pipeline.report.reaching import Reaching, reaching
from pipeline.report.wording import counted, number
from pipeline.store.facts import facts_of_answer
from pipeline.store.manifest import Folder
from pipeline.tables import files as tables

if TYPE_CHECKING:
    from pipeline.report.atlas import Map

HIGHEST = 10  # vertices whose share of the sum is stated
DRAWN_SOURCES = 3  # a source has a chart for each stage


@dataclass
class _Found:
    """What one table shows."""

    sentence: str = ""
    charts: list[Chart] = field(default_factory=list)
    not_drawn: list[str] = field(default_factory=list)
    arcs_traversed: int | None = None
    distances: tuple[int, pa.ChunkedArray] | None = None  # of the first source of shortest paths
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
        map_note: How the maps were drawn; empty without maps.
        not_drawn: Charts and maps that a reader may expect, and why they are missing.
        sentences: Stage to a summary of its answer.
        arcs_traversed: Stage with sources to the number of arcs that leave reached vertices, over all sources.
        reaching: The section on reachability.
    """

    def __init__(self, edges: Folder, vertices: reading.Vertices, answers: Mapping[str, Folder]) -> None:
        self._vertices = vertices
        degrees = _Found()
        degrees.add(degree_chart(vertices), "No vertex has an arc: there is no degree to draw.")
        by_stage = dict(zip(answers, over_items(answers.items(), self._find, parallel=len(answers) > 1), strict=True))
        found = [degrees, *by_stage.values()]
        self.charts = [chart for of in found for chart in of.charts]
        self.not_drawn = [reason for of in found for reason in of.not_drawn]
        self.sentences = {stage: of.sentence for stage, of in by_stage.items()}
        self.arcs_traversed = {stage: of.arcs_traversed for stage, of in by_stage.items() if of.arcs_traversed is not None}
        self.reaching = next((of.reaching for of in found if of.reaching), None)
        self.maps: list[Map] = []
        self.map_note = ""
        self._draw_maps(edges, answers, next((of.distances for of in found if of.distances), None))

    def _find(self, answered: tuple[str, Folder]) -> _Found:
        stage, answer = answered
        of_form = {
            Form.PATHS: self._paths,
            Form.FOREST: self._forest,
            Form.COMPONENTS: self._components,
            Form.VALUES: self._values,
            Form.LABELS: self._labels,
        }
        algorithm, found = BY_NAME[stage], _Found()
        found.sentence = of_form[algorithm.form](algorithm, answer, found)
        return found

    def _paths(self, algorithm: Algorithm, answer: Folder, found: _Found) -> str:
        name, sources = algorithm.name, facts_of_answer(answer).sources or []
        hops = any(column.unit == "hops" for column in algorithm.columns)
        reached = found.arcs_traversed = 0
        for position, distance in enumerate(reading.distances(answer, len(self._vertices.ids))):
            reached += len(distance) - distance.null_count
            found.arcs_traversed += self._arcs_of(distance)
            if position < DRAWN_SOURCES:
                found.charts.append((level_chart if hops else distance_chart)(sources[position], distance))
            if not hops and found.distances is None:
                found.distances = sources[0], distance
        if len(sources) > DRAWN_SOURCES:
            found.not_drawn.append(f"{name}: the first {DRAWN_SOURCES} of {len(sources):,} sources are drawn; the table has all.")
        total = len(sources) * len(self._vertices.ids)
        rest = f"; {total - reached:,} unreached" if reached < total else ""
        return f"{counted(len(sources), 'source')}; {counted(reached, 'distance')}{rest}"

    def _arcs_of(self, distance: pa.ChunkedArray) -> int:
        """Number of arcs that leave the vertices with a distance."""
        ends = [*accumulate(map(len, distance.chunks))]
        degrees = [self._vertices.out_degree[end - len(chunk) : end] for end, chunk in zip(ends, distance.chunks, strict=True)]
        pairs = [*zip(degrees, distance.chunks, strict=True)]
        return sum(of_parts(lambda pair: int(pair[0][pair[1].is_valid().to_numpy(zero_copy_only=False)].sum()), pairs))

    def _forest(self, _: Algorithm, answer: Folder, found: _Found) -> str:
        table = tables.read(answer.path, columns=["weight"])
        trees = len(self._vertices.ids) - table.num_rows
        return f"{counted(table.num_rows, 'edge')} of total weight {number(exact_sum(table['weight']))}; {counted(trees, 'tree')}"

    def _components(self, algorithm: Algorithm, answer: Folder, found: _Found) -> str:
        sizes = component_sizes(answer, self._vertices)
        if not len(sizes):
            return "no component: the graph has no vertex"
        equal = f"{counted(len(sizes), 'component')} of {counted(int(sizes[0]), 'vertex', 'vertices')}"
        found.add(component_chart(algorithm.title, sizes), f"{algorithm.title}: {equal}; no distribution to draw.")
        largest, single = int(sizes.max()), int((sizes == 1).sum())
        return (
            f"{counted(len(sizes), 'component')}; the largest has {counted(largest, 'vertex', 'vertices')} "
            f"({largest / len(self._vertices.ids):.2%})" + (f"; {single:,} of one vertex" if single else "")
        )

    def _values(self, _: Algorithm, answer: Folder, found: _Found) -> str:
        table = tables.read(answer.path)
        if not table.num_rows:
            return "no value: the graph has no vertex"
        return "; ".join(_highest(table, name) for name in table.schema.names[1:])

    def _labels(self, algorithm: Algorithm, answer: Folder, found: _Found) -> str:
        found.reaching = reaching(answer, self._vertices)
        found.add(found.reaching.chart, f"{algorithm.title}: all components are on one level; no distribution to draw.")
        return found.reaching.sentence

    def _draw_maps(self, edges: Folder, answers: Mapping[str, Folder], distances: tuple[int, pa.ChunkedArray] | None) -> None:
        coordinates = reading.coordinates(edges)
        if coordinates is None or not len(coordinates.ids):
            self.not_drawn.append("No map: the graph has no coordinates.")
            return
        from pipeline.report.atlas import Atlas  # with matplotlib's colours, which take long to import

        atlas = Atlas(edges, coordinates)
        if distances:
            self.maps.append(atlas.distances(self._vertices.ids, *distances))
        for stage, answer in answers.items():
            if BY_NAME[stage].form is Form.FOREST:
                self.maps.append(atlas.forest(answer))
        if self.maps:
            self.map_note = atlas.note
        else:
            self.not_drawn.append("No map: neither sssp nor mst ran.")


def _highest(table: pa.Table, name: str) -> str:
    """Which vertex has the highest value of a column, and how much of the sum the highest values make up."""
    order = [(name, "descending"), ("vertex", "ascending")]
    batches = table.select(["vertex", name]).to_batches()
    best = of_parts(lambda batch: batch.take(pc.select_k_unstable(batch, min(HIGHEST, len(batch)), order)), batches)
    first = pa.Table.from_batches(best).sort_by(order).slice(0, HIGHEST)
    vertex, highest = first["vertex"][0].as_py(), first[name][0].as_py()
    total = sum(of_parts(lambda batch: pc.sum(batch[name]).as_py(), batches))
    share = f"; the {first.num_rows} highest have {pc.sum(first[name]).as_py() / total:.2%} of the sum" if total else ""
    return f"vertex {vertex} has the highest {name}, {number(highest)}{share}"
