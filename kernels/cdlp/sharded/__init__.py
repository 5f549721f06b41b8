"""CDLP over shards: a superstep is a round, before which ghosts get the labels of their owners."""

from functools import partial
from typing import Any

import numpy as np

from kernels.answers import Components
from kernels.arrays import on_gpu
from kernels.cdlp.parameters import ITERATIONS, checked
from kernels.distributed import Communicator, Halo, Owners, Shard, ShardAnswer
from kernels.graph import Array


def cdlp(shard: Shard, communicator: Communicator, iterations: int = ITERATIONS) -> ShardAnswer[Components]:
    """Propagate labels to the own rows, as `kernels.cdlp.cdlp`. A collective.

    Raises ValueError if `iterations` is negative.
    """
    rounds, backend = checked(iterations), _backend_of(on_gpu(shard.out, "cdlp over shards"))
    halo, labels = Halo(shard, communicator), shard.positions
    propagate = partial(backend.propagated, backend.sides_of(shard.local_out, shard.local_into))
    supersteps = 0
    while supersteps < rounds:
        numbers, distinct = _numbered(halo.extended(labels))
        after = distinct[propagate(numbers, np.ones_like(labels, np.bool_))]
        supersteps += 1
        if not communicator.any((after != labels).any()):
            break
        labels = after
    return ShardAnswer(Components(_rows_of(shard, communicator, labels)), supersteps)


def _backend_of(gpu: bool) -> Any:
    if gpu:
        from kernels.cdlp import cuda

        return cuda
    from kernels.cdlp import cpu

    return cpu


def _numbered(labels: Array) -> tuple[Array, Array]:
    """The place of each label among the distinct ones, which ascend, in their type; and these."""
    distinct, places = np.unique(labels, return_inverse=True)
    return places.astype(labels.dtype), distinct


def _rows_of(shard: Shard, communicator: Communicator, positions: Array) -> Array:
    """The rows of positions in the order of external ids."""
    directory = Owners.evenly(shard.num_vertices, communicator)
    order = np.argsort(shard.positions)
    rows = np.arange(shard.rows.start, shard.rows.stop, dtype=positions.dtype, like=positions)
    here, of_here = directory.send(shard.positions[order], rows[order])
    by_position = np.empty_like(positions, shape=(len(directory.own),))
    by_position[here] = of_here
    (named,) = directory.request(positions, by_position)
    return named
