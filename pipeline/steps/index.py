"""The step that builds a reachability index: in this process, a dimension at a time on workers, or over the ranks of one graph.

All three write the same bytes. Each worker condenses the graph for itself, once: to store that and read it back takes longer.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import pairwise
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, NamedTuple
from uuid import uuid4

import numpy as np

from kernels.answers import Condensation, Labels, ReachabilityIndex
from kernels.distributed.communicator import Communicator
from kernels.distributed.dealing import Dealing
from kernels.gpu.loader import to_host
from kernels.graph import OFFSET, Array, Csr, Graph
from kernels.reachability import condense, label, memory
from kernels.reachability.sharded import IndexPart
from kernels.reachability.sharded import reachability as reachability_over_shards
from pipeline.cluster.protocol import HERE, Cluster, Here, Place
from pipeline.config.reachability import ReachabilityConfig
from pipeline.runtime.backend import Backend, Clock
from pipeline.runtime.memory import require_room
from pipeline.store.arrays import create_array, save_array, write_slice
from pipeline.store.graph import rows_by_id_in_pieces
from pipeline.store.index import NUMBERS, STEP, arrays_of
from pipeline.store.manifest import Folder, make
from pipeline.store.shards import Seat, placed

_PIECES = 64  # of dimensions, at most


def build_index(
    graph: Folder, asked: ReachabilityConfig, work: Path, backend: Backend = "cpu", cluster: Cluster = HERE
) -> Folder:
    """Build the index of a stored graph into `work / "reachability_index"`.

    Parameters
    ----------
    graph : Folder
        The stored graph.
    asked : ReachabilityConfig
    backend : {"cpu", "gpu"}
        Where it is built. The bytes are the same.
    cluster : Cluster
        On whose workers. With CPUs each dimension is a piece of work; where a graph lies over ranks, they build the index
        together by method "tree". Method "dfs" over ranks, and all dimensions on a GPU, are one worker's. The bytes are the same.

    Returns
    -------
    Folder
        Read by `open_index`. Facts: `vertices`, `components`, `arcs` between components, `levels`, `dimensions`, `seed`,
        `method`, `compared_paths` (as `kernels.answers.Labels`), `seconds` (in the kernel, summed over pieces), `bytes_needed`
        (what was held against the free memory: a bound, or over ranks what one worker would need for the part of the first),
        `backend`, and over ranks `shards` and `supersteps`.

    Raises
    ------
    TooLarge
        The bound on the memory that the build takes is larger than what is free.
    ClusterLost
        As `cluster.map`.
    """
    over_ranks = cluster.shards > 0 and asked.method == "tree" and graph.facts["vertices"] > 0

    def write(folder: Path) -> dict[str, Any]:
        with TemporaryDirectory(prefix=f".{STEP}-files-", dir=work, ignore_cleanup_errors=True) as attempts:
            if over_ranks:
                build = partial(_build_together, graph, asked, Path(attempts), backend)
                parts = cluster.run_ranks(build, range(cluster.shards), backend)[:1]
            else:
                alone = isinstance(cluster, Here) or backend == "gpu"
                count = 1 if alone else min(asked.dimensions, _PIECES)
                ends = [asked.dimensions * number // count for number in range(count + 1)]
                pieces = [range(*cut) for cut in pairwise(ends)]
                parts = [*cluster.map(partial(_build, graph, asked, Path(attempts)), graph, backend, pieces, one_at_a_time=True)]
            _put_together([part.path for part in parts], folder)
        compared = [compared for part in parts for compared in part.compared_paths]
        seconds = round(sum(part.seconds for part in parts), 6)
        return {**parts[0].facts, **asked.model_dump(), "compared_paths": compared, "seconds": seconds, "backend": backend}

    work.mkdir(parents=True, exist_ok=True)
    return make(work / STEP, STEP, {"graph": graph.digest}, asked.model_dump(), write)


@dataclass(frozen=True)
class _Built:
    """A folder of arrays: of all of an index, or of all but some dimensions."""

    path: Path
    facts: dict[str, Any]
    compared_paths: Sequence[bool]
    seconds: float


def _build(graph: Folder, asked: ReachabilityConfig, attempts: Path, place: Place, dimensions: range) -> _Built:
    """Label some dimensions, and write them, the first ones with all else, to a folder that no other attempt has."""
    vertices, arcs = graph.facts["vertices"], graph.facts["arcs"]
    needed = memory(vertices, arcs, len(dimensions), asked.method, gpu=place.backend == "gpu").build
    what = f"reachability: the index of {vertices:,} vertices and {arcs:,} arcs in {len(dimensions):,} dimensions"
    require_room(what, needed, place.backend)
    clock = Clock(place.backend)
    some = None if len(dimensions) == asked.dimensions else dimensions
    nodes = clock.timed(_condensed if some else condense)(place.graph)
    labels: Labels = clock.timed(label)(nodes, asked.dimensions, asked.seed, asked.method, some)
    path = attempts / uuid4().hex
    path.mkdir()
    arrays = {"ids": place.graph.ids, "rows_by_id": place.graph.rows_by_id, **dict(arrays_of(ReachabilityIndex(nodes, labels)))}
    for name, array in arrays.items():
        if dimensions.start == 0 or name in NUMBERS:
            save_array(path / f"{name}.npy", to_host(array))
    facts = {
        "vertices": vertices,
        "components": nodes.num_nodes,
        "arcs": len(nodes.children.indices),
        "levels": int(labels.level.max()) + 1 if nodes.num_nodes else 0,
        "bytes_needed": needed,
    }
    return _Built(path, facts, labels.compared_paths, clock.seconds)


def _condensed(graph: Graph) -> Condensation:
    """The condensation, which a graph that was placed keeps for the next dimension."""
    found: Condensation | None = vars(graph).get("_condensation")
    if found is None:
        found = vars(graph)["_condensation"] = condense(graph)
    return found


def _put_together(parts: Sequence[Path], folder: Path) -> None:
    """Move the arrays of the first part; where others have dimensions of their own, put these below one another."""
    for path in sorted(parts[0].iterdir()):
        if len(parts) == 1 or path.stem not in NUMBERS:
            path.rename(folder / path.name)
            continue
        rows = [row for part in parts for row in np.load(part / path.name, mmap_mode="r")]
        create_array(folder / path.name, rows[0].dtype, len(rows), len(rows[0]))
        for dimension, row in enumerate(rows):
            write_slice(folder / path.name, dimension * len(row), row)


def _build_together(
    graph: Folder, asked: ReachabilityConfig, attempts: Path, backend: Backend, ranks: Communicator, _: int
) -> _Built:
    """Build one rank's part, and write it into files that all ranks share; every attempt has a folder of its own."""
    seat = placed(graph, ranks, backend)
    shard = seat.shard
    rows, arcs = len(shard.local_rows), len(shard.local_out.indices)
    needed = memory(rows, arcs, asked.dimensions, asked.method).build
    require_room(f"reachability: one of {ranks.size} parts, of {rows:,} rows and {arcs:,} arcs", needed, "cpu")
    clock = Clock(backend)
    found = clock.timed(reachability_over_shards)(shard, ranks, asked.dimensions, asked.seed, asked.method)
    part: IndexPart = found.answer
    path = attempts / bytes(ranks.gather(np.frombuffer(uuid4().bytes, np.uint8))[0]).hex()
    slices = [*_slices(graph, seat, part, ranks)]
    if ranks.rank == 0:
        path.mkdir()
        for own in {own.name: own for own in slices}.values():
            create_array(path / f"{own.name}.npy", own.values.dtype, *own.values.shape[:-1], own.length)
    labels, children = part.index.labels, part.index.condensation.children
    counts = np.array([len(part.nodes), len(children.indices)], OFFSET)
    components, arcs = ranks.total(counts).tolist()  # from here on, the files are there
    for own in slices:
        for row, values in enumerate(np.atleast_2d(own.values)):
            write_slice(path / f"{own.name}.npy", row * own.length + own.first, values)
    levels = int(ranks.most(np.array([labels.level.max(initial=-1) + 1]))[0])  # from here on, they are whole
    facts = {
        "vertices": shard.num_vertices, "components": components, "arcs": arcs, "levels": levels, "bytes_needed": needed,
        "shards": ranks.size, "supersteps": found.supersteps,
    }  # fmt: skip
    return _Built(path, facts, labels.compared_paths, clock.seconds)


class _Slice(NamedTuple):
    """A rank's part of an array: its last axis has `length` entries in all, of which the part has those from `first` on."""

    name: str
    values: Array
    first: int
    length: int


def _slices(graph: Folder, seat: Seat, part: IndexPart, ranks: Communicator) -> Iterator[_Slice]:
    """The rank's part of every array of the index, which numbers rows as they are stored. A collective."""
    shard, dealing = seat.shard, seat.dealing
    vertices, is_last = shard.num_vertices, ranks.rank == ranks.size - 1
    components = int(ranks.total(np.array([len(part.nodes)], OFFSET))[0])
    begin, end = (vertices * number // ranks.size for number in (ranks.rank, ranks.rank + 1))
    yield from _of_rows("ids", to_host(shard.ids), dealing, ranks.rank)
    yield _Slice("rows_by_id", rows_by_id_in_pieces(graph)[begin:end], begin, vertices)
    for name, values in arrays_of(part.index):
        direction, _, of = name.partition("-")
        if of:
            csr: Csr = getattr(part.index.condensation, direction)
            arcs = np.concatenate(ranks.gather(csr.offsets[-1:]))
            first = int(arcs[: ranks.rank].sum())
            if of == "indices":
                yield _Slice(name, values, first, int(arcs.sum()))
            else:
                yield _Slice(name, first + (values if is_last else values[:-1]), part.nodes.start, components + 1)
        elif name == "node":
            yield from _of_rows(name, values, dealing, ranks.rank)
        elif name == "names":
            yield _Slice(name, dealing.stored(values), part.nodes.start, components)
        elif name == "supports":
            yield _Slice(name, values if ranks.rank == 0 else values[:0], 0, len(values))
        else:
            yield _Slice(name, values, part.nodes.start, components)


def _of_rows(name: str, values: Array, dealing: Dealing, rank: int) -> Iterator[_Slice]:
    """A rank's entries of an array of all stored rows, a slice for each piece of them."""
    first = 0
    for rows in dealing.blocks(rank):
        yield _Slice(name, values[first : first + len(rows)], rows.start, int(dealing.bounds[-1]))
        first += len(rows)
