"""Ranks that lose a worker or the scheduler: all start again on the other workers, or there is one error in time."""

import signal
import threading
import time
from pathlib import Path

import psutil
import pytest

from pipeline.cluster.start import started
from pipeline.config.cluster import ClusterConfig
from pipeline.errors import ClusterLost
from tests.cluster import tasks as worker_tasks
from tests.cluster.calls import on_ranks
from tests.cluster.processes import deployed
from tests.flows.processes import eventually

DEADLINE = 12.0
MARGIN = 30.0  # for a worker that may return, and for closing
RANKS = 3


def begun(folder: Path) -> list[int]:
    """Wait until all ranks exchange; return the process ids of ranks 0 and RANKS - 1."""
    notes = [folder / f"begun-{rank}" for rank in range(RANKS)]
    assert eventually(lambda: all(note.exists() and note.read_text() for note in notes), seconds=120)
    time.sleep(0.2)
    return [int(note.read_text()) for note in (notes[0], notes[-1])]


class Meanwhile(threading.Thread):
    """Call `act` as soon as the ranks have begun; `seconds` is the time since then."""

    def __init__(self, folder: Path, act):
        super().__init__()
        self.folder, self.act = folder, act
        self.start()

    def run(self):
        processes = begun(self.folder)
        self.since = time.monotonic()
        self.act(processes)

    def seconds(self) -> float:
        self.join()
        return time.monotonic() - self.since


def test_ranks_of_a_lost_worker_move_to_the_others(tmp_path):
    with deployed(tmp_path, workers=2) as dask:
        config = ClusterConfig(scheduler=dask.address, deadline=DEADLINE, lost_workers=1)
        with started(config, "cpu") as cluster:
            lost = Meanwhile(tmp_path, lambda found: (psutil.Process(found[0]).kill(), (tmp_path / "go").touch()))
            found = on_ranks(cluster, worker_tasks.linger, tmp_path, RANKS, "cpu")
            assert lost.seconds() < DEADLINE + MARGIN
    assert len(set(found)) == 1


def test_ranks_of_a_hanging_worker_move_to_the_others(tmp_path):
    config = ClusterConfig(scheduler="local", workers=2, deadline=DEADLINE, lost_workers=2)
    stopped: list[int] = []
    with started(config, "cpu") as cluster:
        lost = Meanwhile(tmp_path, lambda found: (psutil.Process(found[0]).suspend(), stopped.append(found[0])))
        threading.Thread(
            target=lambda: (lost.join(), (tmp_path / "begun-0").unlink(), begun(tmp_path), (tmp_path / "go").touch())
        ).start()
        found = on_ranks(cluster, worker_tasks.linger, tmp_path, RANKS, "cpu")
        assert lost.seconds() < 2 * DEADLINE + MARGIN
    assert stopped[0] not in found


def test_a_scheduler_that_hangs_is_one_error_in_time(tmp_path):
    with deployed(tmp_path, workers=2) as dask:
        config = ClusterConfig(scheduler=dask.address, deadline=DEADLINE)
        lost = Meanwhile(tmp_path, lambda _: dask.scheduler.send_signal(signal.SIGSTOP))
        with pytest.raises(ClusterLost, match="scheduler"), started(config, "cpu") as cluster:
            on_ranks(cluster, worker_tasks.linger, tmp_path, RANKS, "cpu")
        assert lost.seconds() < DEADLINE + MARGIN
