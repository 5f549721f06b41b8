"""What turns must cost, by angles: for the proof of a split graph."""

from collections.abc import Mapping
from typing import Any

import numpy as np

from kernels.graph import Array

_NEAR = 1e-7  # radians by which an angle may differ from one of the turn's
_TURN = np.pi / 4


class ExpectedCosts:
    """The costs of turns between streets; `streets` as `pipeline.steps.turns.proof.StreetRows`."""

    def __init__(self, streets: Any, costs: Mapping[str, int]) -> None:
        self._streets, self._costs = streets, costs
        self._any = any(costs.get(name) for name in ("left", "right", "u_turn"))
        if self._any:
            lists = streets.table["points"].combine_chunks()
            offsets = lists.offsets.to_numpy().astype(np.int64) // 2
            points = np.deg2rad(lists.values.to_numpy().reshape(-1, 2) / 1e7)
            first, last = offsets[:-1], offsets[1:] - 1
            second, last_but_one = points[first + 1], points[last - 1]
            if streets.pieces is not None:
                for beside, end in ((second, "src"), (last_but_one, "dst")):
                    known = streets.pieces.filter(streets.pieces[f"{end}_lon"].is_valid())
                    for axis, name in enumerate(("lon", "lat")):
                        beside[known["street"].to_numpy(), axis] = np.deg2rad(known[f"{end}_{name}"].to_numpy() / 1e7)
            self._out = [_bearing(points[first], second, 0), _bearing(points[last], last_but_one, 0)]
            self._in = [_bearing(last_but_one, points[last], 1), _bearing(second, points[first], 1)]
            self._degree = np.unique(streets.src, return_counts=True)
            ends = [streets.table[name].to_numpy() for name in ("src", "dst")]
            ids, arms = np.unique(np.concatenate(ends), return_counts=True)
            self._bends = ids[arms < 3]

    def are(self, first: Array, second: Array, cost: Array) -> Array:
        """Whether movements from one arc to another cost this, bool [n]; a turn that is hardly one may cost either."""
        if not self._any:
            free: Array = cost == 0
            return free
        streets = self._streets
        left, right, back = (self._costs.get(name, 0) for name in ("left", "right", "u_turn"))
        arrives = np.where(streets.against[first], self._in[1][streets.street[first]], self._in[0][streets.street[first]])
        leaves = np.where(streets.against[second], self._out[1][streets.street[second]], self._out[0][streets.street[second]])
        angle = (leaves - arrives + np.pi) % (2 * np.pi) - np.pi
        steep, near = np.abs(angle), np.abs(np.abs(angle) - _TURN) < _NEAR
        turned = np.where(angle > 0, left, right)
        right_cost = cost == np.where(steep >= _TURN, turned, 0)
        right_cost |= near & ((cost == turned) | (cost == 0))
        right_cost |= (np.pi - steep < _NEAR) & ((cost == left) | (cost == right))
        right_cost = np.where(np.isnan(angle) | np.isin(streets.src[second], self._bends), cost == 0, right_cost)
        returns = (streets.street[first] == streets.street[second]) & (streets.against[first] ^ streets.against[second])
        ids, counts = self._degree
        alone = counts[np.searchsorted(ids, streets.src[second])] == 1
        verdict: Array = np.where(returns, cost == np.where(alone, 0, back), right_cost)
        return verdict


def _bearing(one: Array, other: Array, near: int) -> Array:
    """The angle from the east of the line from one point to another, by the latitude of one of them; NaN between equal points."""
    step = other - one
    step[:, 0] = (step[:, 0] + np.pi) % (2 * np.pi) - np.pi
    x, y = step[:, 0] * np.cos((one, other)[near][:, 1]), step[:, 1]
    return np.where((np.abs(x) < 1e-12) & (np.abs(y) < 1e-12), np.nan, np.arctan2(y, x))
