"""The stored graph on the disk: its vertices (`pipeline.store.vertices`), and a CSR of each direction for each shard of rows.

Arrays are opened as read-only memory maps, without a copy. What is cheap to check is checked when they are opened, against
the facts of the manifest.
"""

from bisect import bisect_right
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any, TypeVar

import numpy as np

from kernels.cpu.parallel import inverse
from kernels.distributed import partition
from kernels.gpu.transfer import copied_by
from kernels.graph import OFFSET, Array, Csr, Graph, index_dtype, joined_offsets
from kernels.records import dataclass
from pipeline.errors import Damaged
from pipeline.runtime.backend import Backend, bring
from pipeline.store.arrays import load_array, save_array
from pipeline.store.deltas import delta_of, merged
from pipeline.store.facts import ArrayLengths, GraphFacts, ShardFacts
from pipeline.store.manifest import Folder
from pipeline.store.vertices import ids_of, open_vertices

Save = Callable[[Path, Array], object]
Opened = TypeVar("Opened")


@dataclass(frozen=True)
class OpenedShard:
    """A contiguous range of rows with its arcs."""

    rows: range  # of the graph's rows
    # out, into: arcs of these rows. The same object where the graph is symmetric.
    out: Csr
    into: Csr

    def arcs(self, direction: str) -> Csr:
        """Those of direction `out` or `in`."""
        return self.out if direction == "out" else self.into


def save_rows(folder: Path, number: int, direction: str, rows: Csr, save: Save = save_array) -> ArrayLengths:
    """Save the arrays of one direction, `out` or `in`, of a shard; return its sizes, with which it is opened."""
    shard = shard_path(folder, number)
    shard.mkdir(exist_ok=True)
    for name, array in (("offsets", rows.offsets), ("indices", rows.indices), ("weights", rows.weights)):
        if array is not None:
            save(shard / f"{direction}-{name}.npy", array)
    return ArrayLengths(arcs=len(rows.indices))


def open_graph(
    folder: Folder, backend: Backend = "cpu", written: Mapping[str, Csr] | None = None, bases: dict[str, Csr] | None = None
) -> Graph:
    """Open a stored graph where `backend` computes; its arcs are those in `written`, by direction, if they are given.

    On the CPU the arrays of a graph of one shard are the memory maps themselves; several shards are concatenated in memory.

    Args:
        bases: Receives the arcs of the files, without changes, by direction. What it has already is not read again: another
            state has been opened whose files are these.

    Raises:
        Damaged: A file is missing, or has another type or length than the manifest states.
    """
    ids, rows_by_id = (bring(column, backend) for column in ids_of(folder))
    delta, stored = delta_of(folder), range(len(_stored(folder)))
    positions = inverse(rows_by_id) if delta else rows_by_id

    def arcs(of: str) -> Csr:
        if written:
            return written[of]
        csr = bases.get(of) if bases else None
        if csr is None:
            csr = _joined([_open_stored(folder, number, of) for number in stored])
            csr = copied_by(partial(bring, backend=backend), csr) if backend == "gpu" else csr
        if bases is not None:
            bases[of] = csr
        return merged(csr, delta.arcs(of, positions, backend), positions, range(delta.num_rows)) if delta else csr

    return Graph(ids, rows_by_id, *_both(folder, arcs), GraphFacts.of(folder).directed)


def open_rows(folder: Folder, blocks: Sequence[range]) -> tuple[list[Csr], list[Csr]]:
    """Open the out-arcs and the in-arcs of ranges of rows; the same object twice where the graph is symmetric.

    There is a CSR for the rows of a range that lie in one shard, of views of its memory maps; at least one.
    Raises Damaged as `open_graph`.
    """
    plan = shard_rows(folder)
    parts = [
        (number, range(max(rows.start, own.start), min(rows.stop, own.stop)))
        for rows in blocks
        for number, own in enumerate(plan)
        if rows and own.start < rows.stop and own.stop > rows.start
    ] or [(0, range(0))]
    delta, stored = delta_of(folder), _stored(folder)
    positions = inverse(open_vertices(folder)[1]) if delta else None

    def of_direction(direction: str) -> list[Csr]:
        opened = {number: _open_stored(folder, number, direction) for number in {number for number, _ in parts}}
        cuts = [(cut_rows(opened[number], rows, range(*stored[number].rows)), rows) for number, rows in parts]
        if delta is None or positions is None:
            return [csr for csr, _ in cuts]
        changes = delta.arcs(direction, positions, "cpu")
        return [merged(csr, changes, positions, rows) for csr, rows in cuts]

    return _both(folder, of_direction)


def arcs_before(folder: Folder) -> Callable[[int], int]:
    """A function from a row to the number of stored arcs of all rows before it; reads single entries of the memory maps."""
    if GraphFacts.of(folder).delta:
        _, _, out_degrees, in_degrees = open_vertices(folder)
        total = out_degrees if GraphFacts.of(folder).symmetric else out_degrees + in_degrees
        sums = np.concatenate([np.zeros(1, OFFSET), np.cumsum(total)])
        return lambda row: int(sums[row])
    plan = shard_rows(folder)
    shards = [open_shard(folder, number) for number in range(len(plan))]
    offsets = [[csr.offsets for csr in {id(csr): csr for csr in (shard.out, shard.into)}.values()] for shard in shards]
    ends = np.cumsum([0, *(sum(int(of[-1]) for of in directions) for directions in offsets)])
    starts = [rows.start for rows in plan]

    def before(row: int) -> int:
        number = bisect_right(starts, row) - 1
        return int(ends[number]) + sum(int(of[row - starts[number]]) for of in offsets[number])

    return before


def open_shard(folder: Folder, number: int) -> OpenedShard:
    """Open one shard by memory map. Raises Damaged as `open_graph`, IndexError if there is no such shard."""
    rows = shard_rows(folder)[number]
    if GraphFacts.of(folder).delta:
        out, into = open_rows(folder, [rows])
        return OpenedShard(rows, out[0], into[0])
    return OpenedShard(rows, *_both(folder, partial(_open_stored, folder, number)))


def shard_rows(folder: Folder) -> list[range]:
    """Rows of each shard. Raises Damaged unless they cover all rows of the graph."""
    rows = [range(*shard.rows) for shard in GraphFacts.of(folder).shards]
    try:
        partition.validate(rows, GraphFacts.of(folder).vertices)
    except ValueError as error:
        raise Damaged(f"{folder.path}: {error}") from None
    return rows


def shard_path(folder: Path, number: int) -> Path:
    """Folder of a shard."""
    return folder / f"shard-{number:05d}"


def _both(folder: Folder, opened: Callable[[str], Opened]) -> tuple[Opened, Opened]:
    """What `opened` gives for the out-arcs and the in-arcs; the same object twice where the graph is symmetric."""
    out = opened("out")
    return out, out if GraphFacts.of(folder).symmetric else opened("in")


def _stored(folder: Folder) -> list[ShardFacts]:
    """The shards whose files the folder has: those of the base, where changes are merged into them."""
    facts = GraphFacts.of(folder)
    return facts.delta.shards if facts.delta else facts.shards


def _open_stored(folder: Folder, number: int, direction: str) -> Csr:
    """Open one direction of a stored shard, without changes, by memory map."""
    shard, (index, weight) = _stored(folder)[number], _types(folder)
    path, arcs, delta = shard_path(folder.path, number), shard.sizes(direction).arcs, GraphFacts.of(folder).delta
    weight = np.dtype(delta.weight) if delta and delta.weight else weight
    name = direction if direction == "out" or shard.into else "out"  # of a directed graph that was symmetric
    weights = None if weight is None else load_array(path / f"{name}-weights.npy", weight, arcs)
    offsets = load_array(path / f"{name}-offsets.npy", OFFSET, shard.rows[1] - shard.rows[0] + 1)
    return Csr(offsets, load_array(path / f"{name}-indices.npy", index, arcs), weights)


def _types(folder: Folder) -> tuple[np.dtype[Any], np.dtype[Any] | None]:
    """Types of the stored indices and weights."""
    weight = GraphFacts.of(folder).stored_weight
    return index_dtype(GraphFacts.of(folder).vertices), np.dtype(weight) if weight else None


def _joined(parts: Sequence[Csr]) -> Csr:
    if len(parts) == 1:
        return parts[0]
    weights = None if parts[0].weights is None else np.concatenate([part.weights for part in parts])
    return Csr(joined_offsets(parts), np.concatenate([part.indices for part in parts]), weights)


def cut_rows(csr: Csr, rows: range, stored: range) -> Csr:
    """The arcs of those `rows` that a CSR of the rows `stored` has, which begin within them."""
    first, stop = rows.start - stored.start, min(rows.stop, stored.stop) - stored.start
    first = min(first, stop)
    begin, end = int(csr.offsets[first]), int(csr.offsets[stop])
    weights = None if csr.weights is None else csr.weights[begin:end]
    return Csr(csr.offsets[first : stop + 1] - begin, csr.indices[begin:end], weights)
