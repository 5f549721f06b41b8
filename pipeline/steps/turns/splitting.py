"""The arcs of the split graph: those of its crossings, of their copies, and those that lead to ends."""

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
import pyarrow as pa

from kernels.graph import Array
from pipeline.numerals import LARGEST
from pipeline.steps.turns.arcs import StreetArcs
from pipeline.steps.turns.costs import MovementCosts
from pipeline.steps.turns.prefixes import Arcs, Prefixes

NONE = -1  # the arc of what leads to an end
# `id`: of a vertex that is not one of the streets; `vertex`: the crossing; `end`: whether it is its end, and not a copy.
COPY_SCHEMA = pa.schema([
    pa.field("id", pa.int64(), False), pa.field("vertex", pa.int64(), False), pa.field("end", pa.bool_(), False),
])  # fmt: skip
# `arc`: of each row of the edge list, the arc of streets that it is, by its number in their order, or NONE.
MOVEMENT_SCHEMA = pa.schema([pa.field("arc", pa.int64(), False)])


@dataclass(frozen=True)
class SplitArcs:
    """The split graph: its edge list with the arcs that its rows are, and the vertices that it adds."""

    edges: pa.Table  # `src`, `dst`, `weight`, int64
    movements: pa.Table
    copies: pa.Table


def split(arcs: StreetArcs, sequences: set[Arcs], signals: Array, costs: Mapping[str, int]) -> SplitArcs:
    """Split the crossings of streets.

    Args:
        sequences: Of arcs, that no path may take.
        signals (int64 [A]): What is added to the weight of each arc.
        costs: As for `MovementCosts`.

    Raises:
        OverflowError: A weight or an id does not fit 63 bits.
    """
    turn_costs = MovementCosts(arcs, costs)
    prefixes = Prefixes.of(sequences, _remembered(arcs, turn_costs))
    last, singles = prefixes.last, len(prefixes.singles)
    crossings = np.unique(arcs.head[last])
    first = (int(arcs.ids[-1]) if len(arcs.ids) else 0) + 1
    most = int(arcs.weight.max(initial=0)) + int(signals.max(initial=0)) + max(costs.values(), default=0)
    if first + len(crossings) + len(last) > LARGEST or most > LARGEST:
        raise OverflowError("a weight with what turns cost, or an id beside those of the vertices, exceeds 63 bits")
    copies = np.empty_like(last)
    copies[np.argsort(arcs.head[last], kind="stable")] = first + len(crossings) + np.arange(len(last))
    arriving = arcs.ids[arcs.head]
    arriving[last[:singles]] = copies[:singles]

    state, second = arcs.after(last)
    target, key = arriving[second], state * len(arcs.head) + second
    keys = np.array([of * len(arcs.head) + arc for of, arc, _ in prefixes.longer], np.int64)
    order = np.argsort(key)
    target[order[np.searchsorted(key, keys, sorter=order)]] = copies[np.array([to for *_, to in prefixes.longer], np.int64)]
    never = np.array([of * len(arcs.head) + arc for of, arc in prefixes.forbidden], np.int64)
    kept = ~(np.isin(key, never) | arcs.reverses(last[state], second))
    state, second, target = state[kept], second[kept], target[kept]

    weight, ends = arcs.weight + signals, first + np.arange(len(crossings))
    of_copies = ends[np.searchsorted(crossings, arcs.head[last])]
    src = [arcs.ids[arcs.tail], copies[state], arcs.ids[crossings], copies]
    dst = [arriving, target, ends, of_copies]
    free = np.zeros(len(ends) + len(copies), np.int64)
    weights = [weight, weight[second] + turn_costs.of(last[state], second), free]
    numbers = [np.arange(len(weight)), second, free + NONE]
    columns = [np.concatenate(column) for column in (src, dst, weights)]
    added = [np.concatenate([ends, copies]), arcs.ids[np.concatenate([crossings, arcs.head[last]])]]
    is_end = np.arange(len(added[0])) < len(ends)
    return SplitArcs(
        pa.table(dict(zip(("src", "dst", "weight"), columns, strict=True))),
        pa.table([np.concatenate(numbers)], schema=MOVEMENT_SCHEMA),
        pa.table([*added, is_end], schema=COPY_SCHEMA),
    )


def _remembered(arcs: StreetArcs, costs: MovementCosts) -> Array:
    """The arcs behind which some turn costs something, or leads back at a place within a street, int64 [n]."""
    some = np.arange(len(arcs.head)) if costs.any else np.flatnonzero(arcs.within[arcs.head])
    place, second = arcs.after(some)
    first = some[place]
    remembered: Array = np.unique(first[(costs.of(first, second) > 0) | arcs.reverses(first, second)])
    return remembered
