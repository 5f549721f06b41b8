"""NCCL communicator for one rank on each GPU worker; set up, and watched for lost peers, over Dask's connections."""

import logging
import os
from collections.abc import Iterator, Sequence
from contextlib import contextmanager

import numpy as np

from kernels.distributed.communicator import Communicator, PeerLost
from kernels.distributed.gpu.nccl import BetweenGpus, unique_id
from pipeline.cluster.dask.sockets import on_one_machine
from pipeline.cluster.dask.transport import BetweenWorkers
from pipeline.cluster.dask.worker_state import STATE

log = logging.getLogger(__name__)


@contextmanager
def between_gpus(between: BetweenWorkers, placement: Sequence[str]) -> Iterator[Communicator]:
    """Connect the GPUs of all ranks, each on its own worker; `placement` has the workers' addresses in rank order.

    Connecting takes more than a second, so ranks that end without an error keep the connection for the next group on the same
    workers. If one worker has lost it, all connect again.
    """
    if on_one_machine(placement):
        os.environ.setdefault("NCCL_SOCKET_IFNAME", "lo")  # NCCL's own sockets do not authenticate
    ranks = STATE.nccl.pop(tuple(placement), None)
    while STATE.nccl:
        STATE.nccl.popitem()[1].abort()
    try:
        offered = _bytes_of_all(between, ranks.unique_id if ranks else b"")
        if ranks and len(set(offered)) > 1:
            ranks.abort()
            ranks = None
        if ranks is None:
            made = _bytes_of_all(between, unique_id() if between.rank == 0 else b"")[0]
            ranks = BetweenGpus(made, between.rank, between.size, check_peers=between.require_all)
        ranks.watch(between.require_all)
        yield ranks
    except BaseException as error:
        if isinstance(error, PeerLost):
            log.warning("cluster: %s", error)  # all ranks start again, and only this line gives NCCL's reason
        if ranks:
            ranks.abort()
        raise
    STATE.nccl[tuple(placement)] = ranks


def _bytes_of_all(between: Communicator, own: bytes) -> list[bytes]:
    return [received.tobytes() for received in between.gather(np.array(list(own), np.uint8))]
