"""Run a deployment now, and show its log until it ends."""

import time
from collections.abc import Iterator
from datetime import timedelta
from ipaddress import ip_address
from pathlib import Path
from urllib.parse import urlsplit
from uuid import UUID

from prefect.client.orchestration import SyncPrefectClient, get_client
from prefect.client.schemas.filters import LogFilter
from prefect.client.schemas.objects import FlowRun, Log
from prefect.client.schemas.responses import DeploymentResponse
from prefect.exceptions import ObjectNotFound

from flows.analytics import FLOWS
from flows.parameters import ParameterText, checked
from flows.server import address, asking
from pipeline.errors import BadConfig, GraphmillError
from pipeline.signals import foreseen
from pipeline.suggestions import did_you_mean

LOOK = 1.0  # seconds between two looks
AFTER_END = 8  # looks for the last lines of a run that has ended: its process sends them later, every 2 s
LAST = "Finished in state "  # how the last line of a run begins whose process was not killed
PAGE = 200  # lines that the server returns at a time
SPREAD = timedelta(seconds=10)  # lines of worker and run may arrive in another order than that of their times


class RunFailed(GraphmillError):
    """A run of a deployment that did not end well; the message is its own."""


def start(name: str, parameters: dict[str, ParameterText]) -> None:
    """Run a deployment now and show its log until it ends.

    Raises:
        BadConfig: There is no such deployment, its clone was moved, it does not take the parameters, or no server answers.
        RunFailed: The run was not published; the message is its reason.
    """
    with asking(), get_client(sync_client=True) as client:
        deployment = _find(client, name)
        _require_clone(name, deployment)
        flow = FLOWS.get(name.partition("/")[0])
        values = checked(name, flow, parameters) if flow else dict(parameters)
        run = client.create_flow_run_from_deployment(deployment.id, parameters=values)
        with foreseen(lambda: "the run goes on; `prefect flow-run ls` shows it, `prefect flow-run cancel ID` ends it"):
            state = _watched(client, name, run.id).state
    if not (state and state.is_completed()):
        raise RunFailed(f"{name}: {state.name if state else 'unknown'}: {(state and state.message) or 'no reason is known'}")
    print(f"{name}: published")


def _find(client: SyncPrefectClient, name: str) -> DeploymentResponse:
    try:
        return client.read_deployment_by_name(name)
    except (ObjectNotFound, ValueError):
        flows = {flow.id: flow.name for flow in client.read_flows()}
        known = sorted(f"{flows.get(one.flow_id)}/{one.name}" for one in client.read_deployments())
        there = f"there are {', '.join(known)}" if known else "there are none"
        way = "`python -m flows deploy` makes those of prefect.yaml"
        raise BadConfig(f"{name}: no such deployment; {there}{did_you_mean(name, known)}; {way}") from None


def _require_clone(name: str, deployment: DeploymentResponse) -> None:
    """Raise BadConfig if the worker, which is on the server's machine, would not find the clone that was deployed."""
    if not _is_here(address()):
        return
    for step in deployment.pull_steps or []:
        folder = step.get("prefect.deployments.steps.set_working_directory", {}).get("directory")
        if folder and not Path(folder).is_dir():
            raise BadConfig(f"{name}: its clone {folder} is no longer there; deploy again from where it is now")


def _is_here(url: str) -> bool:
    host = urlsplit(url).hostname or ""
    try:
        return ip_address(host).is_loopback
    except ValueError:
        return host == "localhost"


def _watched(client: SyncPrefectClient, name: str, number: UUID) -> FlowRun:
    """Print the states and the log of a run, until it has ended and its last line has come. Raises RunFailed if it is deleted."""
    shown: dict[UUID, Log] = {}
    state: str | None = None
    left = AFTER_END
    while True:
        try:
            run = client.read_flow_run(number)
        except ObjectNotFound:
            raise RunFailed(f"{name}: the run was deleted") from None
        fresh = [line for line in _lines(client, number, shown) if line.id not in shown]
        for line in fresh:
            shown[line.id] = line
            print(f"{line.timestamp.astimezone():%H:%M:%S}  {line.message}", flush=True)
        if run.state and run.state.is_final():
            left -= 1
            if not left or any(line.message.startswith(LAST) for line in shown.values()):
                return run
        elif run.state and run.state.name != state:
            state = run.state.name
            print(f"{name}: {state}", flush=True)
        time.sleep(LOOK)


def _lines(client: SyncPrefectClient, number: UUID, shown: dict[UUID, Log]) -> Iterator[Log]:
    """The lines of a run's log, from shortly before the newest one that was shown."""
    newest = max((line.timestamp for line in shown.values()), default=None)
    since = {"timestamp": {"after_": newest - SPREAD}} if newest else {}
    log_filter = LogFilter.model_validate({"flow_run_id": {"any_": [number]}, **since}).model_dump(mode="json")
    page, offset = None, 0
    while page is None or page:
        body = {"logs": log_filter, "offset": offset, "limit": PAGE, "sort": "TIMESTAMP_ASC"}
        page = [Log.model_validate(line) for line in client.request("POST", "/logs/filter", json=body).json()]
        yield from page
        offset += len(page)
