"""A stored graph as a base and changes: immutable files of rows, and a batch of changed edges for each file of changes.

`changes-00001.arrow` (Arrow IPC) has a changed pair of vertices in each row, sorted by its rows: `src`, `dst` (rows), `was` and
`puts`: whether the graph had the edge before and has it afterwards, and its `weight` if the graph has weights. `new-vertices.npy`
has the ids of the vertices after those of the base, by row. The newest change of a pair decides. Opening merges the changes into
the rows that are opened, where the backend computes (`kernels.layout.merging`); the order of the rows stays that of the base.
"""

from dataclasses import replace
from pathlib import Path

import numpy as np
import pyarrow as pa

from kernels.cpu.parallel import elementwise, inserted, over_items, ranges, searched
from kernels.graph import ID, Array, Csr
from kernels.layout.merging.pairs import PairChanges, merge_pairs, newest
from kernels.records import dataclass
from pipeline.errors import Damaged
from pipeline.runtime.backend import Backend, bring
from pipeline.store.arrays import load_array, save_array
from pipeline.store.facts import DeltaFacts, GraphFacts
from pipeline.store.manifest import Folder, digest_of

NEW_VERTICES = "new-vertices.npy"
ATTACHED = "attached"  # step folder: the edge list of a source with places on its streets
EDGES = ("edges", "edges-1", "edges-2")  # step folders: the edge list of a source, and its names after new ones, in turn
CAPACITIES = "capacities"  # step folder of a graph with the sums of parallel edges, for `max_flow`
GRAPHS = ("graph", "graph-1", "graph-2")  # step folders: of a source, and of states, each written beside the one before it


def in_turn(before: Folder, names: tuple[str, ...]) -> str:
    """The name of the folder that is written next to one of EDGES or GRAPHS, which stays."""
    return names[2] if before.path.name == names[1] else names[1]


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

    def ids(self, ids: Array, rows_by_id: Array) -> tuple[Array, Array]:
        """The ids in the order of the rows, and the rows in the ascending order of ids; the arguments are the base's."""
        if not len(self.new_ids):
            return ids, rows_by_id
        order = np.argsort(self.new_ids, kind="stable")  # which merges the ascending ids of each batch
        ascending = elementwise(ids.take, rows_by_id, dtype=ID)
        positions = searched(ascending, self.new_ids[order])
        end = np.full(len(order), len(ids))
        return inserted(ids, end, self.new_ids), inserted(rows_by_id, positions, (len(ids) + order).astype(rows_by_id.dtype))

    def degrees(self, *degrees: Array) -> tuple[Array, Array]:
        """The out-degrees and the in-degrees; `degrees` are the base's."""
        more = self._columns["puts"].astype(ID) - self._columns["was"]
        src, dst = self._columns["src"], self._columns["dst"]
        end = np.full(len(self.new_ids), len(degrees[0]))
        of_out = inserted(degrees[0], end, np.zeros(len(end), ID))
        np.add.at(of_out, src, more)
        if not self._stored.directed:
            np.add.at(of_out, dst, np.where(src == dst, 0, more))
            return of_out, of_out
        of_in = inserted(degrees[1], end, np.zeros(len(end), ID))
        np.add.at(of_in, dst, more)
        return of_out, of_in

    def arcs(self, direction: str, positions: Array, backend: Backend) -> PairChanges:
        """The changed arcs of one direction, `out` or `in`.

        Args:
            positions (index width [V]): Of all rows in the ascending order of ids, where `backend` computes.
        """
        names = ["src", "dst", "puts", *(["weight"] if "weight" in self._columns else [])]
        src, dst, *columns = (bring(self._columns[name], backend) for name in names)
        rows, heads = (src, dst) if direction == "out" else (dst, src)
        if not self._stored.directed:  # an edge and its reverse side by side, so that the changes stay in the order of their age
            rows, heads = (np.stack(pair, 1).ravel() for pair in ((src, dst), (dst, src)))
            columns = [np.repeat(column, 2) for column in columns]
        if any(self._facts.applied):
            left = bring(np.flatnonzero(self._left_of(direction)), backend)
            rows, heads, columns = rows[left], heads[left], [column[left] for column in columns]
        puts, *weights = columns
        return newest(PairChanges(rows, heads, puts, weights[0] if weights else None), positions)

    def touched(self) -> list[int]:
        """How many arcs of each shard its files do not have as they are now; an arc counts for each batch that changes it."""

        def of_part(part: tuple[Array, Array]) -> Array:
            shards = self._shards(part[0])
            return np.bincount(shards[self._left(shards, part[1])], minlength=len(self._facts.shards))

        parts = [
            (self._columns[end][slice(*part)], self._number[slice(*part)])
            for end in ("src", "dst")
            for part in ranges(len(self._number))
        ]
        counts: list[int] = np.sum(over_items(parts, of_part, parallel=len(parts) > 2), axis=0).tolist()
        return counts

    def _left_of(self, direction: str) -> Array:
        """Whether the files of the shards lack each changed arc of `arcs`, in the order of the changes."""
        ends = ("src" if direction == "out" else "dst",) if self._stored.directed else ("src", "dst")
        return np.stack([self._left(self._shards(self._columns[end]), self._number) for end in ends], 1).ravel()

    def _left(self, shards: Array, numbers: Array) -> Array:
        """Whether the files of a shard do not contain a change of one of its rows, of a batch with this number."""
        left: Array = numbers > np.array(self._facts.applied)[shards]
        return left

    def _shards(self, rows: Array) -> Array:
        """The shard of each row."""
        return np.asarray(np.searchsorted(self._starts, rows, side="right"))


def content_of(folder: Folder) -> str:
    """What the vertices and changes of a stored graph follow from; empty if it is not a base and changes.

    The folder of a state has no digest while it is written and proved, but it has this.
    """
    facts = GraphFacts.of(folder)
    if not (facts.delta and facts.state):
        return ""
    return digest_of([facts.vertices, facts.stored_weight, facts.state.stored(), facts.delta.stored()])


def delta_of(folder: Folder) -> Delta | None:
    """The changes of a stored graph that is a base and changes; None for another one. Raises Damaged.

    Those of the last such graph stay in memory, because many steps open them.
    """
    if (facts := GraphFacts.of(folder).delta) is None:
        return None
    if not (content := content_of(folder)):
        return Delta(folder, facts)
    delta = _last.get(content) or Delta(folder, facts)
    _last.clear()
    _last[content] = delta
    return delta


_last: dict[str, Delta] = {}


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
