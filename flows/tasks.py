"""Steps of the pipeline as Prefect tasks: their names in the terminal, and which failures are retried.

Prefect neither caches nor stores a result: a step that is still valid is skipped by its manifest (`pipeline/store/manifest.py`).
"""

import logging
from collections.abc import Callable
from typing import Any, ParamSpec, TypeVar

from prefect import runtime, task
from prefect.cache_policies import NO_CACHE
from prefect.client.schemas.objects import State, TaskRun
from prefect.settings import get_current_settings
from prefect.tasks import Task, exponential_backoff

from flows.crashes import task_reported

P = ParamSpec("P")
R = TypeVar("R")
log = logging.getLogger(__name__)

if not get_current_settings().api.url:  # Prefect is going to start a server in this process
    from flows.embedded import prepare  # imports all of Prefect's server, which takes longer than all other imports

    prepare()


def is_transient(_task: Task[..., Any], _run: TaskRun, state: State[Any]) -> bool:
    """Whether a failed task is worth a retry: an error of a disk, a network or a server may pass, bad input will not.

    Input that changed while it was read is read again by `pipeline.run`, whose earlier steps have read it, too.
    """
    return isinstance(state.result(raise_on_failure=False), OSError)


def as_task(name: str, step: Callable[P, R], /, *args: P.args, **kwargs: P.kwargs) -> R:
    """Call a step as a Prefect task of this name; retry it after a transient error."""

    def attempt(*args: P.args, **kwargs: P.kwargs) -> R:
        log.info("%s: started", name)
        with task_reported(runtime.task_run.id):
            return step(*args, **kwargs)

    return task(
        name=name,
        task_run_name=name,
        retries=3,
        retry_delay_seconds=exponential_backoff(2),
        retry_jitter_factor=0.2,
        retry_condition_fn=is_transient,
        cache_policy=NO_CACHE,
        persist_result=False,
    )(attempt)(*args, **kwargs)
