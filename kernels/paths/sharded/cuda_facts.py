"""What the searches for paths need of a shard beyond its arrays, found once and kept with it, and of all shards together."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TypeVar
from weakref import ref

import cupy
import numpy as np

from kernels.bfs.cuda import are_long, degrees_of, launch
from kernels.distributed.communicator import Communicator
from kernels.distributed.shard import Shard

Fact = TypeVar("Fact")


def kept(shard: Shard, name: str, find: Callable[[Shard], Fact]) -> Fact:
    """What `find` finds of the shard, found on the first call."""
    facts = vars(shard).setdefault("_facts", {})
    if name not in facts:
        facts[name] = find(shard)
    found: Fact = facts[name]
    return found


@dataclass(frozen=True)
class Whole:
    """Numbers of the whole graph.

    Attributes
    ----------
    arcs : int
    with_arcs : int
        Rows with out-arcs.
    most : int
        Out-arcs of the largest row.
    heaviest, mean : float
        Of the weights; 1 where there are none.
    """

    arcs: int
    with_arcs: int
    most: int
    heaviest: float
    mean: float

    @property
    def long_paths(self) -> bool:
        """Whether there are few arcs a row and no large row: a level at a time would be many supersteps."""
        return are_long(self.arcs, self.with_arcs, self.most)


def whole_of(shard: Shard, communicator: Communicator) -> Whole:
    """Add up the shards of all ranks. A collective, whose result the shard keeps for the same communicator, as all others do."""
    known: tuple[ref[Communicator], Whole] | None = vars(shard).get("_whole")
    if known is not None and known[0]() is communicator:
        return known[1]
    of_ranks = np.stack(communicator.gather(kept(shard, "numbers", _numbers), alike=True))
    arcs, with_arcs, _, _, weight = of_ranks.sum(axis=0).tolist()
    _, _, most, heaviest, _ = of_ranks.max(axis=0).tolist()
    whole = Whole(int(arcs), int(with_arcs), int(most), heaviest, weight / max(1, arcs))
    vars(shard)["_whole"] = ref(communicator), whole
    return whole


def _numbers(shard: Shard) -> np.ndarray[tuple[int], np.dtype[np.float64]]:
    """Float64: exact, but for the weights, and those are judged by."""
    weights = shard.out.weights
    heaviest, sum_of_weights = 1.0, float(shard.out.offsets[-1])
    if weights is not None and len(weights):
        heaviest, sum_of_weights = float(weights.max()), float(weights.sum(dtype=np.float64))
    return np.array([*degrees_of(shard.out.offsets), heaviest, sum_of_weights])


def note_long_sums(shard: Shard) -> None:
    """Remember that sums of the weights do not fit 32 bits, as if one weight did not. All ranks do, so all add up anew."""
    kept(shard, "numbers", _numbers)[3] = np.inf
    vars(shard).pop("_whole", None)


def closed(shard: Shard) -> cupy.ndarray:
    """Bitmap of the own rows without in-arcs, and of what is behind the last row (uint32)."""
    return kept(shard, "closed", _closed)


def _closed(shard: Shard) -> cupy.ndarray:
    offsets, num_own, row = shard.local_into.offsets, len(shard.ids), shard.ghosts.dtype
    words = -(-num_own // 32)
    found = cupy.empty(words, np.uint32)
    launch("direction_optimising", "find_closed", row, words * 32, offsets, np.int64(num_own), np.int64(words), found)
    return found
