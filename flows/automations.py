"""Automations of Prefect's server: notifications of failures and recoveries, and the end of runs whose process is gone."""

import asyncio
from collections.abc import Iterator
from datetime import timedelta
from functools import partial
from pathlib import Path
from uuid import UUID

from apprise import Apprise
from prefect.blocks.notifications import CustomWebhookNotificationBlock, SlackWebhook
from prefect.client.orchestration import SyncPrefectClient
from prefect.client.schemas.objects import StateType
from prefect.events.actions import ChangeFlowRunState, SendNotification
from prefect.events.schemas.automations import AutomationCore, EventTrigger, Posture

from pipeline.errors import BadConfig

BLOCK = "graphmill"  # the name of the block with the address of notifications
LONGEST = timedelta(days=3650)  # between a failure and the recovery from it
# Without a sign of life a run is lost: three of Prefect's heartbeats, one every 3 minutes, have not come.
LOST = timedelta(minutes=10)
# States of a run that are reported: also a run that has not started 15 s after its time (Prefect's default).
BAD = {"Failed", "Crashed", "TimedOut", "Late"}
BEGUN = {"Pending", "Submitting", "InfrastructurePending", "Running"}  # states that a worker or a process has to end
ENDED = {"Completed", "Failed", "TimedOut", "Crashed", "Cancelling", "Cancelled"}
WAITING = {"Scheduled", "Late", "AwaitingConcurrencySlot", "AwaitingRetry", "Retrying", "Paused", "Suspended"}
HEARTBEAT = "prefect.flow-run.heartbeat"
WHICH = "{{ flow.name }}/{{ deployment.name }}"
# A refused result is a failed run, as one with an error is.
STATE = "{{ 'Refused' if ' Refused: ' in (flow_run.state.message or '') else flow_run.state.name }}"
BODY = "{{ flow_run.state.message or flow_run.state.name }}\nRun {{ flow_run.name }}: {{ flow_run | ui_url }}"


def block_of(notify: Path) -> UUID:
    """Store the address of notifications in Prefect, encrypted, and return its block's number.

    `http(s)://` receives a POST of JSON with `subject`, `body` and `text`, which is both, as chats expect it. Any other is an
    address of Apprise, such as `mailtos://USER:PASSWORD@HOST?to=ADDRESS` for e-mail. Raises BadConfig if the file has none.
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


def notifications(pool: str, block: UUID) -> Iterator[AutomationCore]:
    """The automations that report failures of a work pool's runs, and the first success of a deployment after one."""
    trigger = partial(_trigger, pool, posture=Posture.Reactive)
    deployment = {"related:deployment:prefect.resource.id"}
    failed = trigger(expect=_events(BAD))
    recovered = trigger(after=_events(BAD), expect=_events({"Completed"}), for_each=deployment, within=LONGEST)
    for name, what, fired in (("failures", STATE, failed), ("recoveries", "runs again", recovered)):
        action = SendNotification(block_document_id=block, subject=f"graphmill: {WHICH}: {what}", body=BODY)
        yield AutomationCore(name=f"{pool}: {name}", description="By python -m flows deploy.", trigger=fired, actions=[action])


def lost_runs(pool: str, within: timedelta = LOST) -> AutomationCore:
    """The automation that reports a run as crashed `within` this time after its last sign of life.

    A worker reports the end of a process that it has started, but not if it ends itself at that moment, as in a power cut. The
    run would stay Running and hold its deployment's slot. A run that goes on all the same states its own end later, which
    replaces this one. Prefect refuses the change for a run that has ended.
    """
    alive = _events(BEGUN) | {HEARTBEAT}
    silent = _trigger(
        pool,
        after=alive,
        expect=alive | _events(ENDED | WAITING),
        for_each={"prefect.resource.id"},
        posture=Posture.Proactive,
        threshold=1,
        within=within,
    )
    message = f"no sign of life for {within.total_seconds() / 60:g} minutes: the process, its worker or the machine has ended"
    crashed = ChangeFlowRunState(name="Crashed", state=StateType.CRASHED, message=message)
    return AutomationCore(name=f"{pool}: lost runs", description="By python -m flows deploy.", trigger=silent, actions=[crashed])


def _events(states: set[str]) -> set[str]:
    return {f"prefect.flow-run.{state}" for state in states}


def _trigger(pool: str, **rest: object) -> EventTrigger:
    """A trigger on the runs of a work pool."""
    of_pool = {"prefect.resource.role": "work-pool", "prefect.resource.name": pool}
    every = {"match": {"prefect.resource.id": "prefect.flow-run.*"}, "match_related": of_pool}
    return EventTrigger.model_validate(every | rest)


def set_up(client: SyncPrefectClient, automation: AutomationCore) -> None:
    """Create an automation, or replace those of its name."""
    for existing in client.read_automations_by_name(automation.name):
        client.delete_automation(existing.id)
    client.create_automation(automation)
