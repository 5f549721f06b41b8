"""The section on reachability: components and levels of the index, what decides random queries, and two questions."""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from kernels.graph import Array
from pipeline.report.charts import Caption, Chart
from pipeline.report.charts.distributions import chart_of_levels
from pipeline.report.reading import VertexColumns
from pipeline.report.wording import counted
from pipeline.steps.queries import WORDS, reach_proved
from pipeline.store.facts import LabelFacts
from pipeline.store.index.arrays import StoredIndex, open_index
from pipeline.store.index.folder import index_of
from pipeline.store.manifest import Folder
from pipeline.tables.row_lookup import rows_of

PAIRS = 100_000


@dataclass(frozen=True)
class Reaching:
    """The report's section on reachability."""

    sentence: str  # summary of the index
    # What decides queries of random pairs, how many of the sample each decided, and their share.
    decided: list[tuple[str, int, float]]
    checked: str  # how many searches of the sample were checked
    questions: list[tuple[str, str]]  # questions about this graph, and their answers
    chart: Chart | None  # components on each level, if there is more than one level
    sizes: dict[str, int]  # of the index


def reaching(answer: Folder, vertices: VertexColumns, shown: Callable[[int], str] = str) -> Reaching:
    """Query the stored index of stage `reachability`; pairs are drawn with seed 0, so that every run shows the same numbers.

    `shown` gives the text by which a reader knows a vertex.
    """
    index, facts = open_index(index_of(answer)), LabelFacts.of(answer)
    size = f"{counted(facts.components, 'component')} on {counted(facts.levels, 'level')}, {facts.arcs:,} arcs between them"
    if not vertices.count:
        return Reaching(size, [], "", [], None, {})
    random = np.random.default_rng(0)
    src, dst = random.integers(0, vertices.count, (2, PAIRS))
    proved = reach_proved(index, src, dst, 0)
    answers = proved.answers
    counts = np.bincount(answers.decided, minlength=len(WORDS)).tolist()
    decided = [(word, counts[number], counts[number] / PAIRS) for number, word in WORDS.items()]
    sentence = (
        f"{size}; of {PAIRS:,} random pairs {answers.reachable.mean():.2%} are reachable, and {decided[-1][2]:.2%} take a search"
    )
    checked = (
        f"Of the {counted(proved.searched, 'search', 'searches')}, {proved.witnessed:,} found a path, and each path was checked; "
        f"{proved.sampled:,} of the others were repeated by another search."
    )
    sizes = {"components": facts.components, "levels": facts.levels}
    return Reaching(
        sentence, decided, checked, _ask(index, vertices, shown, random), _level_chart(index.index.labels.level), sizes
    )


def _ask(
    index: StoredIndex, vertices: VertexColumns, shown: Callable[[int], str], random: np.random.Generator
) -> list[tuple[str, str]]:
    """Count the vertices that the vertex of highest out-degree reaches, and those that reach the one of highest in-degree."""
    most = [(int(degrees.argmax()), degrees.max()) for degrees in (vertices.out_degree, vertices.in_degree)]
    others, of = np.arange(vertices.count), f"{vertices.count:,} vertices"
    if len(others) > PAIRS:
        others, of = random.choice(vertices.count, PAIRS, replace=False), f"{PAIRS:,} vertices drawn at random"
    rows = rows_of(index, vertices.ids_at(others))
    hubs = [np.broadcast_to(rows_of(index, vertices.ids_at(np.array([position]))), rows.shape) for position, _ in most]
    answers = [reach_proved(index, src, dst, 0).answers for src, dst in ((hubs[0], rows), (rows, hubs[1]))]
    out, into = (shown(int(vertices.ids_at(np.array([position]))[0])) for position, _ in most)
    questions = [
        f"How many vertices can be reached from {out}, the vertex of highest out-degree ({most[0][1]:,})?",
        f"How many reach {into}, the vertex of highest in-degree ({most[1][1]:,})?",
    ]
    return [
        (question, f"{int(reached.reachable.sum()):,} of {of}.") for question, reached in zip(questions, answers, strict=True)
    ]


def _level_chart(level: Array) -> Chart | None:
    if not level.any():
        return None
    sizes, label = np.bincount(level), "level (arcs on the longest path that ends there)"
    total = f"{len(level):,} components on {len(sizes):,} levels"
    return chart_of_levels(Caption("Levels of the components", label, "components", total), sizes)
