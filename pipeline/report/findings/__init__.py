"""What the tables of a run show: they are read and drawn, each once, and what was found is sorted for the page."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING

from kernels.cpu.parallel import over_items
from pipeline.report import reading
from pipeline.report.change_tables import movement
from pipeline.report.charts import Chart
from pipeline.report.charts.distributions import degree_chart
from pipeline.report.findings.stages import ReportedGraph, StageReader, TableFindings, mapped, maps_of
from pipeline.report.places import called
from pipeline.report.products import Drawn, ProductPart, ReportContext, shown
from pipeline.report.reaching import Reaching
from pipeline.report.results import Result, Top
from pipeline.runtime.memory import leave_enough
from pipeline.signals import beside
from pipeline.store.manifest import Folder
from pipeline.tables import files as tables
from pipeline.tables.definitions import CUSTOM
from pipeline.tables.streets import STREETS

if TYPE_CHECKING:
    from pipeline.report.atlas import Atlas, Map, Marker

MARKED_PLACES, NAMED_PLACES = 500, 12  # of a product, on its map
_OF_ROW = 32  # bytes that are in memory at a time of a row of a table, at most


@dataclass(frozen=True)
class Findings:
    """What the tables show.

    Attributes:
        atlas: Where the maps are from; None without coordinates, or without a stage that has a map.
        not_drawn: Charts and maps that a reader may expect, and why they are missing.
        results: Stage to its results.
        products: The results of the products.
        tops: Table to its first rows in a stated order.
        arcs_traversed: Stage with sources to the number of arcs that leave reached vertices, over all sources.
        reaching: The section on reachability.
    """

    graph: ReportedGraph
    atlas: "Atlas | None"
    charts: list[Chart]
    maps: list["Map"]
    not_drawn: list[str]
    results: dict[str, Result]
    products: list[Result]
    tops: dict[str, list[Top]]
    arcs_traversed: dict[str, int]
    reaching: Reaching | None


def read_and_draw(
    edges: Folder,
    graph: Folder,
    answers: Mapping[str, Folder],
    products: Sequence[Folder] = (),
    changes: Folder | None = None,
    placed: Folder | None = None,
) -> Findings:
    """What the tables of stages, by their names in order, of products and of changes show; `placed` has places for maps."""
    reported = ReportedGraph.of(edges, graph)
    moving = beside(partial(movement, changes, reported.vertices, reported.names, reported.measure)) if changes else None
    degrees = TableFindings(Result("Degrees"))
    degrees.add(degree_chart(reported.vertices), "No vertex has an arc: there is no degree to draw.")
    by_step = {product.manifest.step: product for product in products}
    context = ReportContext(reported.vertices, reported.unit, by_step, reported.drawn_at is not None)
    parts = {step: _part(product, context) for step, product in by_step.items()}
    drawn = [(step, of) for step, part in parts.items() for of in part.maps]
    stages = mapped(answers)
    count = len(drawn) + sum(maps_of(stage, answers[stage]) for stage in stages)
    atlas, why_not = _atlas_for(edges, graph, reported, lambda: count + bool(moving and moving.result()))
    degrees.not_drawn += why_not
    reader = StageReader(reported, atlas, stages)
    # Where memory is short, the row groups of one table after the other are read at the same time
    rows = reported.vertices.count
    at_once = len(answers) > 1 and (rows <= tables.ROWS_PER_GROUP or leave_enough(_OF_ROW * rows * len(answers), "cpu"))
    by_stage = dict(zip(answers, over_items(answers.items(), reader.read, parallel=at_once), strict=True))
    if moving and (moved_and_chart := moving.result()):
        moved, chart = moved_and_chart
        degrees.maps += [atlas.changes(moved)] if atlas else []
        degrees.charts += [chart] if chart else []
    if atlas:
        degrees.maps += [of.on(atlas, _markers(atlas, reported, of, called(placed, step))) for step, of in drawn]
        degrees.not_drawn += [part.not_drawn for part in parts.values() if part.not_drawn]
        degrees.maps += [] if any(of.maps for of in (degrees, *by_stage.values())) else [atlas.network()]
    return _sorted(reported, atlas, degrees, by_stage, {step: part.result for step, part in parts.items()})


def _part(table: Folder, context: ReportContext) -> ProductPart:
    """The part of the report on the table of a product, or of a stage that the user wrote."""
    if table.manifest.step.startswith(CUSTOM):
        from pipeline.report.products.custom import show

        return show(table, context)
    return shown(table, context)


def _atlas_for(
    edges: Folder, graph: Folder, reported: ReportedGraph, count: Callable[[], int]
) -> "tuple[Atlas | None, list[str]]":
    """The atlas of `count()` maps, or None and the reason why there is none."""
    if reported.drawn_at is None:
        many = f"no coordinates, and more than {reading.MOST_MADE} vertices"
        return None, [f"No map: the graph has {many if reported.vertices.count else 'no vertex'}."]
    if not (maps := count() or reported.drawn_at.made):
        return None, ["No map: no stage with a map ran."]
    from pipeline.report.atlas import Atlas  # with matplotlib's colours, which take long to import

    streets = None
    if STREETS in edges.manifest.files:
        from pipeline.report.streets import DrawnStreets

        streets = DrawnStreets.of(edges, graph)
    return Atlas(graph, reported.drawn_at, reported.vertices.ids, maps, reported.text, streets), []


def _markers(atlas: "Atlas", graph: ReportedGraph, drawn: Drawn, names: Mapping[int, str]) -> Sequence["Marker"]:
    """Markers of the places of a product, with their names, or the ids of their vertices, if they are few."""
    if drawn.marked is None:
        return ()
    marked: list[int] = list(dict.fromkeys(drawn.marked.tolist()))
    few = len(marked) <= NAMED_PLACES
    texts = {one: f"{drawn.what} {names.get(one) or graph.text(one)}" if few else "" for one in marked[:MARKED_PLACES]}
    return atlas.markers(texts)


def _sorted(
    graph: ReportedGraph,
    atlas: "Atlas | None",
    degrees: TableFindings,
    by_stage: Mapping[str, TableFindings],
    products: Mapping[str, Result],
) -> Findings:
    """The findings by their kinds, those on degrees first, with the names of vertices."""
    every = [degrees, *by_stage.values()]
    results = {stage: graph.named(of.result) for stage, of in by_stage.items()}
    of_products = {step: graph.named(result) for step, result in products.items()}
    return Findings(
        graph=graph,
        atlas=atlas,
        charts=[chart for of in every for chart in of.charts],
        maps=[drawn for of in every for drawn in of.maps],
        not_drawn=[reason for of in every for reason in of.not_drawn],
        results=results,
        products=[*of_products.values()],
        tops={tables.table_of(stage): result.tops for stage, result in results.items()}
        | {tables.table_of(step): result.tops for step, result in of_products.items()},
        arcs_traversed={stage: of.arcs_traversed for stage, of in by_stage.items() if of.arcs_traversed is not None},
        reaching=next((of.reaching for of in every if of.reaching), None),
    )
