"""Runs of a work pool that have begun: waiting for their end before a stop, and watching those that a stop has left."""

import time
from collections.abc import Sequence

from prefect.client.orchestration import SyncPrefectClient
from prefect.client.schemas.actions import WorkPoolUpdate
from prefect.client.schemas.filters import FlowRunFilter, WorkPoolFilter
from prefect.client.schemas.objects import FlowRun, StateType
from prefect.events import Event
from prefect.exceptions import ObjectNotFound
from prefect.states import Cancelling

from flows.automations import HEARTBEAT
from pipeline.errors import BadConfig

BEGUN = (StateType.PENDING, StateType.RUNNING, StateType.CANCELLING)
LOOK = 1.0  # seconds between two looks
QUIET = 3  # looks without a run, after which none begins: a worker may have been given one just before the pool was paused


def pause(client: SyncPrefectClient, pools: Sequence[str]) -> None:
    """Give no more runs to the workers of work pools, and wait until all that have begun have ended. Raises BadConfig."""
    for pool in pools:
        try:
            client.update_work_pool(pool, WorkPoolUpdate(is_paused=True))
        except ObjectNotFound:
            raise BadConfig(f"work pool {pool}: there is none; `python -m flows deploy` makes it") from None
        print(f"work pool {pool}: is paused", flush=True)
    shown, quiet = "", 0
    while quiet < QUIET:
        left = [run for pool in pools for run in begun(client, pool)]
        quiet = 0 if left else quiet + 1
        waits = ", ".join(sorted(f"{run.name} ({run.state_name}, {run.id})" for run in left))
        if waits not in ("", shown):
            print(f"waiting for {waits}", flush=True)
            shown = waits
        time.sleep(LOOK)
    print("no run is left", flush=True)


def watch_again(client: SyncPrefectClient, pool: str) -> None:
    """Begin to wait anew for signs of life of all runs that have begun.

    A server that is stopped may not have noted the last one, and it forgets when it wanted to end a run that is being cancelled.
    """
    of_pool = {
        "prefect.resource.id": f"prefect.work-pool.{client.read_work_pool(pool).id}",
        "prefect.resource.role": "work-pool",
        "prefect.resource.name": pool,
    }
    events = []
    for run in begun(client, pool):
        if run.state_type == StateType.CANCELLING:
            client.set_flow_run_state(run.id, Cancelling(), force=True)
        else:
            resource = {"prefect.resource.id": f"prefect.flow-run.{run.id}", "prefect.resource.name": run.name}
            sign = Event.model_validate({"event": HEARTBEAT, "resource": resource, "related": [of_pool]})
            events.append(sign.model_dump(mode="json"))
        print(f"{run.name}: has begun before ({run.state_name}); without a sign of life it is ended")
    if events:
        client.request("POST", "/events", json=events)


def begun(client: SyncPrefectClient, pool: str) -> list[FlowRun]:
    """The runs of a work pool that a worker or a process has to end."""
    in_state = FlowRunFilter.model_validate({"state": {"type": {"any_": BEGUN}}})
    of_pool = WorkPoolFilter.model_validate({"name": {"any_": [pool]}})
    return client.read_flow_runs(flow_run_filter=in_state, work_pool_filter=of_pool)
