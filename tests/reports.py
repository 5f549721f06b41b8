"""Reports of small graphs through the real steps, and a page read back as a reader's tools see it."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from html.parser import HTMLParser
from pathlib import Path

from pipeline.comparison.tabulate import tabulate_changes
from pipeline.comparison.versions import of_step
from pipeline.config.graph import GraphConfig
from pipeline.config.layout import LayoutConfig
from pipeline.config.run import STAGES
from pipeline.ingest import ingest
from pipeline.report import draw
from pipeline.steps.layout import lay_out
from pipeline.steps.publication.publish import publish
from pipeline.steps.publication.results import Results
from pipeline.steps.runtime import Runtime
from pipeline.steps.stages import run_stage
from pipeline.steps.verify import prove
from pipeline.store.manifest import Folder
from pipeline.tables.files import table_of
from tests.graphs import EdgeList


@dataclass(frozen=True)
class Steps:
    """The folders of a run, and its report."""

    work: Path
    edges: Folder
    graph: Folder
    answers: list[Folder]
    proofs: list[Folder]

    def draw(self, name: str = "a graph", before: "Steps | None" = None) -> Folder:
        """The report; with `before` also of the changes since these steps."""
        results = Results(name, self.edges, self.graph, self.answers, self.proofs)
        if before:
            versions = [{table_of(answer.manifest.step): of_step(answer) for answer in steps.answers} for steps in (before, self)]
            results = replace(results, changes=tabulate_changes(self.work / "change_tables", *versions))
        return draw(results, Runtime(self.work))

    def publish(self, output: Path, name: str = "a graph") -> Folder:
        """The run with its report."""
        output.joinpath("runs").mkdir(parents=True, exist_ok=True)
        return publish(output, Results(name, self.edges, self.graph, self.answers, self.proofs, self.draw(name)))

    def page(self, name: str = "a graph", before: "Steps | None" = None) -> "Page":
        return Page((self.draw(name, before).path / "report.html").read_text(encoding="utf-8"))


def run(
    work: Path, text: str, places: str | None = None, stages: Iterable[str] = STAGES, sources: Sequence[int] = (),
    oracle: bool = False, directed: bool | None = None,
) -> Steps:  # fmt: skip
    """Ingest the text of an edge list, and of a `.co` file, and take every step up to the report."""
    work.mkdir(exist_ok=True)
    source = work / ("graph.gr" if text.startswith("p sp") else "graph.csv")
    source.write_text(text, encoding="utf-8")
    if places:
        (work / "graph.co").write_text(places, encoding="utf-8")
    config = GraphConfig(source=str(source), coordinates=str(work / "graph.co") if places else None, directed=directed)
    edges = ingest(config, work)
    graph = lay_out(edges, LayoutConfig(), Runtime(work))
    answers = [run_stage(graph, stage, sources, Runtime(work)) for stage in stages]
    return Steps(work, edges, graph, answers, [prove(graph, answer, oracle, Runtime(work)) for answer in answers])


def csv_of(edges: EdgeList) -> str:
    """CSV of an edge list; an isolated vertex is a self-loop, which the layout drops."""
    rows = [*edges.edges, *((vertex, vertex, 1)[: 3 if edges.weighted else 2] for vertex in edges.vertices)]
    lines = [("src", "dst", "weight")[: 3 if edges.weighted else 2], *rows]
    return "".join(",".join(map(str, line)) + "\n" for line in lines)


def grid(side: int) -> tuple[str, str]:
    """`.gr` and `.co` texts of a square grid with weights 1 to 7 and a hundredth of a degree between its vertices."""
    ids = {(x, y): 1 + x + side * y for y in range(side) for x in range(side)}
    arcs = [
        f"a {a} {b} {1 + (3 * x + 5 * y) % 7}\n"
        for (x, y), vertex in ids.items()
        for far in ((x + 1, y), (x, y + 1))
        if far in ids
        for a, b in ((vertex, ids[far]), (ids[far], vertex))
    ]
    lines = [f"v {vertex} {10_000 * x} {40_000_000 + 10_000 * y}\n" for (x, y), vertex in ids.items()]
    return f"p sp {side**2} {len(arcs)}\n" + "".join(arcs), f"p aux sp co {side**2}\n" + "".join(lines)


class Page(HTMLParser):
    """What is on a page: `tags` with their attributes, the text, and every table's rows."""

    def __init__(self, html: str) -> None:
        super().__init__()
        self.html = html
        self.tags: list[tuple[str, dict[str, str]]] = []
        self.tables: list[list[list[str]]] = []
        self.words: list[str] = []
        self._open: list[str] = []
        self._headed: dict[str, int] = {}
        self.feed(html)

    @property
    def text(self) -> str:
        return " ".join(" ".join(self.words).split())

    def attributes(self, tag: str) -> list[dict[str, str]]:
        return [attributes for name, attributes in self.tags if name == tag]

    def table_under(self, heading: str) -> list[list[str]]:
        """Rows of the first table under a heading."""
        return self.tables[self._headed[heading]]

    def head_of(self, table: str) -> list[list[str]]:
        """Rows of `First rows of the tables`, without the header."""
        starts = [attributes.get("aria-label") for _, attributes in self.tags]
        before = self.tags[: starts.index(f"First rows of {table}")]
        return self.tables[sum(name == "table" for name, _ in before)][1:]

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append((tag, {name: value or "" for name, value in attrs}))
        self._open.append(tag)
        if tag == "table":
            self.tables.append([])
        elif tag == "tr":
            self.tables[-1].append([])
        elif tag in ("th", "td"):
            self.tables[-1][-1].append("")

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append((tag, {name: value or "" for name, value in attrs}))

    def handle_endtag(self, tag: str) -> None:
        while self._open and self._open.pop() != tag:
            pass

    def handle_data(self, data: str) -> None:
        if {"style", "script"} & set(self._open):
            return
        self.words.append(data)
        if {"h1", "h2", "h3"} & set(self._open):
            self._headed[data] = len(self.tables)
        if {"th", "td"} & set(self._open):
            self.tables[-1][-1][-1] += data
