"""What turns cost, by the directions in which streets arrive at a crossing and leave it, and signals."""

from collections.abc import Mapping

import numpy as np
import pyarrow as pa

from kernels.graph import Array
from pipeline.ingest.roads.lengths import cosines
from pipeline.steps.turns.arcs import StreetArcs

_ROUND = 3_600_000_000  # of a longitude


class MovementCosts:
    """The costs of movements over two arcs.

    Args:
        costs: Of `left`, `right` and `u_turn`, in the unit of weights; those that are missing are 0.
    """

    def __init__(self, arcs: StreetArcs, costs: Mapping[str, int]) -> None:
        self._arcs = arcs
        self._left, self._right, self._back = (costs.get(name, 0) for name in ("left", "right", "u_turn"))
        self.any = bool(self._left or self._right or self._back)
        if self.any:
            self._arriving, self._leaving = _directions(arcs)
            self._alone = np.diff(arcs.leaving[0])[arcs.head] == 1
            self._branches = _arms(arcs)[arcs.head] > 2

    def of(self, first: Array, second: Array) -> Array:
        """The costs of movements from one arc to another, int64 [n]."""
        if not self.any:
            return np.zeros(len(first), np.int64)
        arcs, (ax, ay), (bx, by) = self._arcs, self._arriving[first].T, self._leaving[second].T
        across, along = ax * by - ay * bx, ax * bx + ay * by
        turns = (np.abs(across) >= along) & ((across != 0) | (along < 0)) & self._branches[first]
        cost = np.where(turns, np.where(across >= 0, self._left, self._right), 0)
        back = (arcs.street[first] == arcs.street[second]) & (arcs.against[first] != arcs.against[second])
        back &= arcs.head[first] == arcs.tail[second]
        return np.where(back, np.where(self._alone[first], 0, self._back), cost).astype(np.int64)


def costs_of_signals(arcs: StreetArcs, signals: pa.Table | None, cost: int) -> Array:
    """What the signals cost that each arc passes, int64 [A]."""
    passed = np.zeros((len(arcs.streets), 2), np.int64)
    if signals is not None:
        np.add.at(passed, (signals["street"].to_numpy(), signals["against"].to_numpy().astype(np.int64)), 1)
    costs: Array = passed[arcs.street, arcs.against.astype(np.int64)] * cost
    return costs


def _arms(arcs: StreetArcs) -> Array:
    """How many streets begin or end at each vertex, int64 [V]; one that does both counts twice."""
    ends = np.concatenate([arcs.streets[name].to_numpy() for name in ("src", "dst")])
    place = np.minimum(np.searchsorted(arcs.ids, ends), max(len(arcs.ids) - 1, 0))
    return np.bincount(place[arcs.ids[place] == ends], minlength=len(arcs.ids))


def _directions(arcs: StreetArcs) -> tuple[Array, Array]:
    """In which directions each arc ends and begins, float64 [A, 2]: to the east and to the north, in any unit."""
    points = arcs.streets["points"].combine_chunks()
    units, ends = points.values.to_numpy().reshape(-1, 2).astype(np.int64), points.offsets.to_numpy().astype(np.int64) // 2
    first, last = ends[:-1], ends[1:] - 1
    at = np.stack([units[first], units[last]])
    near = np.stack([units[first + 1], units[last - 1]])
    pieces = arcs.pieces["street"].to_numpy()
    for end, name in enumerate(("src", "dst")):  # the point of a place is rounded, and says less of where the whole street leads
        axes = [arcs.pieces[f"{name}_{axis}"] for axis in ("lon", "lat")]
        whole = axes[0].is_valid().to_numpy()
        near[end, pieces[whole]] = np.stack([axis.drop_null().to_numpy() for axis in axes], axis=1)
    against = arcs.against.astype(np.int64)
    begins, ends = (against, arcs.street), (1 - against, arcs.street)
    return _vectors(near[ends], at[ends], at[ends]), _vectors(at[begins], near[begins], at[begins])


def _vectors(one: Array, other: Array, near: Array) -> Array:
    """From points to others, in units of latitude at points that are near, all int64 [n, 2]."""
    across, along = (other - one).T
    across = (across + _ROUND // 2) % _ROUND - _ROUND // 2
    return np.stack([across * cosines(near[:, 1]), along.astype(np.float64)], axis=1)
