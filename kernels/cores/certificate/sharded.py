"""Certificate of core numbers over shards, by the rules of `kernels.cores.certificate`.

A rank removes its own rows until none can be removed, and tells the owners of its ghosts how many neighbours these have lost.
"""

import numpy as np

from kernels.answers import Certificate
from kernels.certificate.global_view import GlobalView
from kernels.certificate.rules import Broken, verdict
from kernels.cores import Cores
from kernels.cores.certificate import RULES, backend_of
from kernels.cores.certificate.reasons import too_large, too_small
from kernels.distributed import Communicator, Halo, Shard
from kernels.graph import NO_ROW, OFFSET


def certify_cores(shard: Shard, communicator: Communicator, answer: Cores) -> Certificate:
    """Prove the core numbers of all ranks' own rows. A collective; the same verdict on all ranks."""
    return verdict(RULES, _check, shard, communicator, answer)


def _check(shard: Shard, communicator: Communicator, answer: Cores) -> None:
    view, passes, halo = GlobalView(shard, communicator), backend_of(shard.out), Halo(shard, communicator)
    own = view.form("core", answer.core, len(shard.ids), OFFSET)
    core = halo.extended(own)
    positions = np.concatenate([shard.positions, shard.ghost_positions])
    sides = passes.sides_of(shard.local_out, shard.local_into, positions)
    left = passes.supports(sides, core, len(own))
    row = view.first_row(left < own)
    if row != NO_ROW:
        raise Broken(too_large(view, view.spread(own), view.spread(left), row))
    removed = np.zeros_like(own, np.bool_)
    more = True
    while more:
        debts = np.zeros_like(core, shape=(shard.num_ghosts,))
        passes.remove(sides, core, left, removed, debts)
        ghosts = np.flatnonzero(debts)
        rows, lost = halo.send(ghosts, debts)
        np.add.at(left, rows, -lost)
        more = communicator.any(len(ghosts))
    row = view.first_row(~removed)
    if row != NO_ROW:
        raise Broken(too_small(view, view.spread(own), row))
