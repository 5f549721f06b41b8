"""Table `forest`: the parent and the depth of each vertex in the minimum spanning forest."""

import logging
import time
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, nullcontext
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa

from kernels.cpu.parallel import cores, elementwise, gathered
from kernels.derived import Derived
from kernels.forest.rooted import BYTES_PER_VERTEX, RULES, RootedForest, edges_above, root_forest, wrong_vertex
from kernels.graph import NO_ROW, Array, index_dtype
from pipeline.comparison.earlier import EarlierTable
from pipeline.errors import ProofFailed
from pipeline.runtime.backend import Backend, bring
from pipeline.runtime.memory import free_memory
from pipeline.runtime.threads import map_in_order
from pipeline.steps.runtime import Runtime
from pipeline.store.code import Code
from pipeline.store.facts import CheckFacts, GraphFacts
from pipeline.store.facts.derived import RootedFacts
from pipeline.store.manifest import Folder, make
from pipeline.store.vertices import open_vertices
from pipeline.tables import files as tables
from pipeline.tables.batches import NO_ID, as_batch, read_column
from pipeline.tables.row_lookup import finder

STEP = "forest"  # and the table
log = logging.getLogger(__name__)


def root(_: Folder, graph: Folder, answer: Folder, runtime: Runtime) -> Folder | None:
    """Write table `forest`, and check it, read back, against table `mst`.

    Args:
        graph: The stored graph.
        answer: The answer of stage `mst`, which may be proved at the same time.
        runtime: The folder is `work / "forest"`. Ranks compute it if they hold the graph together in other processes, or this one
            has too little memory for all of it; otherwise it is computed here, on the GPU if that has memory for it.

    Returns:
        The table, or None if it may take more memory than is free in this process. Facts: `RootedFacts`.

    Raises:
        ProofFailed: The table is not that of the forest. Nothing is written.
    """
    vertices, ranks = GraphFacts.of(graph).vertices, runtime.ranks_of(graph)
    needed, free = BYTES_PER_VERTEX["cpu"] * vertices, free_memory()
    if runtime.in_this_process and needed <= free:
        ranks = 0  # they would use a core each
    if needed > free and not ranks:
        log.warning("%s: left out, because it takes up to %d bytes of memory, and %d are free", STEP, needed, free)
        return None

    code = Code.of_step(STEP, __name__)

    def write(folder: Path) -> dict[str, Any]:
        started, facts = time.perf_counter(), GraphFacts.of(graph)
        schema = tables.schema(STEP, facts.weight, measure=facts.measure)
        wrong_row: Callable[[Path], int | None]
        if ranks:
            from pipeline.steps.derived.forest_over_ranks import RankedForest

            ranked = RankedForest(graph, answer, schema, tables.keys(STEP), runtime, ranks)
            (trees, deepest), wrong_row = ranked.write(folder), ranked.wrong_row
        else:
            backend, turn = _where(runtime, vertices)
            edges = _ForestEdges(graph, answer, backend)
            with turn:
                forest = root_forest(edges.src, edges.dst, edges.labels, vertices)
            _write_files(folder, edges, forest, schema, EarlierTable.of(runtime.work / STEP, STEP, code.version()))
            trees, deepest = vertices - len(edges.src), int(forest.depth.max()) if vertices else 0
            del forest
            wrong_row = edges.wrong_row
        computed = time.perf_counter() - started
        if (wrong := wrong_row(folder)) is not None:
            raise ProofFailed(f"forest: the row of vertex {wrong} does not follow from the edges in table mst")
        checked = CheckFacts(rules=list(RULES), seconds=round(time.perf_counter() - started - computed, 6))
        over_ranks: dict[str, Any] = {"shards": ranks} if ranks else {}
        return RootedFacts(rows=vertices, trees=trees, deepest=deepest, proof=checked, **over_ranks).stored()

    return make(runtime.work / STEP, STEP, {"graph": graph.digest, "answer": answer.digest}, {}, write, code)


def _where(runtime: Runtime, vertices: int) -> tuple[Backend, AbstractContextManager[object]]:
    """The backend that computes the table, and what to hold while it roots the forest."""
    opened, needed = runtime.cluster.open_graphs, BYTES_PER_VERTEX["gpu"] * vertices
    if runtime.backend == "gpu" and opened and needed <= free_memory("gpu"):
        return "gpu", opened.turn
    return "cpu", nullcontext()


class _ForestEdges:
    """The edges of table `mst` between positions of the graph's vertices, whose arrays are those of `finder`."""

    def __init__(self, graph: Folder, answer: Folder, backend: Backend) -> None:
        ids, rows_by_id, _, _ = open_vertices(graph)
        self.backend = backend
        self.ids = bring(gathered(ids, rows_by_id), backend)
        self.num_vertices, self.numbering = len(self.ids), Derived()
        self.rows_by_id = np.arange(len(self.ids), dtype=index_dtype(len(self.ids)), like=self.ids)
        self.src, self.dst, self.labels = (self.positions(self.column(answer.path, name)) for name in ("src", "dst", "labels"))
        self.weights = self.column(answer.path, "weight")
        if any(len(of) and int(of.min()) < 0 for of in (self.src, self.dst, self.labels)):
            raise ProofFailed("forest: table mst has a vertex that is not in the graph")

    def positions(self, ids: Array) -> Array:
        """Positions of external ids; NO_ROW for NO_ID, and for an id that the graph does not have."""
        return finder(self)(ids)

    def column(self, folder: Path, name: str) -> Array:
        """A column of a table: one at a time takes less memory than all of them."""
        return read_column(folder, name, self.backend)

    def wrong_row(self, folder: Path) -> int | None:
        """External id of the first vertex whose row, read back, is wrong; None if all are right."""
        vertex, parent = self.column(folder, "vertex"), self.column(folder, "parent")
        if len(vertex) != len(self.ids):
            return int(self.ids[0])
        above = self.positions(parent)
        edge = edges_above(above, self.src, self.dst)
        right = elementwise(
            lambda vertex, own, parent, above, weight, edge: (vertex == own) & ((parent == NO_ID) == (above == NO_ROW)) &
            (weight == np.where(edge == NO_ROW, NO_ID, self.weights.take(edge) if len(self.weights) else NO_ID)),
            vertex, self.ids, parent, above, self.column(folder, "weight"), edge, dtype=np.bool_,
        )  # fmt: skip
        del vertex, parent
        wrong = -1 if right.all() else int(right.argmin())
        if wrong < 0:
            forest = RootedForest(above, edge, self.column(folder, "depth"), self.positions(self.column(folder, "labels")))
            wrong = wrong_vertex(forest, self.src, self.dst, self.labels)
        return None if wrong < 0 else int(self.ids[wrong])


def _write_files(
    folder: Path, edges: _ForestEdges, forest: RootedForest, schema: pa.Schema, earlier: EarlierTable
) -> None:  # fmt: skip
    rows = len(edges.ids)

    def batches(number: int) -> Iterator[pa.RecordBatch]:
        last = min((number + 1) * tables.ROWS_PER_FILE, rows)
        for first in range(number * tables.ROWS_PER_FILE, last, tables.ROWS_PER_GROUP):
            part = slice(first, min(first + tables.ROWS_PER_GROUP, last))
            parent, edge = forest.parent[part], forest.edge[part]
            above, weights = gathered(edges.ids, parent, NO_ID), gathered(edges.weights, edge, NO_ID)
            yield as_batch([edges.ids[part], above, weights, forest.depth[part], gathered(edges.ids, forest.root[part])], schema)

    def write_file(number: int) -> None:
        earlier.write(number, folder / tables.file_name(number), schema, tables.keys(STEP), batches(number))

    for _ in map_in_order(write_file, range(tables.files_of(rows)), cores()):
        pass
