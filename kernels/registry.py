"""The registry of algorithms: all that the pipeline, the CLI, the flows, the report, the benchmarks and the tests know of one.

Functions are named as "module:function" and imported when they are first called, because compiled code is slow to load.
docs/adding-an-algorithm.md walks through a new entry.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from enum import Enum
from pkgutil import resolve_name
from typing import Any


class Form(Enum):
    """How the answers of an algorithm lie in a table."""

    PATHS = "a row for each source and vertex"
    FOREST = "a row for each edge of the forest"
    COMPONENTS = "a row for each vertex, with its component's name"
    SCORES = "a row for each vertex, with its score"
    LABELS = "a row for each vertex, with its labels in the stored index beside the table"


@dataclass(frozen=True)
class Column:
    """A column of a table.

    Attributes
    ----------
    name : str
    type : str
        An Arrow type, or `weight` or `distance`, which follow the graph's weights.
    unit : str
    nulls : str
        What a null means; "never" where the column has none.
    key : bool
        Whether the table is sorted by this column.
    each : bool
        Whether there is one such column for each dimension of the labels: `low` stands for `low_0`, `low_1`, ...
    """

    name: str
    type: str
    unit: str
    nulls: str = "never"
    key: bool = False
    each: bool = False


@dataclass(frozen=True)
class Algorithm:
    """One algorithm.

    Attributes
    ----------
    name : str
        Of the stage, as configurations and commands give it.
    title : str
        In the report.
    solver, certificate : str
        `solver(graph, *source)` returns the answer; `certificate(graph, answer)` a `kernels.answers.Certificate`.
    sharded_solver, sharded_certificate : str
        `sharded_solver(shard, communicator, *source)` returns a `Part`; `sharded_certificate(shard, communicator, answer)` as
        above.
    form : Form
    columns : tuple of Column
        Of its table.
    table : str
        The table's name where it differs from the stage's.
    exact : bool
        Whether the table has the same bytes on every backend; otherwise its values agree to a stated tolerance.
    """

    name: str
    title: str
    solver: str
    sharded_solver: str
    certificate: str
    sharded_certificate: str
    form: Form
    columns: tuple[Column, ...]
    table: str = ""
    exact: bool = True

    @property
    def table_name(self) -> str:
        """Name of the table."""
        return self.table or self.name

    @property
    def has_sources(self) -> bool:
        """Whether there is an answer for each source."""
        return self.form is Form.PATHS

    @property
    def has_index(self) -> bool:
        """Whether the answer is a stored index, of which the table shows a part."""
        return self.form is Form.LABELS

    def resolve(self, function: str) -> Callable[..., Any]:
        """Import `self.<function>`, for example `resolve("solver")`."""
        found: Callable[..., Any] = resolve_name(getattr(self, function))
        return found


_VERTEX = Column("vertex", "int64", "external id", key=True)
_SOURCE = Column("source", "int64", "external id", key=True)
_UNREACHED = "the source does not reach the vertex"
_PREDECESSOR = Column("predecessor", "int64", "external id", "the vertex is the source, or is not reached")
_LABELS = Column("labels", "int64", "external id, the smallest in the component")

ALGORITHMS: tuple[Algorithm, ...] = (
    Algorithm(
        name="bfs",
        title="Breadth-first search",
        solver="kernels.bfs:bfs",
        sharded_solver="kernels.bfs.sharded:bfs",
        certificate="kernels.paths.certificate:certify_bfs",
        sharded_certificate="kernels.paths.certificate.sharded:certify_bfs",
        form=Form.PATHS,
        columns=(_SOURCE, _VERTEX, Column("distance", "int64", "hops", _UNREACHED), _PREDECESSOR),
    ),
    Algorithm(
        name="sssp",
        title="Single-source shortest paths",
        solver="kernels.sssp:sssp",
        sharded_solver="kernels.sssp.sharded:sssp",
        certificate="kernels.paths.certificate:certify_sssp",
        sharded_certificate="kernels.paths.certificate.sharded:certify_sssp",
        form=Form.PATHS,
        columns=(_SOURCE, _VERTEX, Column("distance", "distance", "sum of weights", _UNREACHED), _PREDECESSOR),
    ),
    Algorithm(
        name="mst",
        title="Minimum spanning forest",
        solver="kernels.forest:minimum_spanning_forest",
        sharded_solver="kernels.forest.sharded:minimum_spanning_forest",
        certificate="kernels.forest.certificate:certify_forest",
        sharded_certificate="kernels.forest.certificate.sharded:certify_forest",
        form=Form.FOREST,
        columns=(
            Column("src", "int64", "external id, the smaller end", key=True),
            Column("dst", "int64", "external id, the larger end", key=True),
            Column("weight", "weight", "the source's own"),
            Column("labels", "int64", "external id, the smallest in the tree"),
        ),
    ),
    Algorithm(
        name="wcc",
        title="Weakly connected components",
        solver="kernels.wcc:wcc",
        sharded_solver="kernels.wcc.sharded:wcc",
        certificate="kernels.components.certificate:certify_wcc",
        sharded_certificate="kernels.components.certificate.sharded:certify_wcc",
        form=Form.COMPONENTS,
        columns=(_VERTEX, _LABELS),
    ),
    Algorithm(
        name="scc",
        title="Strongly connected components",
        solver="kernels.scc:scc",
        sharded_solver="kernels.scc.sharded:scc",
        certificate="kernels.components.certificate:certify_scc",
        sharded_certificate="kernels.components.certificate.sharded:certify_scc",
        form=Form.COMPONENTS,
        columns=(_VERTEX, _LABELS),
    ),
    Algorithm(
        name="pagerank",
        title="PageRank",
        solver="kernels.pagerank:pagerank",
        sharded_solver="kernels.pagerank.sharded:pagerank",
        certificate="kernels.pagerank.certificate:certify_pagerank",
        sharded_certificate="kernels.pagerank.certificate.sharded:certify_pagerank",
        form=Form.SCORES,
        columns=(_VERTEX, Column("pagerank", "float64", "share of 1")),
        exact=False,
    ),
    Algorithm(
        name="reachability",
        title="Reachability",
        solver="kernels.reachability:reachability",
        sharded_solver="kernels.reachability.sharded:reachability",
        certificate="kernels.reachability.certificate:certify_reachability",
        sharded_certificate="kernels.reachability.certificate.sharded:certify_reachability",
        form=Form.LABELS,
        columns=(
            _VERTEX,
            _LABELS,
            Column("level", "int64", "arcs between components, on the longest path that ends here"),
            Column("low", "int64", "post-order number, the smallest that is reached", each=True),
            Column("post", "int64", "post-order number, the largest that is reached", each=True),
        ),
        table="reachability_labels",
    ),
)
BY_NAME: dict[str, Algorithm] = {algorithm.name: algorithm for algorithm in ALGORITHMS}
