"""The files of the shards that a rank lays out, when they are complete, and those of the steps that used damaged ones."""

import shutil
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any

from kernels.arrays import is_cupy
from kernels.graph import Csr, Graph
from kernels.layout.laid_out import LaidOut, parallel_arcs
from kernels.layout.rules import Spill
from kernels.records import dataclass
from pipeline.errors import Damaged
from pipeline.store.arrays import Background
from pipeline.store.counting import DecimalPlaces, places_in, together
from pipeline.store.facts import ShardFacts
from pipeline.store.graph import cut_rows
from pipeline.store.graph_writing import GrowingDirection, WrittenDirection, save_direction
from pipeline.store.manifest import Folder, check, read

_ARC = 24  # bytes of an arc that is stored, at most: with its weight, and the bytes by which the decimals of one are found


@dataclass
class StoredShard:
    """What was written of a shard: its first row and the one after its last, and its directions by name, `out` and `in`."""

    rows: list[int]
    directions: dict[str, WrittenDirection]
    parallel_arcs: int = 0  # that are kept
    places: DecimalPlaces | None = None  # of the weights of the out-arcs; None where they have none

    @property
    def facts(self) -> ShardFacts:
        """Its facts."""
        sizes: dict[str, Any] = {name: direction.sizes for name, direction in self.directions.items()}
        return ShardFacts(rows=self.rows, **sizes)


@dataclass
class StoredPart:
    """What a rank stored: the folder of all ranks without the hashes of its files, and those that its own files must have."""

    folder: Folder
    digests: dict[str, str]
    graph: Graph | None  # all of it, on the GPU of a single rank
    saving: Background | None  # what still saves its files, in this process; None if they are complete


def store_shards(
    part: LaidOut, folder: Path, background: Background, keep_parallel: bool, kept: dict[str, Csr] | None, spill: Spill | None
) -> list[StoredShard]:
    """Store a rank's shards; of each direction only the degrees can be asked for afterwards.

    Args:
        kept: Receives the arcs of all shards of a single rank, which stay in memory while they are saved.
        spill: Where the arcs of a single rank are that memory does not hold; it stores them by ranges of rows.
    """
    stored = []
    if kept is not None:
        for name in part.directions:
            kept[name] = part.whole(name)
            part.free(name)
    for number in part.parts:
        if kept is None:
            background.finish()  # the next shard needs the memory
        shard = StoredShard([part.rows(number).start, part.rows(number).stop], {})
        for name in part.directions:
            if spill:
                _store_in_pieces(part, number, name, shard, folder, spill.most)
            else:
                rows = part.rows(number)
                arcs = part.take(number, name) if kept is None else cut_rows(kept[name], rows, range(part.num_vertices))
                shard.directions[name] = save_direction(folder, number, name, arcs, background.save)
                if name == "out":
                    seen = _seen(arcs)
                    shard.places = places_in(seen)
                    shard.parallel_arcs = parallel_arcs(seen) if keep_parallel else 0
                del arcs
            if kept is None and number == part.parts[-1]:
                part.free(name)
        stored.append(shard)
    return stored


def _seen(arcs: Csr) -> Csr:
    """The same arcs where they can be looked at in little memory: a GPU's in the host's memory are taken for NumPy's."""
    if not is_cupy(arcs):
        return arcs
    from kernels.distributed.gpu.memory import arcs_on_host, memory_of

    return arcs_on_host(arcs) if memory_of(arcs.indices) == "host" else arcs


def _store_in_pieces(part: LaidOut, number: int, name: str, shard: StoredShard, folder: Path, most: int) -> None:
    """Store a direction of a shard by ranges of its rows, whose arcs take about `most` bytes of memory."""
    rows, places = part.rows(number), list[DecimalPlaces | None]()
    arcs = int(part.degrees(name)[rows.start : rows.stop].sum())
    growing = GrowingDirection(folder, number, name, len(rows), arcs)
    for piece in part.pieces(number, name, most // _ARC):
        growing.add(piece)
        if name == "out":
            places.append(places_in(piece))
            shard.parallel_arcs += parallel_arcs(piece)
    shard.directions[name] = growing.close()
    if name == "out":
        shard.places = together(places)


def complete(graph: Folder, saving: Background | None) -> None:
    """Wait until the files of a graph are complete, and compare them with its manifest.

    A graph whose files cannot be written is removed. One that a killed run has left incomplete differs from its digests.

    Raises:
        Damaged: A file is not what the manifest says.
        OSError: A file cannot be written, because the disk is full, for example.
    """
    if saving:
        inode = graph.path.stat().st_ino
        try:
            with saving:
                saving.finish()
        except OSError:
            if inode == graph.path.stat().st_ino:  # a later run of this process may have made another one
                _forget_users(graph)
                shutil.rmtree(graph.path, ignore_errors=True)
            raise
    check(graph)


def forget_what_used(step: Path, inputs: Mapping[str, str]) -> None:
    """Remove the steps that used the folder of a step, which is made again of the same inputs: its files are damaged.

    They may have been before these steps read them, since the files of a graph are checked beside later steps.
    """
    with suppress(Damaged):
        damaged = read(step)
        if damaged.manifest.inputs == inputs:
            _forget_users(damaged)


def _forget_users(damaged: Folder) -> None:
    for other in damaged.path.parent.iterdir():
        with suppress(Damaged):
            if damaged.digest in read(other).manifest.inputs.values():
                shutil.rmtree(other)
