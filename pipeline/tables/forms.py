"""The conversion between an answer, whose arrays name rows, and its table, which has external ids, for each form of answer.

The columns of a form are defined once, for a whole answer and for the part of it that a rank has (`pipeline.tables.over_ranks`).
Rows and ids are translated on the backend of the graph's arrays; a table is in host memory.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, Protocol

import numpy as np
import pyarrow as pa

from kernels import algorithm
from kernels.answers import Closure, Components, EdgeBetweenness, Flows, Forest, Paths, Ranking, ReachabilityIndex, RowLabels
from kernels.arrays import is_cupy_array
from kernels.cpu.parallel import assign, elementwise, first_other, gathered
from kernels.graph import ID, NO_ROW, Array, Csr, Graph
from pipeline.errors import ProofFailed
from pipeline.runtime.backend import Backend, bring, fetch
from pipeline.tables.batches import NO_ID, as_batch, with_arrays
from pipeline.tables.row_lookup import VertexRows, rows_of

WRONG_VERTICES = "the vertex column is not the graph's vertices, each once, ascending"


class RankVertices(Protocol):
    """The n own rows of a rank, of the graph's V rows. Where there are several ranks, all methods are collectives."""

    @property
    def ids(self) -> Array:
        """External id of each own row, int64 [n]."""

    @property
    def first_row(self) -> int:
        """The first own row."""

    @property
    def weight(self) -> np.dtype[Any]:
        """Type of the weights; int64 where there are none."""

    def ids_of(self, rows: Array) -> Array:
        """External ids of any rows of the graph; NO_ID for NO_ROW."""

    def rows_of(self, ids: Array) -> Array:
        """Rows of external ids, NO_ROW for NO_ID. Raises ProofFailed for one that the graph does not have."""

    def labelled(self, ends: Sequence[Array], labels: Array) -> Array:
        """Labels of the own rows, index width [n]: `labels` of their edges, given at both `ends` by any rank, or their own row.

        Raises ProofFailed where a row gets two different labels.
        """


@dataclass(frozen=True)
class TableForm:
    """How answers of one form become the rows of a table."""

    # `columns(vertices, answer)`: the columns of the table, negative where there is a null.
    columns: Callable[[RankVertices, Any], list[Array]]
    # `answer(vertices, columns, source)`: the answer that such columns hold, from the external id of a source or None. Raises
    # ProofFailed where they are not an answer.
    answer: Callable[[RankVertices, Sequence[Array], int | None], Any]
    # The arrays of an answer that have an entry for each row of the table, in its order. Empty: a row of the table is a vertex,
    # and columns are in the order of the graph's rows.
    listed: tuple[str, ...] = ()
    # Names of arrays of an answer that its step keeps beside the table, where the proof finds them; they are not published.
    beside: tuple[str, ...] = ()

    @property
    def of_vertices(self) -> bool:
        """Whether a row of the table is a vertex."""
        return not self.listed

    def rows(self, graph: VertexRows, answer: Any) -> int:
        """Number of rows of the table of a whole answer."""
        return len(getattr(answer, self.listed[0])) if self.listed else graph.num_vertices

    def batch(
        self, graph: VertexRows, answer: Any, schema: pa.Schema, part: slice, decimals: int | None = None
    ) -> pa.RecordBatch:
        """Some of the rows of the table of a whole answer, which is sorted; `decimals` as `as_batch`."""
        if self.listed:
            some = {name: getattr(answer, name)[part] for name in self.listed}
            return as_batch(self.columns(AllVertices(graph), replace(answer, **some)), schema, decimals)
        rows = graph.rows_by_id[part]
        return as_batch(self.columns(AllVertices(graph, rows=rows), _of_rows(answer, rows)), schema, decimals)

    def read(self, graph: Graph, columns: dict[str, Array], source: int | None = None) -> Any:
        """The whole answer that a table holds, as `answer`. `columns`, by name and as `as_arrays`, is emptied."""
        backend: Backend = "gpu" if is_cupy_array(graph.ids) else "cpu"
        read = []
        for name in [*columns]:  # one column at a time, so that two arrays of each are never held together
            column = columns.pop(name) if self.beside else bring(columns.pop(name), backend)
            if self.of_vertices and name == "vertex":
                if len(column) != graph.num_vertices or not _all_equal(column, graph.ids, graph.rows_by_id):
                    raise ProofFailed(WRONG_VERTICES)
                column = graph.ids
            elif self.of_vertices:
                if len(column) != graph.num_vertices:
                    raise ProofFailed(WRONG_VERTICES)
                column = gathered(column, graph.positions)
            read.append(column)
        return self.answer(AllVertices(graph, dtype_of_weights(graph.out)), read, source)


def _of_rows(answer: Any, rows: Array) -> Any:
    """An answer's entries for some rows; a whole index gives their labels."""
    if isinstance(answer, ReachabilityIndex):
        node, labels = answer.condensation.node[rows], answer.labels
        return RowLabels(answer.condensation.names[node], labels.level[node], labels.low[:, node], labels.post[:, node])
    return with_arrays(answer, lambda array: array.take(rows, axis=-1) if array.ndim else array)


def require_known(ids: Array, rows: Array) -> None:
    """Raise ProofFailed where a row is NO_ROW though its id is not NO_ID."""
    unknown = elementwise(lambda ids, rows: (rows == NO_ROW) & (ids != NO_ID), ids, rows, dtype=np.bool_)
    for wrong in ids[unknown][:1] if unknown.any() else []:
        raise ProofFailed(f"vertex {wrong} is not in the graph")


class AllVertices:
    """All vertices of a graph that one rank holds, or those of some `rows`; see `RankVertices`."""

    first_row = 0

    def __init__(self, graph: VertexRows, weight: np.dtype[Any] = ID, rows: Array | None = None) -> None:
        self._graph = graph
        self.ids, self.weight = graph.ids if rows is None else gathered(graph.ids, rows), weight

    def ids_of(self, rows: Array) -> Array:
        """See `RankVertices.ids_of`."""
        return gathered(self._graph.ids, rows, NO_ID)

    def rows_of(self, ids: Array) -> Array:
        """See `RankVertices.rows_of`."""
        ids = np.asarray(ids, like=self.ids)  # of a table that is `beside`
        rows = rows_of(self._graph, ids)
        require_known(ids, rows)
        return rows

    def labelled(self, ends: Sequence[Array], labels: Array) -> Array:
        """See `RankVertices.labelled`."""
        rows_by_id = self._graph.rows_by_id
        own = np.arange(len(rows_by_id), dtype=rows_by_id.dtype, like=rows_by_id)
        for rows in ends:
            assign(own, rows, labels)
        for rows in ends:
            require_one_label(own, rows, labels)
        return own


def dtype_of_weights(csr: Csr) -> np.dtype[Any]:
    """Type of the weights of arcs; int64 where there are none."""
    stored: np.dtype[Any] = ID if csr.weights is None else csr.weights.dtype
    return stored


def require_one_label(labels: Array, rows: Array, given: Array) -> None:
    """Raise ProofFailed unless rows have the labels that they were given, so that none was given two."""
    if not _all_equal(given, labels, rows):
        raise ProofFailed("mst: the edges of a tree have different labels")


def _path_columns(vertices: RankVertices, paths: Paths) -> list[Array]:
    return [_of_row(vertices, paths.source), vertices.ids, paths.distance, vertices.ids_of(paths.predecessor)]


def _paths(vertices: RankVertices, columns: Sequence[Array], source: int | None) -> Paths:
    sources, _, distance, predecessor = columns
    return Paths(_row_of(vertices, sources, source), distance, vertices.rows_of(predecessor))


def _of_row(vertices: RankVertices, row: int) -> Array:
    (source,) = vertices.ids_of(np.array([row], like=vertices.ids)).tolist()
    return np.full_like(vertices.ids, source)


def _row_of(vertices: RankVertices, sources: Array, source: int | None) -> int:
    if not (sources == source).all():
        raise ProofFailed(f"source {source}: rows of another source among its own")
    return int(vertices.rows_of(np.full_like(sources, source, shape=(1,)))[0])


def _forest_columns(vertices: RankVertices, forest: Forest) -> list[Array]:
    labels = vertices.ids_of(forest.labels[forest.src - vertices.first_row])
    return [vertices.ids_of(forest.src), vertices.ids_of(forest.dst), forest.weights, labels]


def _forest(vertices: RankVertices, columns: Sequence[Array], _: int | None) -> Forest:
    src, dst, given, tree = columns
    weights = elementwise(lambda given: given.astype(vertices.weight), given, dtype=vertices.weight)
    if not elementwise(np.equal, weights, given, dtype=np.bool_).all():
        raise ProofFailed("mst: a weight is not the graph's")
    src, dst, tree = (vertices.rows_of(ends) for ends in (src, dst, tree))
    return Forest(src, dst, weights, vertices.labelled((src, dst), tree))


def _component_columns(vertices: RankVertices, components: Components) -> list[Array]:
    return [vertices.ids, vertices.ids_of(components.labels)]


def _components(vertices: RankVertices, columns: Sequence[Array], _: int | None) -> Components:
    return Components(vertices.rows_of(columns[1]))


def _row_columns(rows: tuple[str, ...], values: tuple[str, ...], vertices: RankVertices, answer: Any) -> list[Array]:
    return [*(vertices.ids_of(getattr(answer, name)) for name in rows), *(getattr(answer, name) for name in values)]


def _of_pairs(answer: Callable[..., Any], vertices: RankVertices, columns: Sequence[Array], _: int | None) -> Any:
    """An answer whose first two columns are rows."""
    return answer(*map(vertices.rows_of, columns[:2]), *columns[2:])


def _flow_columns(vertices: RankVertices, flows: Flows) -> list[Any]:
    begins = pa.array(fetch(flows.cut_begins).astype(np.int32))
    cuts = (pa.ListArray.from_arrays(begins, fetch(vertices.ids_of(rows))) for rows in (flows.cut_src, flows.cut_dst))
    query = np.arange(len(flows.src), dtype=ID)
    return [query, vertices.ids_of(flows.src), vertices.ids_of(flows.dst), flows.value, flows.vertices, *cuts]


def _flows(vertices: RankVertices, columns: Sequence[Array], _: int | None) -> Flows:
    query, src, dst, value, count, cut_src, cut_dst, pairs, *flow = columns  # in the host's memory
    if not (np.array_equal(query, np.arange(len(query))) and np.array_equal(np.stack([src, dst]), pairs)):
        raise ProofFailed("max_flow: the pairs are not those that were asked for, in their order")
    cuts = cut_src, cut_dst
    lengths = [np.array([len(one) for one in lists], np.int64) for lists in cuts]
    if not np.array_equal(lengths[0], lengths[1]):
        raise ProofFailed("max_flow: an arc of a cut has one end only")
    begins = np.concatenate([[0], np.cumsum(lengths[0])]).astype(np.int64)
    ends = [np.concatenate([np.empty(0, ID), *lists]).astype(ID) for lists in cuts]
    value, count, begins, *flow = (np.asarray(column, like=vertices.ids) for column in (value, count, begins, *flow))
    rows = [vertices.rows_of(column) for column in (src, dst, *ends)]
    return Flows(rows[0], rows[1], value, count, begins, rows[2], rows[3], *flow)


def _value_columns(vertices: RankVertices, values: Any) -> list[Array]:
    return [vertices.ids, *(value for value in vars(values).values() if hasattr(value, "dtype"))]


def _values(answer: Callable[..., Any], _: RankVertices, columns: Sequence[Array], __: int | None) -> Any:
    return answer(*columns[1:])


def _label_columns(vertices: RankVertices, rows: RowLabels) -> list[Array]:
    intervals = [column for pair in zip(rows.low, rows.post, strict=True) for column in pair]
    return [vertices.ids, vertices.ids_of(rows.labels), rows.level, *intervals]


def _row_labels(vertices: RankVertices, columns: Sequence[Array], _: int | None) -> RowLabels:
    labels = vertices.rows_of(columns[1])
    numbers = [_narrowed(column, labels.dtype) for column in columns[3:]]
    return RowLabels(labels, _narrowed(columns[2], np.int32), np.stack(numbers[::2]), np.stack(numbers[1::2]))


def _narrowed(column: Array, dtype: Any) -> Array:
    narrowed = column.astype(dtype)
    if not (narrowed == column).all():
        raise ProofFailed("reachability: a number in the table is larger than any label")
    return narrowed


PATHS = TableForm(_path_columns, _paths)
FOREST = TableForm(_forest_columns, _forest, ("src", "dst", "weights"))
COMPONENTS = TableForm(_component_columns, _components)
PAIRS = TableForm(partial(_row_columns, ("vertex", "reached"), ()), partial(_of_pairs, Closure), ("vertex", "reached"))
_ENDS, _OF_EDGES = ("src", "dst"), ("betweenness",)
EDGES = TableForm(partial(_row_columns, _ENDS, _OF_EDGES), partial(_of_pairs, EdgeBetweenness), _ENDS + _OF_EDGES)
FLOWS = TableForm(_flow_columns, _flows, ("src",), ("asked", "flow_begins", "flow_arcs", "amounts"))
RANKINGS = TableForm(
    lambda vertices, ranking: [_of_row(vertices, ranking.seed), vertices.ids, ranking.scores],
    lambda vertices, columns, seed: Ranking(_row_of(vertices, columns[0], seed), columns[2]),
)
LABELS = TableForm(_label_columns, _row_labels)
_FORMS = {
    algorithm.Form.PATHS: PATHS,
    algorithm.Form.FOREST: FOREST,
    algorithm.Form.COMPONENTS: COMPONENTS,
    algorithm.Form.PAIRS: PAIRS,
    algorithm.Form.EDGES: EDGES,
    algorithm.Form.FLOWS: FLOWS,
    algorithm.Form.LABELS: LABELS,
}


def form_of(stage: algorithm.Algorithm, seeded: bool = False) -> TableForm:
    """The form of an algorithm's table, which may have an answer for each seed."""
    if stage.form is algorithm.Form.VALUES and not seeded:
        return TableForm(_value_columns, partial(_values, stage.resolve("answer")))
    return RANKINGS if seeded else _FORMS[stage.form]


def _all_equal(values: Array, others: Array, positions: Array) -> bool:
    """Whether `values` are `others[positions]`."""
    return first_other(values, others, positions) < 0
