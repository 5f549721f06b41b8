"""The fields of the entries of the registry."""

from collections.abc import Callable
from pkgutil import resolve_name
from typing import Any

from kernels.algorithm import Column, Costs
from kernels.records import dataclass

VERTEX = Column("vertex", "int64", "external id", key=True)
SOURCE = Column("source", "int64", "external id", key=True)


class _Entry:
    def resolve(self, name: str) -> Any:
        """Import the function or class that a field names, for example `resolve("step")`."""
        return resolve_name(getattr(self, name))


@dataclass(frozen=True, kw_only=True)
class Table(_Entry):
    """A table, and the step of the same name that writes it.

    A column whose type is `weight` or `distance` follows the graph's weights.
    """

    name: str
    columns: tuple[Column, ...]
    step: str = ""  # "module:function"
    geometry: tuple[str, ...] = ("Point",)  # what a column `geometry` has, as GeoParquet calls it


@dataclass(frozen=True, kw_only=True)
class DerivedTable(Table):
    """A table of vertices that is made from the answer of a stage: `step(edges, graph, answer, runtime)`.

    The step returns its folder, or None if it leaves the table out. `publish` requires that the answer was proved.
    """

    proof: str  # how its rows are checked, or of what they are a copy
    checked: bool = False  # whether they are checked
    always: bool = False  # whether each run has it, also if the stage is not asked for
    slow: bool = False  # whether it takes long, so that its stage begins first


@dataclass(frozen=True, kw_only=True)
class GraphTable(Table):
    """A table of the stored graph itself: `step(edges, graph, runtime)`, whose ids have names if they are strings.

    The key of its name in a run's configuration, true or false, says whether a run has it.
    """

    proof: str  # how its rows are checked
    report: str  # `report(graph, reported)` returns its `pipeline.report.results.Result`
    costs: Costs  # for an estimate; `stored` are bytes of an arc
    by_default: int  # the most arcs of a graph whose runs have it where the configuration says nothing

    def is_wanted(self, configuration: object, arcs: int) -> bool:
        """Whether a run with this configuration has it, for a graph of so many arcs."""
        stated = getattr(configuration, self.name)
        return arcs <= self.by_default if stated is None else bool(stated)


@dataclass(frozen=True, kw_only=True)
class ProductTable(Table):
    """A table of a product: `step(edges, graph, configuration, runtime)`; its facts are `ProductFacts`."""

    title: str = ""  # heading in the report
    # `report(product, context)` returns a `pipeline.report.products.ProductPart`. Empty: the report states the number of rows.
    report: str = ""
    # `values(configuration, trees, vertices, arcs)`: about how many values it has, for an estimate of its size on the disk, with
    # paths from so many vertices.
    values: Callable[[Any, int, int, int], int] = lambda *_: 0
    switch: str = ""  # the key of the product's configuration that asks for it. Empty: it is always there
    swept: bool = True  # whether it has trees of its own, instead of following from another table


@dataclass(frozen=True, kw_only=True)
class Product(_Entry):
    """Tables that are made from the shortest paths from many vertices, on request of a run's configuration or by a command."""

    name: str  # of its table in a configuration, or of its command
    help: str  # what it tells, in a few words: a line of `graphmill --help`
    tables: tuple[ProductTable, ...]
    configuration: str = ""  # the class of its table in a configuration, a `Model`. Empty: no run makes it
    # `gpu_memory(configuration, trees, vertices)`: bytes on the GPU beside the graph and its trees. Empty: none worth counting
    gpu_memory: str = ""
    require: str = ""  # `require(edges, graph, configuration, runtime)` raises what the steps would, before the stages run
    # command, options: the function of its command, and the class of what this one takes, a `ProductOptions`. Its table's step is
    # `step(graph, vertices, options, runtime, places)`, with the vertices of the files that the options name, int64 [n] or None
    # for each, and the places among them; that of a table with a switch, which takes the place of the others, is
    # `step(edges, graph, vertices, options, runtime)`. Empty: there is no command.
    command: str = ""
    options: str = ""
    # Seconds of a core, or of a GPU, per million vertices: a tree from the hierarchy with its proof and its part of the product;
    # and bytes for each vertex that a tree of integers takes on a CPU. 0: no run makes it.
    cpu: float = 0.0
    gpu: float = 0.00002
    tree_memory: float = 0.0

    def tables_for(self, configuration: object) -> list[ProductTable]:
        """The tables that a configuration asks for."""
        return [table for table in self.tables if not table.switch or getattr(configuration, table.switch)]


@dataclass(frozen=True, kw_only=True)
class Stage(_Entry):
    """What a run adds to an algorithm of `kernels.registry`."""

    configuration: str = ""  # the class of the configuration's table of the stage's name, a `Model`. Empty: it has no keys
    tables: tuple[DerivedTable, ...] = ()  # made from its answer
    # For a table of values: the columns whose highest values a report lists, all if none is named; and `summary(table)`, which
    # returns what else it says, a text and figures by name. Empty: nothing.
    ranked: tuple[str, ...] = ()
    summary: str = ""
