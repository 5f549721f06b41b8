"""How tests call a cluster."""

from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path
from typing import Any

from pipeline.cluster.protocol import Cluster, TaskContext
from pipeline.runtime.backend import Backend
from tests.cluster import tasks as worker_tasks


class DeadlyWrites:
    """A cluster of which `count` processes are killed while they write; `deaths` is a new folder."""

    def __init__(self, cluster: Cluster, deaths: Path, count: int):
        self.shards, self.cluster, self.deaths = cluster.shards, cluster, deaths
        deaths.mkdir()
        for number in range(count):
            (deaths / str(number)).touch()

    @property
    def left(self) -> int:
        """How many have not been killed."""
        return len(list(self.deaths.iterdir()))

    def map(self, function: Callable[..., Any], *arguments: Any, **options: Any) -> Any:
        """As a cluster's."""
        return self.cluster.map(partial(worker_tasks.die_writing, function, self.deaths), *arguments, **options)


def results(
    cluster: Cluster, function: Callable[..., Any], tasks: Sequence[Any], backend: str = "cpu", **options: Any
) -> list[Any]:
    """What `function(context, task)` returns for each task, on groups of one rank."""
    return [result for (result,) in cluster.map(function, tasks, backend, **options)]


def on_ranks(cluster: Cluster, function: Callable[..., Any], task: Any, size: int, backend: Backend) -> list[Any]:
    """What `function(communicator, task)` returns on each of `size` ranks."""
    (found,) = cluster.map(partial(_call, function), [task], backend, size)
    return found


def _call(function: Callable[..., Any], context: TaskContext, task: Any) -> Any:
    return function(context.communicator, task)
