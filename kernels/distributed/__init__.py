"""One graph over many ranks: each holds a range of rows, computes locally as far as it can, then exchanges with the others.

Read `shard.py` (what a rank holds), then `halo.py` (how it learns about rows of others) and `communicator.py`.

The model is bulk-synchronous (Valiant, A Bridging Model for Parallel Computation, CACM 1990). Between two exchanges a rank
computes its local fixpoint, so that a road network, whose shards have few arcs between them, needs few supersteps. Everything
here is independent of the transport, which implements `kernels.distributed.communicator.Communicator`.
"""

from kernels.distributed.communicator import Communicator, PeerLost, SingleRank
from kernels.distributed.fixpoint import settle
from kernels.distributed.halo import Halo
from kernels.distributed.local_graph import local_graph
from kernels.distributed.owners import Owners
from kernels.distributed.shard import Shard, ShardAnswer

__all__ = ["Communicator", "Halo", "Owners", "PeerLost", "Shard", "ShardAnswer", "SingleRank", "local_graph", "settle"]
