"""Table `arcs`: the arcs of the stored graph, by external ids; of an undirected graph both arcs of each edge.

The stored arcs of a vertex ascend by their heads' ids, so the vertices in the order of their ids give the rows in theirs.
"""

import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa

from kernels.cpu.parallel import cores, running_sums
from kernels.graph import Array
from pipeline.runtime.memory import free_memory
from pipeline.runtime.threads import map_in_order
from pipeline.steps.runtime import Runtime
from pipeline.store.arrays import dtype_of
from pipeline.store.counting import decimals_of
from pipeline.store.facts import CheckFacts, GraphFacts
from pipeline.store.facts.derived import CheckedFacts
from pipeline.store.manifest import Folder, make
from pipeline.store.names import open_names
from pipeline.store.vertices import open_vertices
from pipeline.tables import files as tables
from pipeline.tables.points import GEOMETRY, sorted_coordinates
from pipeline.tables.streets import COLUMNS, STREETS, Streets, read_streets

if TYPE_CHECKING:
    from pipeline.steps.derived.arcs_proof import FileRead
    from pipeline.store.graph import OpenedShard

STEP = "arcs"  # and the table
_BYTES_PER_FILE = 1 << 29  # of memory that one takes while it is written and read back, with lines and names
NUMBER = "parallel"  # the column that only a graph with parallel arcs has


def tabulate_arcs(edges: Folder, graph: Folder, runtime: Runtime) -> Folder:
    """Write table `arcs`, and check it, read back, against the in-arcs of the stored graph.

    Args:
        edges: The edge list, which has names and coordinates.
        graph: The stored graph. Its shards are opened by memory map, so that only arrays of its vertices and the files that are
            being written take memory; changes are merged into its rows first, which takes the memory of the graph.
        runtime: The folder is `work / "arcs"`. It is computed in this process, whatever the cluster.

    Returns:
        The table. Facts: `CheckedFacts`.

    Raises:
        ProofFailed: The table, read back, is not that of the graph. Nothing is written.
        Damaged: A file differs from its manifest.
    """

    def write(folder: Path) -> dict[str, Any]:
        from pipeline.steps.derived.arcs_proof import ArcsProof

        rows = _ArcRows(edges, graph, _shards(graph, runtime))
        proof = ArcsProof(edges, graph, _stored_shards(graph), rows.schema)  # not from what the table is written from

        def write_file(number: int) -> "FileRead":
            path, first = folder / tables.file_name(number), number * tables.ROWS_PER_FILE
            last = min(first + tables.ROWS_PER_FILE, rows.number)
            groups = range(first, last, tables.ROWS_PER_GROUP)
            batches = (rows.batch(begin, min(begin + tables.ROWS_PER_GROUP, last)) for begin in groups)
            keys = [name for name in tables.keys(STEP) if name in rows.schema.names]
            tables.write_rows(path, rows.schema, keys, batches)
            return proof.read(path)

        threads = max(1, min(cores(), free_memory() // _BYTES_PER_FILE))
        files = list(map_in_order(write_file, range(tables.files_of(rows.number)), threads))
        started = time.perf_counter()
        proof.require_all(files)
        seconds = time.perf_counter() - started + sum(file.seconds for file in files)
        return CheckedFacts(rows=rows.number, proof=CheckFacts(rules=proof.rules, seconds=round(seconds, 6))).stored()

    return make(runtime.work / STEP, STEP, {"edges": edges.digest, "graph": graph.digest}, {}, write)


def _shards(graph: Folder, runtime: Runtime) -> "list[OpenedShard]":
    """The rows of the graph: those that stages on this process's CPU have opened, or those of each shard's files.

    If stages count the weights in units, those of the files are the weights of the source.
    """
    from pipeline.store.graph import OpenedShard

    opened = runtime.cluster.open_graphs
    if opened is None or runtime.backend != "cpu" or runtime.cluster.shards or decimals_of(graph) is not None:
        return _stored_shards(graph)
    whole = opened.graph(graph, "cpu")
    return [OpenedShard(range(whole.num_vertices), whole.out, whole.into)]


def _stored_shards(graph: Folder) -> "list[OpenedShard]":
    from pipeline.store.graph import open_shard, shard_rows

    return [open_shard(graph, number) for number in range(len(shard_rows(graph)))]


class _ArcRows:
    """The rows of the table.

    Attributes:
        number: How many there are.
        schema: Of the table, with a column for parallel arcs, names and lines if the graph has them.
    """

    def __init__(self, edges: Folder, graph: Folder, shards: "Sequence[OpenedShard]") -> None:
        from pipeline.tables.names import with_names

        facts = GraphFacts.of(graph)
        self.number = facts.arcs
        self._ids, self._rows_by_id, degrees, _ = open_vertices(graph)
        self._first = running_sums(degrees[self._rows_by_id])  # the row of the table at which each vertex in order begins
        self._shards, self._starts = shards, np.array([shard.rows.start for shard in shards])
        coordinates, self._names = sorted_coordinates(edges), open_names(edges)
        self._places = None if coordinates is None else _placed(coordinates, self._ids)
        self._parallel = facts.parallel_arcs_dropped < facts.parallel_arcs
        streets = read_streets(edges) if STREETS in edges.manifest.files else None
        self._streets = None if streets is None else Streets(streets, facts.weight is not None)
        without = (set() if self._parallel else {NUMBER}) | ({GEOMETRY} if coordinates is None else set())
        without |= {*COLUMNS} - {*(streets.column_names if streets else ())}
        self._plain = tables.schema(STEP, facts.weight, measure=facts.measure, without=without)
        self.schema = with_names(self._plain.empty_table(), ["src", "dst"], self._names).schema if self._names else self._plain

    def batch(self, first: int, last: int) -> pa.RecordBatch:
        """Rows first..last-1 of the table."""
        begin = int(np.searchsorted(self._first, first, side="right")) - 1
        end = int(np.searchsorted(self._first, last, side="left"))
        vertices, starts = self._rows_by_id[begin:end], self._first[begin : end + 1]
        lengths = np.diff(np.clip(starts, first, last))
        places = np.arange(first, last) - np.repeat(starts[:-1], lengths)  # of each arc among those of its tail
        tails = np.repeat(vertices, lengths)
        heads, weights = np.empty_like(tails), np.ones(len(tails), dtype_of(self._plain.field("weight").type))
        of_shard = np.searchsorted(self._starts, tails, side="right") - 1
        for number in np.unique(of_shard):
            shard, own = self._shards[number], np.flatnonzero(of_shard == number)
            stored = shard.out.offsets[tails[own] - shard.rows.start] + places[own]
            heads[own] = shard.out.indices[stored]
            if shard.out.weights is not None:
                weights[own] = shard.out.weights[stored]
        return self._as_batch(tails, heads, weights, places)

    def _as_batch(self, tails: Array, heads: Array, weights: Array, places: Array) -> pa.RecordBatch:
        """Arcs between stored rows as rows of the table."""
        from pipeline.tables.lines import lines
        from pipeline.tables.names import with_names

        columns = {"src": pa.array(self._ids[tails]), "dst": pa.array(self._ids[heads]), "weight": pa.array(weights)}
        if self._parallel:
            columns[NUMBER] = pa.array(self._numbers(tails, heads, places))
        if self._places:
            x, y, known = self._places
            columns[GEOMETRY] = lines(np.stack([x[tails], y[tails], x[heads], y[heads]], axis=1), known[tails] & known[heads])
        if self._streets:
            columns |= _of_streets(self._streets, columns, weights)
        rows = pa.table([columns[name] for name in self._plain.names], schema=self._plain)
        rows = with_names(rows, ["src", "dst"], self._names) if self._names else rows
        return rows.combine_chunks().to_batches()[0]

    def _numbers(self, tails: Array, heads: Array, places: Array) -> Array:
        """The number of each arc among those of its pair, which are neighbours; those of the first pair may begin before."""
        differs = np.ones(len(tails), np.bool_)
        differs[1:] = (tails[1:] != tails[:-1]) | (heads[1:] != heads[:-1])
        begins = np.flatnonzero(differs)
        numbers = np.arange(len(tails)) - np.repeat(begins, np.diff(np.append(begins, len(tails))))
        shard = self._shards[int(np.searchsorted(self._starts, tails[0], side="right")) - 1]
        offset = int(shard.out.offsets[tails[0] - shard.rows.start])
        numbers[: begins[1] if len(begins) > 1 else None] += np.count_nonzero(
            shard.out.indices[offset : offset + places[0]] == heads[0]
        )
        return numbers


def _of_streets(streets: Streets, columns: Mapping[str, pa.Array], weights: Array) -> dict[str, pa.Array]:
    """What is known of the streets of arcs, and their lines in the place of straight ones."""
    import pyarrow.compute as pc

    number = columns[NUMBER].to_numpy() if NUMBER in columns else None
    street, against = streets.find(columns["src"].to_numpy(), columns["dst"].to_numpy(), weights, number)
    on_street = street >= 0
    drawn = streets.lines(street[on_street], against[on_street])
    return streets.columns(street) | {GEOMETRY: pc.replace_with_mask(columns[GEOMETRY], pa.array(on_street), drawn)}


def _placed(coordinates: pa.Table, ids: Array) -> tuple[Array, Array, Array]:
    """Longitude and latitude of vertices [V], and whether they are known."""
    from pipeline.tables.row_lookup import positions_in

    if not len(coordinates):
        return np.zeros(len(ids)), np.zeros(len(ids)), np.zeros(len(ids), np.bool_)
    at, known = positions_in(coordinates["vertex"].to_numpy(), ids)
    return coordinates["x"].to_numpy()[at], coordinates["y"].to_numpy()[at], known
