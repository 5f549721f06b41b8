"""What ranks find out together about pairs, of which each has those of some second vertices."""

from collections.abc import Callable
from typing import TypeVar

import numpy as np

from kernels.certificate.rules import Broken
from kernels.distributed import Communicator
from kernels.graph import Array, Graph

Result = TypeVar("Result")
_BLOCK = 1 << 20  # positions of which ranks exchange something at a time


def together(ranks: Communicator, check: Callable[[], Result]) -> Result:
    """Return `check()`; if it raises Broken on some ranks, raise it on all, with the first one's reason. A collective."""
    result, reason = None, ""
    try:
        result = check()
    except Broken as broken:
        reason = str(broken)
    for of_rank in ranks.gather(np.frombuffer(reason.encode(), np.uint8)):
        if len(of_rank):
            raise Broken(bytes(of_rank.tolist()).decode())
    assert result is not None
    return result


def labels_by_sums(graph: Graph, begins: Array, first: Array, second: Array, ranks: Communicator) -> Array:
    """Classes of vertices that reach themselves and the same vertices, as far as sums of hashes of these tell. A collective.

    Vertices that reach the same, and themselves, reach each other. The certificate of strong components refuses other classes, so
    that hashes decide nothing.

    Args:
        begins (int64 [V + 1]): Where this rank's pairs of each position begin.
        first, second (index width [P]): Positions of the vertices of the pairs.

    Returns:
        index width [V]: Of each row, the row of smallest external id in its class, or itself.
    """
    positions = np.arange(graph.num_vertices, dtype=np.uint64, like=graph.ids)
    running = np.concatenate([np.zeros_like(positions, shape=(1,)), np.cumsum(_hashes(positions)[second], dtype=np.uint64)])
    itself = np.zeros_like(positions)
    itself[first[first == second]] = 1
    sums, itself = (_total(ranks, values) for values in (running[begins[1:]] - running[begins[:-1]], itself))
    cyclic = np.flatnonzero(itself)
    order = cyclic[np.argsort(sums[cyclic], kind="stable")]  # positions ascend within a class
    starts = np.ones_like(order, np.bool_)
    starts[1:] = sums[order[1:]] != sums[order[:-1]]
    smallest = positions.astype(graph.rows_by_id.dtype)
    smallest[order] = order[np.flatnonzero(starts)[np.cumsum(starts) - 1]]
    labels = np.empty_like(graph.rows_by_id)
    labels[graph.rows_by_id] = graph.rows_by_id[smallest]
    return labels


def _total(ranks: Communicator, values: Array) -> Array:
    """Element-wise sum over the ranks, a block at a time, because a rank may receive what all others have."""
    blocks = [ranks.total(values[begin : begin + _BLOCK]) for begin in range(0, len(values), _BLOCK)]
    return np.concatenate(blocks) if blocks else values


def _hashes(values: Array) -> Array:
    """Hashes of values, uint64: the finalizer of SplitMix64 (Steele, Lea, Flood, OOPSLA 2014)."""
    hashed = values + np.uint64(0x9E3779B97F4A7C15)
    hashed = (hashed ^ (hashed >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    hashed = (hashed ^ (hashed >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    mixed: Array = hashed ^ (hashed >> np.uint64(31))
    return mixed
