"""Sweeps on CPUs: each core takes `LANES` trees at a time."""

from functools import partial
from typing import Any

import numpy as np

from kernels.answers import Hierarchy, HierarchyArcs
from kernels.arrays import frozen, unsigned
from kernels.cpu.parallel import over_items
from kernels.cpu.spare import Spare
from kernels.graph import UNREACHED, Array, Csr, Graph
from kernels.hierarchy import nearness
from kernels.trees.constants import LANES, RAISED, RAISED_BY
from kernels.trees.swept import SweptTrees, joins

_SHARE = 4 * LANES
_LENGTHS: dict[str, tuple[Any, Any]] = {"i4": (np.uint32, 2**31 - 1), "i8": (np.uint64, 2**63), "f8": (np.float64, np.inf)}


def solve(
    graph: Graph, hierarchy: Hierarchy, rows: Array, sums: np.dtype[Any], predecessors: bool, to: Array | None = None
) -> SweptTrees:
    """Sweep the trees from `rows` [k] with sums of this type, and prove them: see `kernels.trees.swept.SweptTrees`.

    Distances are those of all rows, or of the rows `to` [T].
    """
    from kernels.trees.proof.cpu import prove, write_some

    distances = np.empty((len(rows), graph.num_vertices if to is None else len(to)), sums)
    stated = np.empty((len(rows), graph.num_vertices), graph.rows_by_id.dtype) if predecessors else None
    every = distances if to is None else None
    loose, waiting = np.zeros(len(rows), np.bool_), np.zeros(len(rows), np.int64)
    into = graph.derived.get((solve, sums), lambda: _arcs(graph.into, graph.into.indices, sums))
    joined = graph.derived.get(joins, lambda: joins(graph))
    joined = None if joined is None else frozen(joined)
    order = np.arange(len(rows)) if hierarchy.exact else nearness(hierarchy)[rows].argsort(kind="stable")

    def of_block(begin: int) -> None:
        numbers = order[begin : begin + LANES]
        sweep = _Sweep(hierarchy, sums)
        sweep.run(rows[numbers])
        lengths = sweep.by_row()
        if not hierarchy.exact:
            sweep.add_outwards(graph, rows[numbers], rows[order[begin // _SHARE * _SHARE]])
        proved = prove(into, frozen(rows[numbers]), sweep.far, lengths, frozen(numbers), every, stated, joined)
        if to is not None:
            write_some(lengths, frozen(to), sweep.far, frozen(numbers), distances)
        loose[numbers], waiting[numbers] = (of_lanes[: len(numbers)] for of_lanes in proved)
        sweep.release()

    over_items(range(0, len(rows), LANES), of_block)
    return SweptTrees(distances, stated, loose, waiting != 0)


def solve_to(hierarchy: Hierarchy, rows: Array, sums: np.dtype[Any], chosen: Array, targets: Array) -> Array:
    """Distances [k, T] from `rows` to the positions `targets`, by sweeps of the positions `chosen`; without a proof."""
    distances = np.empty((len(rows), len(targets)), sums)

    def of_block(begin: int) -> None:
        lanes = slice(begin, min(begin + LANES, len(rows)))
        sweep = _Sweep(hierarchy, sums)
        sweep.run(rows[lanes], frozen(chosen))
        lengths = sweep.lengths.reshape(-1, LANES)[targets, : lanes.stop - begin].T
        distances[lanes] = lengths.astype(sums)
        distances[lanes][lengths >= sweep.far] = UNREACHED
        sweep.release()

    over_items(range(0, len(rows), LANES), of_block)
    return distances


def ancestors(hierarchy: Hierarchy, targets: Array) -> Array:
    """The positions, ascending, from which arcs lead downwards to the positions `targets`, these included."""
    from kernels.trees.sweep_cpu import mark_above

    marked = np.zeros(hierarchy.num_vertices, np.bool_)
    marked[targets] = True
    mark_above(unsigned(hierarchy.down.offsets), unsigned(hierarchy.down.others), marked)
    return np.flatnonzero(marked)


class _Sweep:
    """Lengths of one block of trees, in arrays that the hierarchy keeps for the next block."""

    def __init__(self, hierarchy: Hierarchy, sums: np.dtype[Any]) -> None:
        self._hierarchy, self._sums = hierarchy, sums
        kind, far = _LENGTHS[sums.str[1:]]
        self.far = kind(far)
        make = partial(_arrays, hierarchy.num_vertices, kind, hierarchy.rows.dtype)
        self._spare = hierarchy.derived.get((_Sweep, sums), lambda: Spare(make))
        self.lengths, self._by_row, self._touched, self._queue = self._spare.take()

    def run(self, rows: Array, chosen: Array | None = None) -> None:
        """Set the lengths from up to `LANES` rows, of all positions or of the `chosen` ones."""
        from kernels.trees.sweep_cpu import search_up, sweep_down

        up, down = self._sides()
        starts = np.full(LANES, self._hierarchy.positions[rows[0]], np.int64)
        starts[: len(rows)] = self._hierarchy.positions[rows]
        count = search_up(up, starts, self.far, self.lengths, self._touched, self._queue)
        sweep_down(down, chosen, self.far, self.lengths, self._touched)
        self._touched[self._queue[:count]] = False

    def by_row(self) -> Array:
        """The lengths in the order of rows."""
        from kernels.trees.sweep_cpu import to_rows

        rows: Array = self._by_row
        to_rows(unsigned(self._hierarchy.positions), self.lengths, rows)
        return rows

    def add_outwards(self, graph: Graph, rows: Array, near: int) -> None:
        """Round the float lengths that are in the order of rows once per arc of the graph: see `kernels.trees.outwards_cpu`."""
        from kernels.trees.outwards_cpu import ThreadArrays, add_outwards

        out = graph.derived.get((add_outwards, self._sums), lambda: _arcs(graph.out, graph.out.indices, self._sums))
        spare = graph.derived.get(add_outwards, lambda: Spare(lambda: ThreadArrays(graph.num_vertices, rows.dtype)))
        work, sources = spare.take(), np.append(rows, np.full(LANES - len(rows), rows[0], rows.dtype))
        add_outwards(out, sources, near, work, self._by_row)
        spare.release(work)

    def _sides(self) -> tuple[Any, Any]:
        def make() -> tuple[Any, Any]:
            up = self._raised(_arcs(self._hierarchy.up, self._hierarchy.up.others, self._sums))
            symmetric = self._hierarchy.symmetric
            return up, up if symmetric else self._raised(_arcs(self._hierarchy.down, self._hierarchy.down.others, self._sums))

        return self._hierarchy.derived.get((_arcs, self._sums), make)

    def _raised(self, arcs: tuple[Array, Array, Array]) -> tuple[Array, Array, Array]:
        """The arcs with weights whose sums, if they round, are upper bounds."""
        if self._hierarchy.exact:
            return arcs
        offsets, others, weights = arcs
        with np.errstate(over="ignore"):  # infinity is one
            return offsets, others, frozen(weights * RAISED + RAISED_BY)

    def release(self) -> None:
        """Keep the arrays for the next block."""
        self._spare.release((self.lengths, self._by_row, self._touched, self._queue))


def _arrays(size: int, kind: type[Any], row: np.dtype[Any]) -> tuple[Array, Array, Array, Array]:
    """Lengths by positions and by rows, flags of positions, none of which is set, and a queue of them."""
    return np.empty(size * LANES, kind), np.empty(size * LANES, kind), np.zeros(size, np.bool_), np.empty(size, row)


def _arcs(side: Csr | HierarchyArcs, others: Array, sums: np.dtype[Any]) -> tuple[Array, Array, Array]:
    """Offsets, other ends and weights for the compiled loops; weights that do not fit are those of no path."""
    kind, far = _LENGTHS[sums.str[1:]]
    if side.weights is None:
        weights = np.ones(len(others), kind)
    else:
        weights = np.minimum(side.weights, np.int64(far)).astype(kind) if sums == np.int32 else side.weights.astype(kind)
    return unsigned(side.offsets), unsigned(others), frozen(weights)
