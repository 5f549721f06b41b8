"""How tests call a cluster."""

from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

from pipeline.cluster.protocol import Cluster, Place
from pipeline.runtime.backend import Backend


def results(
    cluster: Cluster, function: Callable[..., Any], tasks: Sequence[Any], backend: str = "cpu", **options: Any
) -> list[Any]:
    """What `function(place, task)` returns for each task, on groups of one rank."""
    return [result for (result,) in cluster.map(function, tasks, backend, **options)]


def on_ranks(cluster: Cluster, function: Callable[..., Any], task: Any, size: int, backend: Backend) -> list[Any]:
    """What `function(communicator, task)` returns on each of `size` ranks."""
    (found,) = cluster.map(partial(_call, function), [task], backend, size)
    return found


def _call(function: Callable[..., Any], place: Place, task: Any) -> Any:
    return function(place.communicator, task)
