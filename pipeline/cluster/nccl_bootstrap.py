"""What the ranks use to speak whose workers have a GPU each: NCCL, with Dask's connections to find each other and the lost."""

from __future__ import annotations

import logging
import os
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from urllib.parse import urlsplit

import numpy as np

from kernels.distributed.communicator import Communicator, PeerLost
from kernels.distributed.gpu.nccl import BetweenGpus, unique_id
from pipeline.cluster.transport import BetweenWorkers
from pipeline.config.cluster import is_loopback

log = logging.getLogger(__name__)
_kept: dict[tuple[str, ...], BetweenGpus] = {}  # of this worker, by all workers in rank order; the one used last alone


@contextmanager
def between_gpus(between: BetweenWorkers, seats: Sequence[str]) -> Iterator[Communicator]:
    """Connect the GPUs of all ranks, each on its own worker; `seats` are the workers' addresses in rank order.

    Connecting takes a second and more, so ranks that end well keep the connection for those that come after them on the same
    workers; where one has lost it, all connect anew.
    """
    if all(is_loopback(urlsplit(seat).hostname or "") for seat in seats):
        os.environ.setdefault("NCCL_SOCKET_IFNAME", "lo")  # NCCL's own sockets ask nobody who they are
    ranks = _kept.pop(tuple(seats), None)
    while _kept:
        _kept.popitem()[1].abort()
    try:
        offered = _bytes_of_all(between, ranks.unique_id if ranks else b"")
        if ranks and len(set(offered)) > 1:
            ranks.abort()
            ranks = None
        if ranks is None:
            made = _bytes_of_all(between, unique_id() if between.rank == 0 else b"")[0]
            ranks = BetweenGpus(made, between.rank, between.size, look=between.require_all)
        ranks.ask(between.require_all)
        yield ranks
    except BaseException as error:
        if isinstance(error, PeerLost):
            log.warning("cluster: %s", error)  # what NCCL said: all ranks begin again, and nobody else tells why
        if ranks:
            ranks.abort()
        raise
    _kept[tuple(seats)] = ranks


def _bytes_of_all(between: Communicator, own: bytes) -> list[bytes]:
    return [received.tobytes() for received in between.gather(np.array(list(own), np.uint8))]
