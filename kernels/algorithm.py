"""The fields of an entry of the registry (`kernels.registry`).

Functions are named as "module:function" and imported when they are first called, because compiled code is slow to load.
"""

from collections.abc import Callable
from enum import Enum
from pkgutil import resolve_name
from typing import Any, NamedTuple

from kernels.gpu.tiles import BAND_ARCS
from kernels.records import dataclass


class AnswerTooLarge(Exception):
    """An answer that exceeds the limit that its solver was given."""


class Form(Enum):
    """How a table stores the answers of an algorithm."""

    PATHS = "a row for each source and vertex"
    FOREST = "a row for each edge of the forest"
    COMPONENTS = "a row for each vertex, with its component's label"
    VALUES = "a row for each vertex, with one value or more"
    EDGES = "a row for each edge, with a value"
    PAIRS = "a row for each pair of vertices that the solver finds"
    FLOWS = "a row for each pair of vertices that the run asks for, with the arcs of a cut"
    LABELS = "a row for each vertex, with its labels in the stored index next to the table"


@dataclass(frozen=True)
class Column:
    """A column of a table."""

    name: str
    type: str  # an Arrow type, or `weight` or `distance`, which follow the graph's weights
    unit: str
    nulls: str = "never"  # what a null means; "never" where the column has none
    key: bool = False  # whether the table is sorted by this column
    # Whether there is one such column for each dimension of the labels: `low` stands for `low_0`, `low_1`, ...
    each: bool = False


SEED = Column("seed", "int64", "external id", key=True)
Rate = tuple[float, float, float]  # seconds, seconds for a million vertices, seconds for a million arcs


TYPICAL: Rate = (0.1, 0.3, 0.1)  # of a stage that is not measured


_SMALL = 1 << 19  # bytes of arrays whose length does not depend on the graph


class Pinned(NamedTuple):
    """Bytes on a GPU that a stage takes, with its proof and the graph's vertices, beside arcs in pinned memory of the host."""

    vertex: float
    arc: float
    directed: float = 0.0  # of an arc, in addition, unless the graph is symmetric
    band: float = 0.0  # in addition, of each arc up to as many as a band has (`kernels.gpu.tiles.bands`)
    proof: float = 0.0  # of a vertex, if that is more

    def needed(self, vertices: int, arcs: int, symmetric: bool) -> int:
        """Bytes for a graph of this size."""
        of_arc = self.arc + (0.0 if symmetric else self.directed)
        stage = self.vertex * vertices + of_arc * arcs + self.band * min(arcs, BAND_ARCS)
        return _SMALL + int(max(stage, self.proof * vertices))


@dataclass(frozen=True)
class Costs:
    """Measured costs of a stage, for estimates of runs; docs/performance.md describes the measurement.

    The defaults are those of a typical stage; the tests require that `cpu` is measured, by `python -m benchmarks.runs.rates`.
    Seconds include its proof and what is made from its answer. A stage with sources, pairs or searches takes them for each, but
    the first figure, that of each run, once on a CPU.
    """

    cpu: Rate = TYPICAL  # CPU seconds of one core
    gpu: Rate = (0.15, 0.03, 0.001)
    memory: tuple[float, float] = (100.0, 10.0)  # bytes for each vertex and each arc on a CPU, beside the graph
    stored: float = 8.0  # bytes that a run stores for each vertex: in its table, those made from it, and its index
    # Bytes for each vertex and each arc on the GPU, beside the graph, with one source or one pair at a time.
    gpu_memory: tuple[float, float] = (0.0, 0.0)
    pinned: Pinned | None = None  # None: the stage is computed on the CPU if the GPU does not hold the graph's arcs


@dataclass(frozen=True)
class Algorithm:
    """One algorithm.

    Functions are named as "module:function".
    """

    name: str  # the stage's name in configurations, commands and manifests; its table's, too, unless `table` states another
    title: str  # heading in the report
    help: str  # what the stage computes, in a few words: a line of `graphmill --help`
    # solver, certificate: `solver(graph, *source)` returns the answer; `certificate(graph, answer)` a
    # `kernels.answers.Certificate`.
    solver: str
    certificate: str
    form: Form
    columns: tuple[Column, ...]  # columns of its table
    # sharded_solver, sharded_certificate: `sharded_solver(shard, communicator, *source)` returns a `ShardAnswer`;
    # `sharded_certificate(shard, communicator, answer)` a Certificate. Empty: a worker opens all of the graph,
    # and a run over shards is refused where it has no memory for it.
    sharded_solver: str = ""
    sharded_certificate: str = ""
    # Whether, over ranks, each of them holds the whole graph, and takes a share of the searches. The sharded functions are then
    # called with the graph and `communicator`, and each rank has the whole answer.
    shares_searches: bool = False
    # For Form.VALUES: the class of the answer, "module:Class". Its fields begin with one array [V] for each column after
    # `vertex`, in the same order; fields after these have defaults.
    answer: str = ""
    # seeded_...: the same for several answers at a time, each from seeds that the configuration names: they also take
    # `personalizations`, and return a list. Empty: the stage has no seeds.
    seeded_solver: str = ""
    sharded_seeded_solver: str = ""
    seeded_certificate: str = ""
    sharded_seeded_certificate: str = ""
    # `oracle(graph, answer)` compares with a second solver on the CPU and returns a Certificate. Empty: there is none.
    oracle: str = ""
    gpu_oracle: str = ""  # the same for a graph on a GPU. Empty: the oracle runs on the CPU.
    warm_up: str = ""  # `warm_up(graph)` calls everything that Numba compiles. Empty: solving and proving one graph is enough.
    # Whether the run's configuration has a table of the stage's name, whose keys solver, certificate and oracle take by name.
    options: bool = False
    # Bytes of memory that a row of the answer takes, with its proof: free memory then bounds the option `limit`, a count of rows.
    row_bytes: int = 0
    costs: Costs = Costs()
    # `searches(num_vertices, num_arcs, **options)`: how many searches the stage makes, where its costs are those of one. Empty:
    # one, or its sources.
    searches: str = ""
    part: tuple[str, str] = ("component", "components")  # what a label stands for, with Form.COMPONENTS: one, several
    table: str = ""  # name of the table where it differs from the stage's
    by_default: bool = True  # whether a run whose configuration names no stages computes it
    passes_crossings: bool = False  # whether it is about ways through vertices, with no regard to how they turn there
    adds_parallel: bool = False  # whether weights are capacities: those of parallel arcs are added, unless a rule is stated
    exact: bool = True  # whether the table has the same bytes on every backend; otherwise its values agree to a stated tolerance

    @property
    def opens_whole_graph(self) -> bool:
        """Whether each rank or worker opens all of a graph that ranks could hold in shards."""
        return self.shares_searches or not self.sharded_solver

    @property
    def table_name(self) -> str:
        """Name of the table."""
        return self.table or self.name

    @property
    def has_sources(self) -> bool:
        """Whether there is an answer for each source."""
        return self.form is Form.PATHS

    @property
    def may_have_seeds(self) -> bool:
        """Whether there may be an answer for each seed, whose table then begins with the column SEED."""
        return bool(self.seeded_solver)

    @property
    def has_pairs(self) -> bool:
        """Whether there is an answer for each pair of vertices in a file that the run names."""
        return self.form is Form.FLOWS

    @property
    def has_index(self) -> bool:
        """Whether the answer is a stored index, of which the table shows a part."""
        return self.form is Form.LABELS

    def resolve(self, function: str) -> Callable[..., Any]:
        """Import `self.<function>`, for example `resolve("solver")`."""
        resolved: Callable[..., Any] = resolve_name(getattr(self, function))
        return resolved
