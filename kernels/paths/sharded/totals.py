"""Totals of a graph over all ranks, which decide between the two methods of each search on GPUs."""

from dataclasses import dataclass
from weakref import ref

import numpy as np

from kernels.distributed import Communicator, Shard
from kernels.graph import Array
from kernels.paths.degrees import are_long, degrees_of
from kernels.paths.weights import heaviest_and_sum

_LARGEST, _HEAVIEST = 2, 3  # places in `_summands_of`


@dataclass(frozen=True)
class GraphTotals:
    """Totals of the whole graph."""

    num_arcs: int
    with_arcs: int  # rows with out-arcs
    # largest: degree, out or in; infinite once rows to relax are known to become too many for a team of blocks.
    largest: float
    # heaviest, mean: of the weights; 1 if there are none. `heaviest` is infinite once sums of weights are known not to fit 32
    # bits.
    heaviest: float
    mean: float

    @property
    def long_paths(self) -> bool:
        """Whether rows have few arcs and none has many: a superstep for each level would be many supersteps."""
        return are_long(self.num_arcs, self.with_arcs, self.largest)


def totals_of(shard: Shard, communicator: Communicator) -> GraphTotals:
    """Add up the shards of all ranks. A collective; every rank keeps the result with its shard for this communicator."""
    known: tuple[ref[Communicator], GraphTotals] | None = shard.derived.get(totals_of, lambda: None)
    if known is not None and known[0]() is communicator:
        return known[1]
    of_ranks = np.stack(communicator.gather(shard.derived.get(_summands_of, lambda: _summands_of(shard)), alike=True))
    arcs, with_arcs, _, _, weight = of_ranks.sum(axis=0).tolist()
    _, _, largest, heaviest, _ = of_ranks.max(axis=0).tolist()
    totals = GraphTotals(int(arcs), int(with_arcs), largest, heaviest, weight / max(1, arcs))
    shard.derived.put(totals_of, (ref(communicator), totals))
    return totals


def _summands_of(shard: Shard) -> Array:
    """Arcs, rows with arcs, largest degree, heaviest weight, sum of weights: float64 [5], exact but for the sum of weights."""
    weights = shard.out.weights
    heaviest, sum_of_weights = 1.0, float(shard.out.offsets[-1])
    if weights is not None and len(weights):
        heaviest, sum_of_weights = heaviest_and_sum(weights)
    return np.array([*degrees_of(shard.out, shard.into), heaviest, sum_of_weights])


def note_long_sums(shard: Shard) -> None:
    """Remember that sums of weights do not fit 32 bits. All ranks call it, so the next `totals_of` gathers on all of them."""
    _make_infinite(shard, _HEAVIEST)


def note_many_rows(shard: Shard) -> None:
    """Remember that rows to relax become too many for a team. All ranks call it."""
    _make_infinite(shard, _LARGEST)


def _make_infinite(shard: Shard, summand: int) -> None:
    summands = shard.derived.get(_summands_of, lambda: _summands_of(shard)).copy()
    summands[summand] = np.inf
    shard.derived.put(_summands_of, summands)
    shard.derived.discard(totals_of)
