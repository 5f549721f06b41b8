"""The contract of Communicator, checked on the one between threads."""

import time

import numpy as np
import pytest

from kernels.distributed.communicator import Communicator, PeerLost, SingleRank
from kernels.distributed.threads import run_ranks
from tests.sharded.collectives import check_collectives
from tests.sharded.ranks import DEADLINE


@pytest.mark.parametrize("size", [1, 2, 5])
def test_each_rank_receives_what_was_sent_to_it(size: int) -> None:
    def swap(ranks: Communicator) -> list[np.ndarray]:
        assert ranks.size == size
        return ranks.exchange([np.full(ranks.rank + to, 10 * ranks.rank + to, np.int32) for to in range(size)])

    for to, received in enumerate(run_ranks(size, swap)):
        for source, array in enumerate(received):
            assert array.dtype == np.int32
            np.testing.assert_array_equal(array, np.full(source + to, 10 * source + to))


def test_collectives_agree_with_numpy() -> None:
    assert run_ranks(3, lambda ranks: check_collectives(ranks, np.copy)) == [1003] * 3


def test_collectives_of_a_single_rank() -> None:
    assert [check_collectives(SingleRank(), np.copy)] == run_ranks(1, lambda ranks: check_collectives(ranks, np.copy))


def test_reductions_of_one_number() -> None:
    def reduce(ranks: Communicator) -> tuple[object, ...]:
        rank = ranks.rank
        return ranks.sum(rank + 1), ranks.min(rank + 1), ranks.max(rank + 0.5), ranks.any(rank == 1), ranks.all(rank == 1)

    assert run_ranks(3, reduce) == [(6, 1, 2.5, True, False)] * 3
    assert reduce(SingleRank()) == (1, 1, 0.5, False, False)


@pytest.mark.parametrize("buffer", [np.zeros(4), np.zeros(1), np.zeros(3, np.float32)])
def test_parts_that_do_not_fit_their_buffer_are_refused(buffer: np.ndarray) -> None:
    with pytest.raises(AssertionError, match=r"\(3,\) float64 for a buffer"):
        run_ranks(2, lambda ranks: ranks.exchange([np.zeros(3)] * 2, [buffer] * 2))


@pytest.mark.parametrize("other", [np.zeros(4), np.zeros(3, np.float32)])
def test_gather_refuses_different_shapes_that_were_declared_alike(other: np.ndarray) -> None:
    with pytest.raises(AssertionError, match="alike"):
        run_ranks(2, lambda ranks: ranks.gather([np.zeros(3), other][ranks.rank], alike=True))


def test_ranks_may_send_different_types() -> None:
    sent = [np.array([2**63], np.uint64), np.array([0.5]), np.array([], bool)]
    for received in run_ranks(3, lambda ranks: ranks.gather(sent[ranks.rank])):
        assert [array.dtype for array in received] == [array.dtype for array in sent]
        assert all(np.array_equal(array, other) for array, other in zip(received, sent, strict=True))


def test_received_arrays_belong_to_the_receiver() -> None:
    def scribble(ranks: Communicator) -> bool:
        mine = np.full(1000, ranks.rank)
        received = ranks.gather(mine)
        mine[:] = -1
        received[0][:] += ranks.rank
        ranks.gather(mine)
        return bool((received[0] == ranks.rank).all() and (received[1] == 1).all())

    assert run_ranks(4, scribble) == [True] * 4


def test_reductions_are_equal_on_all_ranks_and_add_in_rank_order() -> None:
    values = [np.array([1e16, 3.0]), np.array([1.0, -2.0]), np.array([1.0, 0.0])]
    for total, least, most in run_ranks(3, lambda r: (r.total(values[r.rank]), r.least(values[r.rank]), r.most(values[r.rank]))):
        np.testing.assert_array_equal(total, [1e16 + 1.0 + 1.0, 1.0])
        np.testing.assert_array_equal(least, [1.0, -2.0])
        np.testing.assert_array_equal(most, [1e16, 3.0])


def test_an_error_on_one_rank_ends_all_and_is_raised() -> None:
    lost = []

    def fail(ranks: Communicator) -> None:
        if ranks.rank == 2:
            raise ZeroDivisionError("rank two")
        try:
            ranks.gather(np.zeros(1))
        except PeerLost:
            lost.append(ranks.rank)
            raise

    with pytest.raises(ZeroDivisionError, match="rank two"):
        run_ranks(4, fail, DEADLINE)
    assert sorted(lost) == [0, 1, 3]


def test_a_rank_that_left_is_lost_within_the_deadline() -> None:
    begin = time.monotonic()
    with pytest.raises(PeerLost, match="rank 0: another rank"):
        run_ranks(2, lambda ranks: ranks.gather(np.zeros(1)) if ranks.rank == 0 else None, deadline=0.2)
    assert time.monotonic() - begin > 0.1


def test_the_wrong_number_of_parts_is_refused() -> None:
    with pytest.raises(ValueError, match="1 parts for 2 ranks"):
        run_ranks(2, lambda ranks: ranks.exchange([np.zeros(1)]))
