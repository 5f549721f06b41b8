"""Proof of shortest-path answers over shards; `kernels.paths.certificate.sharded` has the method."""

from kernels.answers import Certificate, Paths
from kernels.distributed import Communicator, Shard
from kernels.paths.certificate.sharded import certify


def certify_sssp(shard: Shard, communicator: Communicator, answer: Paths) -> Certificate:
    """Prove that `answer`, of the own rows, is the shortest-path answer: 64-bit sums of weights. A collective."""
    return certify(shard, communicator, answer, True)
