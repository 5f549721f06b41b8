"""Proof of breadth-first answers over shards; `kernels.paths.certificate.sharded` has the method."""

from kernels.answers import Certificate, Paths
from kernels.distributed import Communicator, Shard
from kernels.paths.certificate.sharded import certify


def certify_bfs(shard: Shard, communicator: Communicator, answer: Paths) -> Certificate:
    """Prove that `answer`, of the own rows, is the breadth-first answer: hops, and the unique predecessors. A collective."""
    return certify(shard, communicator, answer, False)
