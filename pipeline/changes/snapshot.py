"""A new snapshot of a graph's source: the changes from the graph to it are computed on the GPU or on all cores."""

from pathlib import Path

import numpy as np
import pyarrow as pa

from kernels.cpu.parallel import elementwise
from kernels.graph import OFFSET, Array, Csr, Graph
from kernels.layout.cleaning import clean
from kernels.layout.laid_out import take_rows
from pipeline.changes.rows import DELETE, INSERT, UPDATE, ChangeRows
from pipeline.config.graph import GraphConfig
from pipeline.config.layout import LayoutConfig
from pipeline.errors import BadInput
from pipeline.ingest import ingest
from pipeline.ingest.feed import Feed
from pipeline.ingest.source import Source
from pipeline.runtime.backend import Backend, bring, fetch
from pipeline.steps.layout import rules_of
from pipeline.steps.parallel import needs_merging
from pipeline.steps.parallel.merging import merge_parallel
from pipeline.steps.runtime import Runtime
from pipeline.store.edges_on_disk import open_edges
from pipeline.store.facts import EdgeFacts, GraphFacts
from pipeline.store.names import VertexNames, open_names
from pipeline.store.scratch import scratch


class Snapshot:
    """The clean arcs of a snapshot, by ascending ids."""

    def __init__(
        self, source: Source | Feed, config: GraphConfig, layout: LayoutConfig, parallel: str, work: Path, backend: Backend
    ) -> None:
        """Read the snapshot as the graph's source was read, with its edge list in `work`, by its rule for parallel rows.

        Raises BadInput if the file is not a graph.
        """
        self.file = source.url
        whole: str | tuple[str, ...] = source.url
        if isinstance(source, Feed):
            whole = source.entries
        elif source.local:
            whole = source.path
        replaced = {"source": whole, "sha256": None, "coordinates": None, "nodes": None}
        with scratch(work) as unfinished:
            edges = ingest(config.model_copy(update=replaced), unfinished)
            self._names = open_names(edges)
            if needs_merging(edges, parallel):
                edges = merge_parallel(edges, parallel, layout, Runtime(unfinished), config.columns.order)
            rules, self._facts = rules_of(edges, layout, parallel), EdgeFacts.of(edges)
            ids, self._arcs, _ = clean(open_edges(edges, backend), rules)
        self._ids, self._rules = fetch(ids), rules

    def strings(self, names: VertexNames | None) -> pa.Array | None:
        """Its ids, if they and the graph's are strings. Raises BadInput if only one of both has strings."""
        if (names is None) != (self._names is None):
            raise BadInput(self.file, "has ids of another type than the graph (integers or strings)")
        return self._names.array() if self._names else None

    def changes_from(self, graph: Graph, facts: GraphFacts, names: VertexNames | None, backend: Backend) -> ChangeRows:
        """The changes from another graph to that of the snapshot; vertices that the snapshot lacks stay.

        Args:
            graph: Where `backend` computes.
            names: By which this graph is numbered, if ids are strings: also those of the snapshot.

        Raises:
            BadInput: Its edges have another direction or type of weights.
        """
        for what, here, there in (
            ("direction", self._rules.both, not facts.directed),
            ("weights", self._facts.weight, facts.weight),
        ):
            if here != there:
                raise BadInput(self.file, f"has another type of {what} than the graph: {here}, not {there}")
        ascending, own = graph.ids[graph.rows_by_id], bring(self._numbers(names), backend)
        union = np.unique(np.concatenate([ascending, own]))
        before = take_rows(graph.out, graph.rows_by_id, graph.positions)
        keys, weights = _keys(before, np.searchsorted(union, ascending), len(union), self._rules.both)
        new_keys, new_weights = _keys(self._arcs, np.searchsorted(union, own), len(union), self._rules.both)
        positions, known = _find(new_keys, keys)
        gone = np.ones_like(keys, np.bool_)
        gone[positions[known]] = False
        has_arc = self._arcs.offsets[1:] > self._arcs.offsets[:-1]
        has_arc[self._arcs.indices] = True
        new = own[~_find(own, ascending)[1] & ~has_arc]  # the others come with their edges
        parts = [(DELETE, keys[gone], None), (INSERT, new_keys[~known], None if new_weights is None else new_weights[~known])]
        if weights is not None and new_weights is not None:
            known[known] = weights[positions[known]] != new_weights[known]
            parts.append((UPDATE, new_keys[known], new_weights[known]))
        ops = np.concatenate([np.full(len(some), op, np.uint8) for op, some, _ in parts] + [np.full(len(new), INSERT, np.uint8)])
        ends = [_ends(some, union) for _, some, _ in parts] + [(new, new)]
        src, dst = (np.concatenate([fetch(of_part[end]) for of_part in ends]) for end in (0, 1))
        of_all = None
        if new_weights is not None:
            of_all = np.zeros(len(ops), new_weights.dtype)
            given = [fetch(of) for _, _, of in parts if of is not None]
            of_all[ops != DELETE] = np.concatenate([*given, np.zeros(len(new), of_all.dtype)])  # all of one type: not rounded
        return ChangeRows(self.file, None, ops, pa.array(src), pa.array(dst), of_all, alone=len(new))

    def _numbers(self, names: VertexNames | None) -> Array:
        """The ids in the graph's numbering, which ascends with that of the snapshot."""
        if names is None or self._names is None:
            return self._ids
        numbers: Array = names.find(self._names.array())[self._ids]
        return numbers


def _keys(arcs: Csr, numbers: Array, most: int, both: bool) -> tuple[Array, Array | None]:
    """Arcs as ascending numbers of their ends, below `most`, and their weights; with `both`, one of an edge's two arcs."""

    def tails_of(some: Array) -> Array:
        rows: Array = np.searchsorted(arcs.offsets, some, side="right") - 1
        return numbers[rows]

    every = np.arange(len(arcs.indices), dtype=OFFSET, like=arcs.indices)
    tails, heads = elementwise(tails_of, every, dtype=OFFSET), numbers[arcs.indices]
    keys = tails * most + heads
    if not both:
        return keys, arcs.weights
    one = np.flatnonzero(tails <= heads)
    return keys[one], None if arcs.weights is None else arcs.weights[one]


def _ends(keys: Array, union: Array) -> tuple[Array, Array]:
    """The ids of both ends."""
    return union[keys // max(len(union), 1)], union[keys % max(len(union), 1)]


def _find(wanted: Array, ascending: Array) -> tuple[Array, Array]:
    """Positions of some numbers among ascending ones, and whether they occur there; on all cores."""
    if not len(ascending):
        return np.zeros_like(wanted, OFFSET), np.zeros_like(wanted, np.bool_)

    def find(some: Array) -> Array:
        positions: Array = np.searchsorted(ascending, some)
        return positions

    positions = np.minimum(elementwise(find, wanted, dtype=OFFSET), len(ascending) - 1)
    known: Array = ascending[positions] == wanted
    return positions, known
