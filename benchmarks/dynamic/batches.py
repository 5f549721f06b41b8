"""Batches of random insertions and deletions in every structure."""

from collections.abc import Iterator
from typing import Any

import numpy as np

from benchmarks.dynamic.common import DynamicRow, milliseconds, random_rows, without_weights
from benchmarks.dynamic.experiments import arcs_of
from kernels.graph import Graph
from kernels.library.dynamic import STRUCTURES, BatchRules, DynamicGraph
from kernels.library.dynamic.arrays import keys_of, run_starts, sorted_keys
from kernels.library.dynamic.contract import Batch

_REPEATS = 3


def sweep(name: str, graph: Graph, most: int, only: list[str]) -> Iterator[DynamicRow]:
    """Batches of 1 to 10^most arcs that do not exist are inserted, then deleted."""
    base = without_weights(graph.out)
    keys = arcs_of(base)
    for structure, make in STRUCTURES.items():
        if only and structure not in only:
            continue
        changing = make(base, BatchRules(unique=True))
        for power in range(most + 1):
            batch = _new_arcs(keys, graph.num_vertices, 10**power)
            for _ in range(2):  # the first compiles, and lays out again what overflows
                inserted, deleted = _times(changing, batch)
            for what, taken in (("insertions", inserted), ("deletions", deleted)):
                yield DynamicRow("batches", name, f"{structure}: {len(batch.src):,} {what}", len(batch.src) / taken / 1e6, "G/s")
        if bool((arcs_of(changing.csr()) != keys).any()):
            raise AssertionError(f"{structure}: insertions and deletions do not cancel out")


def _times(changing: DynamicGraph, batch: Batch) -> tuple[float, float]:
    """Milliseconds of inserting and of deleting a batch of new arcs; the counts are checked."""
    times = np.zeros(2)
    for _ in range(_REPEATS):
        for number, change in enumerate((changing.insert, changing.delete)):
            counts: list[Any] = []
            times[number] += milliseconds(lambda change=change, counts=counts: counts.append(change(batch)), 1, 0)  # type: ignore[misc]
            if counts[0] != (len(batch.src), 0, 0):
                raise AssertionError(f"{counts[0]} of {len(batch.src)} arcs")
    inserted, deleted = (times / _REPEATS).tolist()
    return inserted, deleted


def _new_arcs(keys: Any, num_rows: int, number: int) -> Batch:
    """About so many distinct arcs, drawn uniformly, that are not among sorted keys, in random order."""
    src, dst = random_rows(num_rows, 2 * number, keys).reshape(2, number)
    drawn = keys_of(src, dst)
    ordered, order = sorted_keys(drawn)
    new = run_starts(ordered) & (keys[np.minimum(np.searchsorted(keys, ordered), len(keys) - 1)] != ordered)
    places = np.sort(order[new])
    return Batch(src[places], dst[places], None)
