"""The communicator over NCCL, one process per GPU; most tests need two GPUs."""

# ruff: noqa: E402  (the imports below need CuPy)
import time
from concurrent.futures.process import BrokenProcessPool

import numpy as np
import pytest

cupy = pytest.importorskip("cupy")

from kernels.distributed.communicator import PeerLost
from kernels.distributed.gpu.nccl import BetweenGpus, unique_id
from kernels.gpu.devices import device_count
from tests.gpu.ranks import LOST, collectives, killed, on_gpus, stopped
from tests.sharded.collectives import check_collectives

GPUS = min(device_count(), 4)
needs_two = pytest.mark.skipif(GPUS < 2, reason="needs two GPUs")


@pytest.mark.parametrize(("bring", "tried"), [(cupy.asarray, 526), (np.copy, 525)])
def test_collectives_of_one_rank(bring, tried):
    with BetweenGpus(unique_id(), 0, 1) as ranks:
        assert check_collectives(ranks, bring) == tried


def test_a_rank_that_never_joins_is_lost_at_the_deadline():
    begun = time.monotonic()
    with pytest.raises(PeerLost, match=r"did not come within 2 s"):
        BetweenGpus(unique_id(), 0, 2, deadline=2)
    assert 2 <= time.monotonic() - begun < 60


@needs_two
@pytest.mark.parametrize("size", range(2, GPUS + 1))
def test_collectives(size):
    on_host = {2: 764, 3: 1003, 4: 1242}[size]
    assert on_gpus(size, collectives) == [(on_host + size, on_host)] * size


@needs_two
@pytest.mark.parametrize("lose", [killed, stopped])
def test_a_lost_rank_is_reported_in_time(lose):
    *found, last = on_gpus(GPUS, lose)
    assert isinstance(last, BrokenProcessPool if lose is killed else tuple)
    for message, seconds, again in found:
        assert message.startswith("rank ") and again == message
        assert seconds < LOST + 3
