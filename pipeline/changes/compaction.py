"""Compaction: shards with many changed arcs are rewritten in segments; the files of the others stay.

The files of a shard contain the first `applied` batches of changes. Once all shards contain all batches, the vertices are
written, too, and the graph is a base without changes. The order of the rows stays.
"""

import shutil
from pathlib import Path

import numpy as np

from kernels.distributed import partition
from kernels.graph import OFFSET, Array, Csr, Graph
from pipeline.runtime.backend import fetch
from pipeline.store.deltas import NEW_VERTICES, batch_name, delta_of
from pipeline.store.facts import ArrayLengths, DeltaFacts, GraphFacts, ShardFacts
from pipeline.store.graph import save_rows, shard_path
from pipeline.store.manifest import Folder, unsealed
from pipeline.store.vertices import save_vertices

SHARE = 0.05  # of a shard's arcs, or of all arcs, that may be changed before it is written anew
SEGMENT = 2**25  # arcs of a shard that is written anew, at most, unless a row has more


def compact(folder: Path, facts: GraphFacts, graph: Graph) -> tuple[DeltaFacts | None, list[ShardFacts]]:
    """Rewrite shards of which more than `SHARE` has changed, or all changed shards if more than `SHARE` of all arcs has.

    Args:
        folder: The files of a base and its changes; those that are replaced may be links.
        graph: What they are together.

    Returns:
        What is left of the delta, and the shards: those of `facts` where nothing was written.
    """
    delta = facts.delta
    assert delta is not None
    opened = delta_of(Folder(folder, unsealed("graph", facts.stored())))
    assert opened is not None
    touched = opened.touched()
    late = [count > 0 or shard.rows != base.rows for count, shard, base in zip(touched, facts.shards, delta.shards, strict=True)]
    arcs = [shard.out.arcs + (shard.into.arcs if shard.into else 0) for shard in facts.shards]
    all_late = sum(touched) > SHARE * sum(arcs)
    dirty = [is_late and (all_late or count > SHARE * of) for is_late, count, of in zip(late, touched, arcs, strict=True)]
    if not any(dirty):
        return delta, facts.shards
    if facts.stored_weight != delta.weight:
        dirty = [True] * len(dirty)  # all files have weights of one type
    shards, applied = list[ShardFacts](), list[int]()
    for number in range(len(dirty)):
        shard_path(folder, number).rename(_old(folder, number))
    for number, (is_dirty, is_late) in enumerate(zip(dirty, late, strict=True)):
        kept = delta.shards[number]
        for rows in _segments(graph, range(*facts.shards[number].rows)) if is_dirty else [range(*kept.rows)]:
            if is_dirty:
                _save(folder, len(shards), graph, rows)
            else:
                _old(folder, number).rename(shard_path(folder, len(shards)))
            shards.append(sizes_of(graph, rows) if is_dirty else kept)
            applied.append(delta.applied[number] if is_late and not is_dirty else len(delta.batches))
        if is_dirty:
            shutil.rmtree(_old(folder, number))
    left = delta.model_copy(update={"shards": shards, "applied": applied})
    if min(applied) < len(delta.batches):
        return left, merged_shards(graph, left)
    degrees = [fetch(csr.offsets[1:] - csr.offsets[:-1]) for csr in (graph.out, graph.into)]
    replaced = (NEW_VERTICES, *(batch_name(number + 1) for number in range(len(delta.batches))))
    for path in (*map(folder.joinpath, replaced), *folder.glob("vertices.*"), *folder.glob("rows_by_id.*")):
        path.unlink(missing_ok=True)
    save_vertices(folder, fetch(graph.ids), fetch(graph.rows_by_id), degrees[0], degrees[1])
    return None, shards


def merged_shards(graph: Graph, delta: DeltaFacts) -> list[ShardFacts]:
    """The shards of a base with their changes; the last one has the new vertices."""
    stops = [shard.rows[1] for shard in delta.shards[:-1]] + [graph.num_vertices]
    return [sizes_of(graph, range(shard.rows[0], stop)) for shard, stop in zip(delta.shards, stops, strict=True)]


def sizes_of(graph: Graph, rows: range) -> ShardFacts:
    """The facts of a range of rows."""
    sides = {"out": graph.out} if graph.symmetric else {"out": graph.out, "into": graph.into}
    sizes = {name: ArrayLengths(arcs=int(csr.offsets[rows.stop]) - int(csr.offsets[rows.start])) for name, csr in sides.items()}
    return ShardFacts(rows=[rows.start, rows.stop], **sizes)


def _segments(graph: Graph, rows: range) -> list[range]:
    """Cut rows into ranges of about equal numbers of arcs, none much longer than a segment."""
    ends = slice(rows.start, rows.stop + 1)
    degrees: Array = np.diff(fetch(graph.out.offsets[ends]))
    if not graph.symmetric:
        degrees = degrees + np.diff(fetch(graph.into.offsets[ends]))
    parts = partition.cut(degrees, max(1, -(-int(degrees.sum()) // SEGMENT)))
    return [range(rows.start + part.start, rows.start + part.stop) for part in parts]


def _save(folder: Path, number: int, graph: Graph, rows: range) -> None:
    for name, csr in (("out", graph.out),) if graph.symmetric else (("out", graph.out), ("in", graph.into)):
        offsets = csr.offsets[rows.start : rows.stop + 1]
        arcs = slice(int(offsets[0]), int(offsets[-1]))
        weights = None if csr.weights is None else csr.weights[arcs]
        save_rows(folder, number, name, Csr((offsets - offsets[0]).astype(OFFSET), csr.indices[arcs], weights))


def _old(folder: Path, number: int) -> Path:
    return folder / f"old-{number:05d}"
