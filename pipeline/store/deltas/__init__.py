"""A stored graph as a base and changes: immutable files of rows, and a batch of changed edges for each file of changes.

`changes-00001.arrow` (Arrow IPC) has a changed pair of vertices in each row, sorted by its rows: `src`, `dst` (rows), `was` and
`puts`: whether the graph had the edge before and has it afterwards, and its `weight` if the graph has weights. `new-vertices.npy`
has the ids of the vertices after those of the base, by row. The newest change of a pair decides. Opening merges the changes into
the rows that are opened, where the backend computes (`kernels.layout.merging`); the order of the rows stays that of the base.
"""

from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
import pyarrow as pa

from kernels.cpu.parallel import elementwise, searched
from kernels.graph import ID, Array, Csr
from kernels.layout.merging.pairs import PairChanges, merge_pairs, newest
from pipeline.errors import Damaged
from pipeline.runtime.backend import Backend, bring
from pipeline.store.arrays import load_array, save_array
from pipeline.store.facts import DeltaFacts, GraphFacts
from pipeline.store.manifest import Folder

NEW_VERTICES = "new-vertices.npy"
EDGES = ("edges", "edges-1", "edges-2")  # step folders: the edge list of a source, and its names after new ones, in turn
GRAPHS = ("graph", "graph-1", "graph-2")  # step folders: of a source, and of states, each written beside the one before it


@dataclass(frozen=True)
class Pairs:
    """Changed edges, by rows; of an undirected graph in one direction only."""

    src: Array  # index width [C]
    dst: Array  # index width [C]
    was: Array  # bool [C]: whether the graph had the edge
    puts: Array  # bool [C]: whether it has the edge now
    weights: Array | None  # of the stored arcs' type [C]: of those that it has now


def batch_name(number: int) -> str:
    """The file of a batch of changes, numbered from 1."""
    return f"changes-{number:05d}.arrow"


def save_batch(folder: Path, number: int, pairs: Pairs) -> None:
    """Save a batch of changes, NumPy's arrays."""
    columns = {"src": pairs.src, "dst": pairs.dst, "was": pairs.was, "puts": pairs.puts}
    columns |= {} if pairs.weights is None else {"weight": pairs.weights}
    batch = pa.RecordBatch.from_pydict({name: pa.array(column) for name, column in columns.items()})
    with pa.OSFile(str(folder / batch_name(number)), "wb") as file, pa.ipc.new_file(file, batch.schema) as writer:
        writer.write_batch(batch)


def save_new_vertices(folder: Path, ids: Array) -> None:
    """Save the ids of the vertices after those of the base, int64."""
    (folder / NEW_VERTICES).unlink(missing_ok=True)  # the file of the state before, which is linked there
    save_array(folder / NEW_VERTICES, ids)


class Delta:
    """The changes of a stored graph. Raises Damaged if a file differs from the facts."""

    def __init__(self, folder: Folder, facts: DeltaFacts) -> None:
        self._stored, self._facts = GraphFacts.of(folder), facts
        added = self._stored.vertices - facts.vertices
        self.new_ids = load_array(folder.path / NEW_VERTICES, ID, added) if added else np.empty(0, ID)
        batches = [_load(folder.path / batch_name(number), rows) for number, rows in enumerate(facts.batches, 1)]
        kind = self._stored.stored_weight
        self._columns = {
            name: np.concatenate([batch[name].to_numpy(zero_copy_only=False) for batch in batches])
            for name in batches[0].schema.names
        }
        if kind:
            self._columns["weight"] = self._columns["weight"].astype(kind, copy=False)
        self._number = np.repeat(np.arange(1, len(batches) + 1), facts.batches)  # of each change's batch
        self._starts = np.array([shard.rows[0] for shard in facts.shards[1:]])  # of all shards but the first

    @property
    def num_rows(self) -> int:
        """Rows of the graph."""
        return self._stored.vertices

    def vertices(self, ids: Array, rows_by_id: Array, *degrees: Array) -> tuple[Array, Array, Array, Array]:
        """The base's vertices, as `pipeline.store.graph.open_vertices`, with those that were added and with today's degrees."""
        more = self._columns["puts"].astype(ID) - self._columns["was"]
        src, dst = self._columns["src"], self._columns["dst"]
        padded = [np.concatenate([column, np.zeros(len(self.new_ids), ID)]) for column in degrees]
        if self._stored.directed:
            np.add.at(padded[0], src, more)
            np.add.at(padded[1], dst, more)
        else:
            np.add.at(padded[0], src, more)
            np.add.at(padded[0], dst, np.where(src == dst, 0, more))
            padded[1] = padded[0]
        return np.concatenate([ids, self.new_ids]), self.rows_by_id(ids, rows_by_id), padded[0], padded[1]

    def rows_by_id(self, ids: Array, rows_by_id: Array) -> Array:
        """The rows in the ascending order of ids; `ids` and `rows_by_id` are the base's."""
        if not len(self.new_ids):
            return rows_by_id
        order = np.argsort(self.new_ids)
        ascending = elementwise(lambda rows: ids[rows], rows_by_id, dtype=ID)
        places = searched(ascending, self.new_ids[order])
        return np.insert(rows_by_id, places, (len(ids) + order).astype(rows_by_id.dtype))

    def arcs(self, direction: str, positions: Array, backend: Backend) -> PairChanges:
        """The changed arcs of one direction, `out` or `in`.

        Args:
            positions (index width [V]): Of all rows in the ascending order of ids, where `backend` computes.
        """
        ends = [self._columns["src"], self._columns["dst"]]
        columns = [self._columns["puts"], *([self._columns["weight"]] if "weight" in self._columns else [])]
        rows, heads = ends if direction == "out" else ends[::-1]
        if not self._stored.directed:  # an edge and its reverse side by side, so that the changes stay in the order of their age
            rows, heads = (np.stack(pair, 1).ravel() for pair in (ends, ends[::-1]))
            columns = [np.repeat(column, 2) for column in columns]
        if any(self._facts.applied):
            left = np.flatnonzero(self._left(rows, self._number if self._stored.directed else np.repeat(self._number, 2)))
            rows, heads, columns = rows[left], heads[left], [column[left] for column in columns]
        rows, heads, puts, *weights = (bring(column, backend) for column in (rows, heads, *columns))
        return newest(PairChanges(rows, heads, puts, weights[0] if weights else None), positions)

    def touched(self) -> list[int]:
        """How many arcs of each shard its files do not have as they are now; an arc counts for each batch that changes it."""
        rows = np.concatenate([self._columns["src"], self._columns["dst"]])
        left = self._left(rows, np.tile(self._number, 2))
        found: list[int] = np.bincount(self._shard(rows[left]), minlength=len(self._facts.shards)).tolist()
        return found

    def _left(self, rows: Array, numbers: Array) -> Array:
        """Whether the files of a row's shard do not contain its change, of a batch with this number."""
        left: Array = numbers > np.array(self._facts.applied)[self._shard(rows)]
        return left

    def _shard(self, rows: Array) -> Array:
        return np.searchsorted(self._starts, rows, side="right")


def delta_of(folder: Folder) -> Delta | None:
    """The changes of a stored graph that is a base and changes; None for another one. Raises Damaged."""
    facts = GraphFacts.of(folder).delta
    return Delta(folder, facts) if facts else None


def merged(csr: Csr, changes: PairChanges, positions: Array, rows: range) -> Csr:
    """The rows of a range with their changes; `csr` has those of them that the base has, perhaps with narrower weights."""
    if csr.weights is not None and changes.weights is not None and csr.weights.dtype != changes.weights.dtype:
        csr = replace(csr, weights=csr.weights.astype(changes.weights.dtype))
    return merge_pairs(csr, changes.within(rows), positions, len(rows))


def _load(path: Path, rows: int) -> pa.RecordBatch:
    try:
        batch = pa.ipc.open_file(pa.memory_map(str(path))).get_batch(0)
    except (OSError, pa.ArrowInvalid) as error:
        raise Damaged(f"{path}: {error}") from None
    if batch.num_rows != rows:
        raise Damaged(f"{path}: {batch.num_rows} changes, the manifest says {rows}")
    return batch
