"""`graphmill.open`: a graph in this process's memory or on its GPU, with the ids of its source."""

import os
from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from functools import partial
from typing import Any

import numpy as np
import pyarrow as pa

from kernels.arrays import is_cupy, require_rows
from kernels.graph import ID, NO_ROW, Array, Graph
from pipeline.cluster.open_graphs import OpenGraphs
from pipeline.config.loading import checked
from pipeline.config.model import LARGEST
from pipeline.config.products import GraphOptions
from pipeline.errors import BadConfig, BadSource, Changed, Damaged
from pipeline.ingest.again import steadily
from pipeline.runtime.backend import Backend, choose, fetch
from pipeline.steps.stored_graph import StoredGraph, Tables, folder_of, graph_of_run, stored_graph
from pipeline.store import manifest
from pipeline.store.counting import stated_graph
from pipeline.store.edges import FILES
from pipeline.store.facts import EdgeFacts
from pipeline.store.names import VertexNames, open_names
from pipeline.suggestions import did_you_mean
from pipeline.tables.row_lookup import rows_of
from pipeline.texts import id_of, why_not_an_id

_TABLES = ("layout", "reject")  # of a run's configuration, besides `[graph]`, that say what the graph is
_SIMILAR = 1000  # names that are compared with a wrong one
_SHOWN = 80  # characters of a wrong id


class OpenedGraph:
    """A graph, and which of its rows stands for which id of its source.

    Attributes:
        graph: What operators and algorithms take, with read-only arrays. It stays valid when the run or file is replaced.
    """

    def __init__(self, graph: Graph, names: VertexNames | None, rejected: int = 0) -> None:
        self.graph, self._names, self._rejected = graph, names, rejected

    def __repr__(self) -> str:
        graph, weights = self.graph, self.graph.out.weights
        return (
            f"<{'directed' if graph.directed else 'undirected'} graph of {graph.num_vertices:,} vertices and {graph.num_arcs:,} "
            f"arcs, {'no weights' if weights is None else f'weights {weights.dtype}'}, ids are "
            f"{'integers' if self._names is None else 'strings'}, on the {'GPU' if is_cupy(graph) else 'CPU'}"
            f"{f'; rejected rows of the source: {self._rejected:,}' if self._rejected else ''}>"
        )

    def row(self, vertex: int | str) -> int:
        """The row of a vertex, given by its id in the source. Raises BadSource if the graph does not have it."""
        return int(self.rows([vertex])[0])

    def rows(self, vertices: Iterable[int | str] | Array) -> Array:
        """The rows [n] of vertices in index width, where the graph's arrays are.

        Args:
            vertices: Ids of the source, integers or strings as there, in a list, an array or a column of a data frame.

        Raises:
            BadSource: One of them is not in the graph; the message has the first.
        """
        if isinstance(vertices, str):
            raise TypeError(f"rows takes several vertices, and {vertices[:_SHOWN]!r} is one; use row")
        values = _listed(vertices)
        rows = rows_of(self.graph, _integers(values) if self._names is None else _numbers(self._names, values))
        absent = fetch(rows == NO_ROW)
        if absent.any():
            raise BadSource(self._why_absent(values[int(absent.argmax())]))
        return rows

    def ids(self, rows: Any = None) -> Array:
        """The ids of rows as the source has them; by default of all rows, in their order.

        Args:
            rows: Integers [n] of any type, also on a GPU, such as `frontier.rows()`.

        Returns:
            In host memory: int64 [n], or Python's strings [n] if the ids are strings.

        Raises:
            IndexError: The graph has no such row.
        """
        numbers = self.graph.ids
        if isinstance(rows, int | np.integer):
            raise TypeError(f"ids takes several rows, and {rows!r} is one; write [{rows!r}]")
        if rows is not None:
            numbers = numbers[np.asarray(fetch(require_rows(self.graph, rows)), like=numbers)]
        if self._names is None:
            return fetch(numbers)
        texts: list[str] = self._names.array().take(pa.array(fetch(numbers))).to_pylist()
        return np.array(texts, object)

    def _why_absent(self, value: Any) -> str:
        """What to say of a vertex that the graph does not have."""
        text, names = str(value)[:_SHOWN], self._names
        if names is None and _integer(value) >= 0:
            return f"vertex {text} is not in the graph ({self.graph.num_vertices:,} vertices)"
        if names is None:
            reason = why_not_an_id(text) if isinstance(value, str) else None
            return f"vertex {text!r} {reason or f'is not an integer in 0..{LARGEST}'}; the ids of this graph are integers"
        if not isinstance(value, str):
            return f"vertex {text} is {type(value).__name__}, and the ids of this graph are strings"
        like = did_you_mean(text, names.array()[:_SIMILAR].to_pylist())
        return f"vertex {text!r} is not among the {len(names):,} ids of the graph{like}"


def open(
    target: str | os.PathLike[str] | Sequence[str | os.PathLike[str]],
    *,
    backend: str = "auto",
    src: str | int | None = None,
    dst: str | int | None = None,
    weight: str | int | bool | None = None,
    **options: Any,
) -> OpenedGraph:
    """Open the graph of a published run, or read the graph of a file; a file is read again only if it has changed.

    Args:
        target: A folder or URL of runs, its `latest`, or a run; the TOML file of a run or a graph; or what `source` of a graph
            may be: a graph file or its URL, for example.
        backend: {"auto", "cpu", "gpu"}: where the arrays are; `auto` takes the GPU if there is one.
        src, dst, weight: Columns of the graph file: names, or numbers from 1; `weight=False` ignores weights.
        options: Other keys of `[graph]`, such as `directed=False` or `delimiter=";"`, and the tables `layout` and `reject`:
            `layout={"self_loops": "keep"}` (docs/configuration.md).

    Raises:
        BadConfig: There is no such run or no longer its graph, no GPU, or no such option.
        BadInput: The file is not there, or is not a graph.
        GraphmillError: Anything else that a user can fix.
        OSError: A file cannot be read.

    Example:
        >>> import graphmill
        >>> opened = graphmill.open("data/facebook_combined.txt.gz", directed=False)
        >>> opened.graph.num_vertices, opened.ids(opened.rows([348, 0])).tolist()
        (4039, [348, 0])
    """
    tables = {name: table for name in _TABLES if (table := _table(name, options.pop(name, None)))}
    given = {name: column for name, column in (("src", src), ("dst", dst), ("weight", weight)) if column is not None}
    if columns := _table("columns", options.pop("columns", None)) | given:
        options["columns"] = columns
    if "source" in options:
        raise BadConfig("options: source: is the target, which comes first; leave it out")
    if options:
        tables["graph"] = options
    where = checked(GraphOptions, "options", backend=backend)
    if isinstance(target, str | os.PathLike):
        named = os.fsdecode(target)
        return steadily([named], partial(_open, named, where, tables))
    several = [os.fsdecode(one) for one in target]
    return steadily(several, partial(_open, several, where, tables))


def _table(name: str, value: Any) -> dict[str, Any]:
    if not isinstance(value, Mapping | None):
        raise BadConfig(f"options: {name}: must be a dictionary (got {value!r})")
    return {**(value or {})}


def _open(target: str | list[str], options: GraphOptions, tables: Tables) -> OpenedGraph:
    if (runs := folder_of(target)) is None:
        with stored_graph(target, options, tables=tables) as (stored, runtime):
            return _opened(stored, runtime.backend, runtime.cluster.open_graphs)
    if tables:
        key = next(f"{name}.{key}" for name, table in tables.items() for key in table)
        raise BadConfig(f"options: {key}: has no effect: {target} is the folder of a run, whose graph is stored; leave it out")
    stored = graph_of_run(runs, unread=FILES)
    try:
        opened = _opened(stored, choose(options.backend))
    except Damaged:
        _require_same(stored)
        raise
    _require_same(stored)
    return opened


def _opened(stored: StoredGraph, backend: Backend, open_graphs: OpenGraphs | None = None) -> OpenedGraph:
    """Map the files, or copy them to the GPU. Files that are mapped stay readable after others have taken their place."""
    opened = stated_graph(stored.graph, (open_graphs or OpenGraphs()).graph(stored.graph, backend))
    rejected = EdgeFacts.of(stored.edges).rejected
    return OpenedGraph(opened, open_names(stored.edges), rejected.rows if rejected else 0)


def _require_same(stored: StoredGraph) -> None:
    """Raise Changed if a folder is not the one that was checked: some arrays may be those of a later run's graph."""
    for folder in stored:
        with suppress(Damaged):
            if manifest.read(folder.path).digest == folder.digest:
                continue
        raise Changed(folder.path, "was replaced while it was read")


def _listed(vertices: Any) -> Array | list[Any]:
    """Ids in host memory: an array of integers as it is, and anything else as a list. Raises TypeError unless it has one axis."""
    values: Any = fetch(vertices)
    if getattr(values, "ndim", 1) != 1:
        raise TypeError(f"vertices have {values.ndim} axes, not one")
    if isinstance(values, np.ndarray) and values.dtype.kind in "iu":
        return values
    return values.tolist() if hasattr(values, "tolist") else [*values]


def _integers(values: Array | list[Any]) -> Array:
    """The external ids of integers and of texts of integers, int64 [n]; -1 for what is no id."""
    if isinstance(values, np.ndarray):
        return values.astype(ID)  # a number beyond int64 becomes negative
    return np.array([_integer(one) for one in values], ID)


def _integer(value: Any) -> int:
    number = id_of(value) if isinstance(value, str) else value
    if isinstance(number, int | np.integer) and not isinstance(number, bool) and 0 <= number <= LARGEST:
        return int(number)
    return -1


def _numbers(names: VertexNames, values: Array | list[Any]) -> Array:
    """The external ids of strings, int64 [n]; -1 for what is no name of the graph."""
    texts = [one if isinstance(one, str) and _is_utf8(one) else None for one in values]
    return names.find(pa.array(texts, pa.large_string()))


def _is_utf8(text: str) -> bool:
    try:
        text.encode()
    except UnicodeEncodeError:
        return False
    return True
