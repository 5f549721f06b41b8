"""Sweeps over an acyclic graph over all ranks: each node is updated after all nodes before it.

A schedule repeats the supersteps in which the order of the nodes was found (sweeps.py). A node's values are sent once, after the
superstep that makes them final, to the ranks that have the node as a ghost.
"""

from collections.abc import Callable, Sequence
from typing import NamedTuple

import numpy as np

from kernels.distributed.columns import exchange_columns
from kernels.distributed.halo import Halo
from kernels.graph import Array, Csr


class Schedule(NamedTuple):
    """The order of a sweep in S supersteps; no rank needs values of the last one."""

    nodes: Array  # index width [n]: own nodes, each after all nodes before it; superstep s updates `nodes[ends[s]:ends[s + 1]]`
    ends: list[int]
    sent: Array  # index width: own nodes that are ghosts of other ranks, by superstep, then by rank
    cuts: list[Array]  # superstep s sends `sent[cuts[s][r]:cuts[s][r + 1]]` to rank r
    # int64 [g]: the ghosts, as local nodes, in the order in which their values are received; after superstep s they are
    # `received[received_ends[s]:received_ends[s + 1]]`
    received: Array
    received_ends: list[int]

    @property
    def supersteps(self) -> int:
        """S."""
        return len(self.ends) - 1


class ScheduledDag(NamedTuple):
    """The DAG or the reversed DAG: in-arcs and out-arcs of local nodes, depths, and the schedule of a sweep along the arcs."""

    into: Csr
    out: Csr
    depth: Array
    schedule: Schedule


class SweepWork(NamedTuple):
    """What a sweep does: `update(nodes)` fills in the `values`, each [n + g], of own nodes."""

    update: Callable[[Array], None]
    values: Sequence[Array]


def sweep(halo: Halo, schedule: Schedule, *works: SweepWork) -> int:
    """Do some works in one sweep; return the number of supersteps. A collective."""
    values = [value for work in works for value in work.values]
    for step in range(schedule.supersteps):
        for work in works:
            work.update(schedule.nodes[schedule.ends[step] : schedule.ends[step + 1]])
        if values and step < len(schedule.cuts):
            first, *cuts, end = schedule.cuts[step].tolist()
            sent, parts = schedule.sent[first:end], [cut - first for cut in cuts]
            received = exchange_columns(halo.communicator, *(np.split(value[sent], parts) for value in values))
            ghosts = schedule.received[schedule.received_ends[step] : schedule.received_ends[step + 1]]
            for value, of_ghosts in zip(values, received, strict=True):
                value[ghosts] = of_ghosts
    return schedule.supersteps
