"""The turn of threads that compute on one GPU."""

from threading import Event, Thread

from kernels.gpu.deep.turn import Turn
from kernels.registry import BY_NAME


def order_of(ranks):
    """The order in which threads of these ranks, which wait in this order, have the turn."""
    turn, had, threads = Turn(), [], []

    def wait(number, rank):
        with turn.of(rank):
            had.append(number)

    with turn.of(0):
        for number, rank in enumerate(ranks):
            threads.append(Thread(target=wait, args=(number, rank)))
            threads[-1].start()
            while len(turn._waiting) <= number:
                Event().wait(0.001)
    for thread in threads:
        thread.join(60)
    assert not turn.locked()
    return had


def test_the_smallest_rank_is_next_and_of_several_the_first():
    assert order_of([2, 0, 1, 0, 2, 1]) == [1, 3, 2, 5, 0, 4]


def test_larger_ranks_wait_for_a_smaller_one_that_is_coming():
    turn, had, came = Turn(), [], Event()

    def come(uses_it):
        with turn.coming(1):
            came.set()
            Event().wait(0.1)
            if uses_it:
                with turn.of(1):
                    had.append(1)
            Event().wait(0.1)  # it does not wait for the end of the block
            had.append("end")

    def wait(rank):
        with turn.of(rank):
            had.append(rank)

    for uses_it in (True, False):
        threads = [Thread(target=come, args=(uses_it,)), Thread(target=wait, args=(2,)), Thread(target=wait, args=(0,))]
        threads[0].start()
        came.wait(60)
        came.clear()
        for thread in threads[1:]:
            thread.start()
        for thread in threads:
            thread.join(60)
    assert had == [0, 1, 2, "end", 0, "end", 2]
    assert not turn.locked()


def test_a_turn_ends_with_an_error():
    turn = Turn()
    try:
        with turn.of(1):
            raise ValueError
    except ValueError:
        assert not turn.locked()


def test_stages_whose_kernels_take_long_let_others_go_first():
    assert max(BY_NAME[stage].turn for stage in ("bfs", "sssp", "mst", "wcc", "scc")) < BY_NAME["pagerank"].turn
