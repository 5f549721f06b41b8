"""The ranks of a run on Dask workers: started by the scheduler (coordinator.py), and again when a worker is lost."""

import asyncio
import logging
import os
import socket
import time
from collections.abc import Callable, Sequence
from concurrent.futures import CancelledError, wait
from typing import Any

from distributed import Client
from distributed.core import clean_exception
from distributed.protocol.pickle import dumps, loads

from pipeline import progress
from pipeline.cluster.dask import coordinator, session
from pipeline.cluster.dask.code_version import CodeVersion
from pipeline.cluster.dask.coordinator import GroupRequest, Outcome, run_group
from pipeline.cluster.dask.ranks import Ranks
from pipeline.cluster.worker_memory import ended_by_kernel, ends, out_of_memory
from pipeline.config.cluster import ClusterConfig
from pipeline.errors import BadConfig, ClusterLost
from pipeline.runtime.memory import kills
from pipeline.store.code import Code

log = logging.getLogger(__name__)
Poll = Callable[[], list[str]]  # returns the workers' addresses; raises ClusterLost if the scheduler is silent for too long
_POLL = 0.5  # seconds between two checks whether the scheduler is there
_RETURN = 10.0  # seconds that a nanny has to restart a worker before the remaining workers take its ranks


class RankGroups:
    """Starts groups of ranks, one after the other.

    Args:
        config: States how many times a group may lose a worker.
    """

    def __init__(self, client: Client, config: ClusterConfig) -> None:
        self._client, self._config, self._lost_workers = client, config, config.lost_workers
        self._kills = kills()
        self._workers: Sequence[str] = ()  # of the last group: they have its shards loaded

    def run(self, ranks: Ranks, size: int, poll: Poll) -> list[Any]:
        """Run `size` ranks at the same time; return their results in rank order.

        If a worker is lost, all ranks start again on the workers that are there then.

        Raises:
            ClusterLost: More than `lost_workers` times a worker died, or did not answer within the deadline; twice one was ended
                for its memory; other runs held the workers for the deadline; or as `poll`.
            BadConfig: The scheduler or a worker has other code than this run.
            Exception: The first error of a rank.
        """
        version = CodeVersion.of(Code((coordinator.__name__, session.__name__)))
        before = known = ends(self._client)
        step = f"{current.name if (current := progress.CURRENT.get()) else 'a stage'} over shards"
        of_memory = losses = 0
        for left in reversed(range(self._lost_workers + 1)):
            self._await_workers(poll)
            if (ended := ends(self._client)) > known:
                known, of_memory = ended, of_memory + 1
            if of_memory > 1:  # a third time would end as the second, on a fresh worker
                break
            run, own = f"process {os.getpid()} on {socket.gethostname()}", self._config.scheduler == "local"
            outcome = self._call(
                GroupRequest(self._client.id, run, size, ranks.deadline, self._workers, dumps(ranks), step, own, version), poll
            )
            if outcome.busy:
                held = f"the workers are held by other runs: {outcome.busy}"
                raise ClusterLost(f"cluster: {held}; none was returned for {ranks.deadline:g} s ([cluster] deadline)")
            if outcome.error:
                _, error, trace = clean_exception(**outcome.error)
                raise error.with_traceback(trace)  # type: ignore[union-attr]
            self._workers = outcome.workers or self._workers
            if not outcome.lost:
                return [result for results in outcome.results for result in loads(results)]
            losses += 1
            log.warning("cluster: %s%s", outcome.lost, "; all ranks start again" if left else "")
        raise ClusterLost(f"cluster: {self._lost(step, losses, ends(self._client) > before)}")

    def _lost(self, step: str, losses: int, of_memory: bool) -> str:
        """What ended the ranks: a step that took more memory than its workers may, or other losses of workers."""
        if of_memory and (why := out_of_memory(self._client, self._config, over_shards=True)):
            return f"{step} lost a worker {losses} times{why}"
        limit = f"the limit is {self._lost_workers} ([cluster] lost_workers)"
        return f"workers lost during {step}: {losses}, {limit}{ended_by_kernel(self._config, self._kills)}"

    def _await_workers(self, poll: Poll) -> None:
        """Wait for as many workers as the last group had, or after a while for at least one."""
        began = time.monotonic()
        while len(workers := poll()) < len(self._workers) and not (workers and time.monotonic() - began > _RETURN):
            time.sleep(_POLL)

    def _call(self, request: GroupRequest, poll: Poll) -> Outcome:
        async def ask() -> Outcome | None:
            return await self._client.run_on_scheduler(run_group, request)  # type: ignore[no-any-return]

        outcome = asyncio.run_coroutine_threadsafe(ask(), self._client.loop.asyncio_loop)  # type: ignore[union-attr]
        while not wait([outcome], _POLL).done:
            poll()
        try:
            return outcome.result() or Outcome(lost="the scheduler lost this run")
        except ImportError as error:
            raise BadConfig(f"cluster: the scheduler does not have this run's code: {error}") from None
        except (OSError, CancelledError) as error:
            return Outcome(lost=f"the scheduler does not answer: {error}")
