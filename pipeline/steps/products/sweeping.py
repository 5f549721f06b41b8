"""The trees of a product: batches of proved trees from a range of its sources. A sample of them is searched again."""

import logging
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from hashlib import sha256
from typing import TYPE_CHECKING

import numpy as np

from kernels.answers import Hierarchy
from kernels.certificate.rules import Broken
from kernels.decimals import in_decimals
from kernels.gpu.loader import to_host
from kernels.graph import Array, Graph
from kernels.hierarchy import nearness
from kernels.paths.certificate import RULES
from kernels.spans import span
from kernels.sssp import sssp
from kernels.trees import Trees, batch_size, sweep
from kernels.trees.targets import Targets
from pipeline.cluster.protocol import TaskContext
from pipeline.cluster.whole_graph import WholeGraph
from pipeline.errors import BadInput, Damaged, NotRoadLike, ProofFailed, TooLarge
from pipeline.runtime.backend import Clock
from pipeline.steps.derived.hierarchy import build_hierarchy
from pipeline.steps.runtime import Runtime
from pipeline.steps.turns.folding import TurnedSearch
from pipeline.store.counting import decimals_of
from pipeline.store.facts import CheckFacts, GraphFacts
from pipeline.store.facts.products import ProductFacts
from pipeline.store.manifest import Folder, read
from pipeline.store.vertices import ids_of
from pipeline.tables.row_lookup import rows_of

if TYPE_CHECKING:
    from pipeline.steps.turns.turned import Turned

SAMPLE = 4  # trees of a product that are searched again
ALL_PROVED = "every tree is proved against the stored graph's arcs before anything is made from it"
SOME_PROVED = "of each batch of sources one tree is proved so, and its distances to the targets are those that were swept:"
SHARE = 4  # of the sources that are left: of four workers each has one task
SUMMING = 64  # tasks at most whose results are as large as the graph, but for smaller ones at the end
WORTH = 256  # sources: searching from more takes longer than building a hierarchy and sweeping it

log = logging.getLogger(__name__)


@dataclass
class Swept:
    """What some tasks swept: seconds of the trees, with their proofs, and of the sample; rows that they made."""

    seconds: float = 0.0
    sampled: int = 0
    checking: float = 0.0
    rows: int = 0

    def add(self, other: "Swept") -> None:
        """Add what another task swept."""
        self.seconds += other.seconds
        self.sampled += other.sampled
        self.checking += other.checking
        self.rows += other.rows

    def facts(self, sweeps: "Sweeps", runtime: Runtime, every: bool = True, more: Sequence[str] = ()) -> ProductFacts:
        """The facts of the product; `every` says whether all of its trees were proved, `more` what else was checked."""
        count = sweeps.count
        what = "sums of distances" if sweeps.summed else "distances and predecessors"
        again = f"the {what} of {self.sampled:,} of the {count:,} trees are those of a second search"
        rules = [ALL_PROVED if every else SOME_PROVED, *RULES, again, *more]
        return ProductFacts(
            backend=runtime.backend, seconds=round(self.seconds, 6), rows=self.rows, sources=count,
            proof=CheckFacts(rules=rules, seconds=round(self.checking, 6)), **runtime.opened(sweeps.graph),
        )  # fmt: skip


@dataclass(frozen=True)
class Sweeps:
    """The sources of a product, and the graph whose paths it is made from."""

    graph: Folder
    given: Array | None  # int64 [S]: external ids, ascending; None: all vertices
    towards: bool = False  # whether paths lead to the sources, instead of from them
    targets: Array | None = None  # int64 [T]: external ids; trees then have distances [k, T] to these only, and no predecessors
    every: bool = True  # whether every tree is proved; otherwise the way to `targets` alone may be swept
    summed: bool = False  # whether sums may take the place of distances: `kernels.trees.trees`
    counted: bool = False  # whether distances stay in the unit in which weights are counted; otherwise they are as in tables
    hierarchy: Folder | None = None  # the graph's, if it is swept; otherwise each source is searched from
    turned: "Turned | None" = None  # the graph that is searched instead, if turns matter
    swept: Swept = field(default_factory=Swept, compare=False)  # of the task that holds this copy

    @property
    def ids(self) -> Array:
        """External ids of the sources, int64 [S]."""
        if self.given is not None:
            return self.given
        ids, rows_by_id = ids_of(self.graph)
        return ids[rows_by_id]

    def part(self, graph: Graph, numbers: range) -> tuple[Array, Array]:
        """External ids, int64 [k], and rows, index width [k], of a range of the sources: a task looks up its own only."""
        chosen = slice(numbers.start, numbers.stop)
        if self.given is None:
            rows = graph.rows_by_id[chosen]
            return to_host(graph.ids[rows]), to_host(rows)
        return self.given[chosen], to_host(rows_of(graph, self.given[chosen]))

    @property
    def count(self) -> int:
        """Number of sources."""
        return GraphFacts.of(self.graph).vertices if self.given is None else len(self.given)

    @property
    def parameter(self) -> str:
        """The sources, as a parameter of the step's key."""
        return "all" if self.given is None else sha256(self.given.tobytes()).hexdigest()

    def tasks(self, most: int, least: int | None = None) -> list[range]:
        """Ranges of at most `most` sources; one that is empty where there is no source.

        With `least` the last ranges become smaller, in steps of `least`, so that workers that take one after the other end
        together: each has a SHARE of the sources that are left.
        """
        least, count, ranges, first = least or most, self.count, list[range](), 0
        while first < count:
            size = min(most, max(least, (count - first) // SHARE // least * least))
            ranges.append(range(first, min(first + size, count)))
            first += size
        return ranges or [range(0)]

    def summing_tasks(self, most: int, runtime: Runtime) -> list[range]:
        """Ranges for tasks that each end with sums of the whole graph: all sources, if this process takes one task at a time.

        Otherwise of at most `most` sources, unless these are more than SUMMING tasks.
        """
        if runtime.cluster.open_graphs is not None:
            return self.tasks(max(1, self.count))
        most = max(most, -(-self.count // SUMMING))
        return self.tasks(most, most // 4)

    def prepared(self, runtime: Runtime) -> "Sweeps":
        """The same with the graph on which turns matter, if they do, and with a hierarchy.

        That is where it saves time, and the graph is like a road network.
        """
        if (turned := runtime.turned.get(self.graph.digest)) and self.turned is None:
            return replace(self, turned=turned).prepared(runtime)
        if self.count < WORTH:
            return self
        try:
            return replace(self, hierarchy=build_hierarchy(self._searched, runtime))
        except (NotRoadLike, TooLarge) as reason:
            log.info("hierarchy: none, so each of %d sources is searched from separately: %s", self.count, reason)
            return self

    def for_task(self) -> "Sweeps":
        """A copy that counts what one task sweeps."""
        return replace(self, swept=Swept())

    def require_same(self) -> None:
        """Raise Damaged if a later run has replaced the graph, whose files are opened again for each task."""
        for graph in {self.graph.path: self.graph, self._searched.path: self._searched}.values():
            if read(graph.path).digest != graph.digest:
                raise Damaged(f"{graph.path}: a later run has replaced it during this command; start again")

    def held(self, context: TaskContext, searched: bool = False) -> WholeGraph:
        """Open the graph, or the one that is searched."""
        if self.turned is None:
            return context.whole_graph(self.graph)
        return self.turned.split_graph(context) if searched else self.turned.street_graph(context)

    @property
    def _searched(self) -> Folder:
        return self.turned.graph if self.turned else self.graph

    def graph_at(self, context: TaskContext) -> Graph:
        """The graph, in whose rows trees are; its out-arcs lead away from the sources."""
        return self._opened(self.held(context))

    def searched_at(self, context: TaskContext) -> Graph:
        """The same graph, or that with split crossings, which is searched."""
        return self._opened(self.held(context, searched=True))

    def _opened(self, held: WholeGraph) -> Graph:
        graph = held.graph
        if not self.towards or graph.symmetric:
            return graph
        return graph.derived.get(_reversed, lambda: _reversed(graph))

    def batches(
        self, context: TaskContext, part: range, predecessors: bool = False, in_order: bool = True, of_crossings: bool = True
    ) -> Iterator[tuple[Array, Trees]]:
        """The trees of a range of sources, in their order or in the one that is fastest: external ids [k], with their trees.

        They are in the rows of `graph_at` or, without `of_crossings`, of `searched_at`.

        Raises ProofFailed where a tree is not proved or differs from a second search, and BadInput where a distance is too large.
        """
        graph, clock = self.searched_at(context), Clock(context.backend)
        drawn = np.random.default_rng(int(self.graph.digest[:8], 16)).choice(self.count, min(SAMPLE, self.count), replace=False)
        streets = self.graph_at(context)
        heads = None if self.targets is None else rows_of(streets, self.targets)
        (ids, rows), hierarchy = self.part(streets, part), self._hierarchy_at(context)
        turns = TurnedSearch(self.turned.rows(context), self.towards) if self.turned else None
        given = rows
        if turns:
            rows, heads = turns.begins(rows), None if heads is None else turns.ends(heads)
        # Not on a GPU: closeness of 21,000 vertices took 2.6 s with this order and 1.1 s before (H100).
        if not in_order and context.backend == "cpu" and hierarchy is not None and not hierarchy.exact:
            order = nearness(hierarchy)[rows].argsort(kind="stable")
            ids, rows, given = ids[order], rows[order], given[order]
            drawn = part.start + np.flatnonzero(np.isin(order + part.start, drawn))
        to = turns.ends() if turns and of_crossings and heads is None else heads
        trees, first = self._trees(graph, hierarchy, rows, predecessors, to), part.start
        try:
            while (batch := _next(trees, clock)) is not None:
                last = first + len(batch.sources)
                self._compare(graph, batch, [int(number) - first for number in drawn if first <= number < last], to)
                self.swept.seconds = clock.seconds
                some = slice(first - part.start, last - part.start)
                if turns and of_crossings:
                    batch = turns.of_crossings(batch, given[some])
                yield ids[some], self._as_in_tables(batch)
                first = last
        except Broken as broken:
            raise ProofFailed(str(broken)) from broken
        except OverflowError as error:
            raise BadInput(self.graph.path, str(error)) from error

    def _as_in_tables(self, batch: Trees) -> Trees:
        decimals = None if self.counted else decimals_of(self.graph)
        return batch if decimals is None else replace(batch, distances=in_decimals(batch.distances, decimals))

    def _trees(
        self, graph: Graph, hierarchy: Hierarchy | None, rows: Array, predecessors: bool, to: Array | None
    ) -> Iterator[Trees]:
        if to is None or self.targets is None or self.every or hierarchy is None:
            summed = self.summed and to is None
            yield from sweep(graph, hierarchy, rows, predecessors=predecessors, to=to, summed=summed)
        else:
            targets, size = Targets(graph, hierarchy, to_host(to)), batch_size(graph, hierarchy)
            yield from (Trees(some, targets.distances(some), None) for some in np.split(rows, range(size, len(rows), size)))

    def _hierarchy_at(self, context: TaskContext) -> Hierarchy | None:
        """The hierarchy of the graph that is swept: of one that is turned around, with ascents for descents."""
        if self.hierarchy is None:
            return None
        hierarchy = self.held(context, searched=True).hierarchy(self.hierarchy)
        if not self.towards or hierarchy.symmetric:
            return hierarchy
        return hierarchy.derived.get(_reversed, lambda: replace(hierarchy, up=hierarchy.down, down=hierarchy.up))

    def _compare(self, graph: Graph, batch: Trees, sample: list[int], to: Array | None) -> None:
        started = time.perf_counter()
        for number in sample:
            paths = sssp(graph, int(batch.sources[number]))
            distance = paths.distance if to is None else paths.distance[to]
            if batch.sums is None:
                same = bool((batch.distances[number] == distance).all())
            else:
                reached = distance[distance >= 0]
                same = batch.sums[:, number].tolist() == [len(reached), int(reached.max()), int(reached.sum())]
            if same and batch.predecessors is not None:
                same = bool((batch.predecessors[number] == paths.predecessor).all())
            if not same:
                vertex = int(graph.ids[int(batch.sources[number])])
                raise ProofFailed(f"the tree of vertex {vertex} differs from the result of a second search")
        self.swept.sampled += len(sample)
        self.swept.checking += time.perf_counter() - started if sample else 0.0


def _next(trees: Iterator[Trees], clock: Clock) -> Trees | None:
    with clock.timed(), span("sweep and prove trees", "solve"):
        return next(trees, None)


def _reversed(graph: Graph) -> Graph:
    """The graph with every arc turned around."""
    return Graph(graph.ids, graph.rows_by_id, graph.into, graph.out, graph.directed)
