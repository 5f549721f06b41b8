"""Deployments on a Prefect server: set up those of a file, with notifications, and run one of them while watching it."""

import asyncio
import json
import subprocess
import sys
from collections.abc import Iterator
from datetime import timedelta
from functools import partial
from pathlib import Path
from typing import Any
from uuid import UUID

import yaml
from apprise import Apprise
from prefect.blocks.notifications import CustomWebhookNotificationBlock, SlackWebhook
from prefect.cli.flow_runs_watching import watch_flow_run
from prefect.client.orchestration import SyncPrefectClient, get_client
from prefect.client.schemas.actions import WorkPoolCreate, WorkPoolUpdate
from prefect.client.schemas.objects import FlowRun
from prefect.deployments.flow_runs import arun_deployment
from prefect.events.actions import SendNotification
from prefect.events.schemas.automations import AutomationCore, EventTrigger, Posture
from prefect.exceptions import ObjectNotFound
from prefect.settings import get_current_settings
from rich.console import Console

from pipeline.config.loading import load_run
from pipeline.errors import BadConfig, GraphmillError
from pipeline.signals import foreseen

CLONE = Path(__file__).parents[1]
BLOCK = "graphmill"  # the name of the block with the address of notifications
LONGEST = timedelta(days=3650)  # between a failure and the recovery from it
# States of a run that are reported: also a run that has not started 15 s after its time (Prefect's default).
BAD = {f"prefect.flow-run.{state}" for state in ("Failed", "Crashed", "TimedOut", "Late")}
WHICH = "{{ flow.name }}/{{ deployment.name }}"
# A refused result is a failed run, as one with an error is.
STATE = "{{ 'Refused' if ' Refused: ' in (flow_run.state.message or '') else flow_run.state.name }}"
BODY = "{{ flow_run.state.message or flow_run.state.name }}\nRun {{ flow_run.name }}: {{ flow_run | ui_url }}"


class RunFailed(GraphmillError):
    """A run of a deployment that did not end well; the message is its own."""


def deploy(file: Path, notify: Path | None = None) -> None:
    """Deploy what a file in the format of prefect.yaml lists, to work pools that run, and set up notifications.

    Deploying again changes what exists. A paused work pool is resumed.

    Args:
        file: The deployments. The run's file of each, parameter `run`, is checked before anything is deployed.
        notify: A file with the address of notifications, which is a secret: see `_block`. Without it nothing is changed.

    Raises:
        BadConfig: No server is configured, the file lists no deployments, a run's file is wrong, or the address is.
    """
    _require_server()
    pools = _pools(file)
    with get_client(sync_client=True) as client:
        for pool in pools:
            _ready(client, pool)
        prefect = [sys.executable, "-m", "prefect", "--no-prompt", "deploy", "--all", "--prefect-file", str(file.absolute())]
        if subprocess.run(prefect, cwd=CLONE, check=False).returncode:
            raise BadConfig(f"{file}: could not be deployed; Prefect printed the reason above")
        if notify:
            block = _block(notify)
            for automation in (found for pool in pools for found in automations(pool, block)):
                _set_up(client, automation)
                print(f"{automation.name}: is set up")


def _require_server() -> None:
    if not get_current_settings().api.url:
        raise BadConfig("PREFECT_API_URL is not set: it is the address of the server (docs/operations.md)")


def _pools(file: Path) -> list[str]:
    """The work pools of a file's deployments, whose runs are checked."""
    try:
        content = yaml.safe_load(file.read_text(encoding="utf-8"))
        deployments = content["deployments"]
        found = [(entry["parameters"]["run"], entry["work_pool"]["name"]) for entry in deployments]
    except (yaml.YAMLError, UnicodeDecodeError, KeyError, TypeError) as error:
        raise BadConfig(f"{file}: does not list deployments with a work pool and parameter `run` ({error})") from None
    for run, _ in found:
        load_run(CLONE / run)
    return sorted({pool for _, pool in found})


def _ready(client: SyncPrefectClient, pool: str) -> None:
    """Make sure that a work pool exists and gives runs to its workers."""
    try:
        paused = client.read_work_pool(pool).is_paused
    except ObjectNotFound:
        client.create_work_pool(WorkPoolCreate(name=pool, type="process"))
        print(f"work pool {pool}: is created")
    else:
        if paused:
            client.update_work_pool(pool, WorkPoolUpdate(is_paused=False))
            print(f"work pool {pool}: was paused, and is resumed")


def _block(notify: Path) -> UUID:
    """Store the address of notifications in Prefect, encrypted, and return its block's number.

    `http(s)://` receives a POST of JSON with `subject`, `body` and `text`, which is both, as chats expect it. Any other is an
    address of Apprise, such as `mailtos://USER:PASSWORD@HOST?to=ADDRESS` for e-mail.
    """
    try:
        address = notify.read_text(encoding="utf-8").strip()
    except (OSError, UnicodeDecodeError) as error:
        raise BadConfig(f"{notify}: {getattr(error, 'strerror', None) or 'is not text'}") from None
    if "://" not in address or len(address.split()) != 1:
        raise BadConfig(f"{notify}: is not one address such as https://HOST/PATH or mailtos://USER:PASSWORD@HOST?to=ADDRESS")
    if address.startswith(("http://", "https://")):
        texts = {"subject": "{{subject}}", "body": "{{body}}", "text": "{{subject}}\n{{body}}"}
        webhook = CustomWebhookNotificationBlock(name=BLOCK, url="{{address}}", json_data=texts, secrets={"address": address})
        return asyncio.run(webhook.asave(BLOCK, overwrite=True))
    if not Apprise().add(address):
        raise BadConfig(f"{notify}: is not an address that Apprise knows")
    return asyncio.run(SlackWebhook(url=address).asave(BLOCK, overwrite=True))  # Prefect's one block that takes any of them


def automations(pool: str, block: UUID) -> Iterator[AutomationCore]:
    """The automations that report failures of a work pool's runs, and the first success of a deployment after one."""
    of_pool = {"prefect.resource.role": "work-pool", "prefect.resource.name": pool}
    trigger = partial(
        EventTrigger, match={"prefect.resource.id": "prefect.flow-run.*"}, match_related=of_pool, posture=Posture.Reactive
    )
    deployment = {"related:deployment:prefect.resource.id"}
    failed = trigger(expect=BAD)
    recovered = trigger(after=BAD, expect={"prefect.flow-run.Completed"}, for_each=deployment, within=LONGEST)
    for name, what, fired in (("failures", STATE, failed), ("recoveries", "runs again", recovered)):
        action = SendNotification(block_document_id=block, subject=f"graphmill: {WHICH}: {what}", body=BODY)
        yield AutomationCore(name=f"{pool}: {name}", description="By python -m flows deploy.", trigger=fired, actions=[action])


def _set_up(client: SyncPrefectClient, automation: AutomationCore) -> None:
    """Create an automation, or replace those of its name."""
    for found in client.read_automations_by_name(automation.name):
        client.delete_automation(found.id)
    client.create_automation(automation)


def start(name: str, parameters: dict[str, Any]) -> None:
    """Run a deployment now and show its log until it ends. Raises RunFailed with the reason unless it was published."""
    _require_server()

    async def watched() -> FlowRun:
        try:
            run = await arun_deployment(name, parameters=parameters, timeout=0, as_subflow=False)
        except (ObjectNotFound, ValueError) as error:
            raise BadConfig(f"{name}: cannot be run: {error}") from None
        return await watch_flow_run(run.id, Console(soft_wrap=True))

    with foreseen(lambda: "the run goes on; `prefect flow-run ls` shows it, `prefect flow-run cancel ID` ends it"):
        state = asyncio.run(watched()).state
    if not (state and state.is_completed()):
        raise RunFailed(f"{name}: {state.name if state else 'unknown'}: {(state and state.message) or 'no reason is known'}")
    print(f"{name}: published")


def parameters_of(arguments: list[str]) -> dict[str, Any]:
    """Parameters written as NAME=VALUE; a value is JSON or, if it is not, text. Raises BadConfig."""
    found = {}
    for argument in arguments:
        name, equals, value = argument.partition("=")
        if not equals:
            raise BadConfig(f"{argument}: is not NAME=VALUE")
        try:
            found[name] = json.loads(value)
        except ValueError:
            found[name] = value
    return found
