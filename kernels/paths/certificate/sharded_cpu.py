"""The passes of the certificate of paths over a rank's arcs, on NumPy arrays."""

from __future__ import annotations

from kernels.certificate.local_arcs import of_own_rows
from kernels.distributed.shard import Shard
from kernels.graph import Array
from kernels.paths.certificate import passes


def relax(shard: Shard, weights: Array | None, known: Array, positions: Array, nearest: Array) -> bool:
    """Call `passes.relax` for own rows; `known` and `positions` [n + g]."""
    return passes.relax(of_own_rows(shard, shard.local_into), weights, known, positions, nearest)


def first_loose(shard: Shard, weights: Array | None, known: Array) -> int:
    """The first own out-arc that is loose, or -1."""
    return passes.first_loose(of_own_rows(shard, shard.local_out), weights, known)
