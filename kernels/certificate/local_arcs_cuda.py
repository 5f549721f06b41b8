"""The passes over a rank's arcs on CuPy arrays (paths.cu, components.cu, forest.cu). What they are for, cpu.py says."""

from __future__ import annotations

from typing import Any

import cupy
import numpy as np

from kernels.distributed.shard import Shard
from kernels.forest.certificate.hierarchy import Hierarchy
from kernels.gpu.loader import launch, pointer
from kernels.graph import Array, Csr, distance_dtype

_THREADS = 512  # as in the sources
_CHUNK = 256  # arcs, as in search.cuh
_CONTROL_OF_PEEL = 4  # words, as in components.cu


def relax(shard: Shard, weights: Array | None, known: Array, ranks: Array, nearest: Array) -> bool:
    """As `cpu.relax`."""
    into, control = shard.local_into, cupy.zeros(2, np.uint64)
    arguments = (into.offsets, into.indices, pointer(weights), ranks, np.int64(len(nearest)), known, nearest, control)
    _launch("paths/certificate/sharded.cu", "relax", _work(into), arguments, **_types(shard, weights))
    return bool(control[0])


def first_loose(shard: Shard, weights: Array | None, known: Array) -> int:
    """As `cpu.first_loose`."""
    out, control = shard.local_out, cupy.zeros(2, np.uint64)
    sizes = np.int64(len(shard.ids)), np.int64(len(out.indices))
    arguments = (out.offsets, out.indices, pointer(weights), *sizes, known, control)
    _launch("paths/certificate/sharded.cu", "find_loose", _work(out), arguments, **_types(shard, weights))
    return _first(control[1], out)


def first_across(shard: Shard, labels: Array) -> int:
    """As `cpu.first_across`."""
    out, control = shard.local_out, cupy.zeros(1, np.uint64)
    sizes = np.int64(len(shard.ids)), np.int64(len(out.indices))
    _launch(
        "components/certificate/sharded.cu",
        "find_across",
        _work(out),
        (out.offsets, out.indices, *sizes, labels, control),
        ROW=labels.dtype,
    )
    return _first(control[0], out)


def trees(shard: Shard) -> Array:
    """As `cpu.trees`."""
    num_own, row = np.int64(len(shard.ids)), shard.ghosts.dtype
    parent = cupy.arange(len(shard.local_rows), dtype=row)
    sides = (shard.local_out,) if shard.symmetric else (shard.local_out, shard.local_into)
    for name in ("grow_first", "grow"):
        for csr in sides:
            _launch("components/certificate/sharded.cu", name, _work(csr), (csr.offsets, csr.indices, num_own, parent), ROW=row)
    _launch("components/certificate/sharded.cu", "flatten", len(parent), (np.int64(len(parent)), parent), ROW=row)
    return parent


def count_entering(arcs: Csr, classes: Array, num_own: int, entering: Array) -> None:
    """As `cpu.count_entering`."""
    arguments = (arcs.offsets, arcs.indices, np.int64(num_own), classes, entering)
    _launch("components/certificate/sharded.cu", "count_entering", _work(arcs), arguments, ROW=classes.dtype)


def peel(
    arcs: Csr, classes: Array, home: Array, num_own: int, waits: bool, waiting: Array, read: Array, left: Array, starts: Array
) -> None:
    """As `cpu.peel`."""
    queue = cupy.empty(2 * (num_own + len(arcs.indices) // _CHUNK), np.int64)
    state = (np.int64(num_own), np.bool_(waits), waiting, read, left, starts, np.int64(len(starts)), queue)
    control = cupy.zeros(_CONTROL_OF_PEEL, np.uint64)
    arguments = (arcs.offsets, arcs.indices, classes, home, *state, control)
    _launch("components/certificate/sharded.cu", "peel", _work(arcs), arguments, ROW=classes.dtype)


def first_contradiction(shard: Shard, ranks: Array, tree: Hierarchy, greatest: Array) -> tuple[int, int]:
    """As `cpu.first_contradiction`."""
    out, control = shard.local_out, cupy.zeros(1, np.uint64)
    heaviest = greatest[tree.top] if len(greatest) else cupy.zeros(len(ranks), greatest.dtype)
    ways = (tree.parent, tree.time, tree.root, heaviest, greatest, tree.edges.low, tree.edges.high)
    sizes = np.int64(len(shard.ids)), np.int64(len(out.indices))
    arguments = (out.offsets, out.indices, pointer(out.weights), *sizes, ranks, np.bool_(shard.symmetric), *ways, control)
    _launch("forest/certificate/sharded.cu", "find_contradiction", _work(out), arguments, ROW=ranks.dtype, WEIGHT=greatest.dtype)
    arc = _first(control[0], out)
    return arc, -1 if arc < 0 else _greatest_between(tree, out, arc)


def _greatest_between(tree: Hierarchy, out: Csr, arc: int) -> int:
    """The time of the greatest edge between an arc's ends; -1 where none joins them."""
    one = int(cupy.searchsorted(out.offsets, cupy.full(1, arc), side="right")[0]) - 1
    other, last = int(out.indices[arc]), -1
    if int(tree.root[one]) != int(tree.root[other]):
        return -1
    while one != other:
        last = max(last, int(tree.time[one]), int(tree.time[other]))
        one, other = int(tree.parent[one]), int(tree.parent[other])
    return last


def _first(control: Array, csr: Csr) -> int:
    """The place that a kernel counted back from the number of arcs; -1 where it noted none."""
    back = int(control)
    return len(csr.indices) - back if back else -1


def _work(csr: Csr) -> int:
    return len(csr.offsets) + len(csr.indices)


def _types(shard: Shard, weights: Array | None) -> dict[str, np.dtype[Any]]:
    weight = np.dtype(np.int32) if weights is None else weights.dtype
    return {"ROW": shard.ghosts.dtype, "WEIGHT": weight, "SUM": distance_dtype(weights)}


def _launch(source: str, name: str, work: int, arguments: tuple[Any, ...], **types: np.dtype[Any]) -> None:
    launch(source, name, _THREADS, work, *arguments, **types)
