"""Deployments: what a file like prefect.yaml lists is checked, deployed and, where it no longer lists it, removed."""

import subprocess
import sys
from pathlib import Path
from typing import Any, NamedTuple

import yaml
from prefect.client.orchestration import SyncPrefectClient, get_client
from prefect.client.schemas.actions import WorkPoolCreate, WorkPoolUpdate
from prefect.client.schemas.filters import DeploymentFilter, WorkPoolFilter
from prefect.client.schemas.objects import DeploymentSchedule
from prefect.client.schemas.schedules import IntervalSchedule
from prefect.exceptions import ObjectNotFound

from flows import analytics, runs
from flows.automations import block_of, lost_runs, notifications, set_up
from flows.parameters import checked
from flows.server import address, asking
from pipeline.config.loading import load_run
from pipeline.errors import BadConfig
from pipeline.signals import foreseen
from pipeline.suggestions import did_you_mean

CLONE = Path(__file__).parents[1]
OURS = "flows/analytics.py:"  # how the entrypoints of this project's flows begin
TEXTS = (("name",), ("entrypoint",), ("work_pool", "name"), ("parameters", "run"))  # values of a deployment that are texts


class ListedDeployment(NamedTuple):
    """What the file states about one deployment."""

    name: str
    entrypoint: str
    pool: str
    schedules: list[dict[str, Any]]


def deploy(file: Path, notify: Path | None = None) -> None:
    """Deploy what a file in the format of prefect.yaml lists, to work pools that run, and set up automations.

    Deploying again changes what exists, and removes schedules that the file no longer has. A paused work pool is resumed.

    Args:
        file: The deployments. The run's file of each, parameter `run`, is checked before anything is deployed.
        notify: A file with the address of notifications, which is a secret: see `block_of`. Without it they are not changed.

    Raises:
        BadConfig: No server is configured or it does not answer, the file lists no deployments, a run's file is wrong, or the
            address is.
    """
    address()
    listed = _listed(file)
    pools = sorted({one.pool for one in listed})
    with asking(), get_client(sync_client=True) as client:
        for pool in pools:
            _ready(client, pool)
        prefect = [sys.executable, "-m", "prefect", "--no-prompt", "deploy", "--all", "--prefect-file", str(file.absolute())]
        if subprocess.run(prefect, cwd=CLONE, check=False).returncode:
            raise BadConfig(f"{file}: could not be deployed; Prefect printed the reason above")
        _remove_schedules(client, file, listed)
        block = block_of(notify) if notify else None
        for pool in pools:
            for automation in (lost_runs(pool), *(notifications(pool, block) if block else ())):
                set_up(client, automation)
                print(f"{automation.name}: is set up")
            runs.watch_again(client, pool)


def pause(file: Path) -> None:
    """Pause the work pools of what a file lists, and wait until their runs have ended. Raises BadConfig."""
    pools = sorted({entry["work_pool"]["name"] for entry in _entries(file)})
    paused = foreseen(lambda: "the work pools stay paused; `python -m flows deploy` resumes them")
    with paused, asking(), get_client(sync_client=True) as client:
        runs.pause(client, pools)


def _entries(file: Path) -> list[dict[str, Any]]:
    """What a file states of each deployment; the values at `TEXTS` are there, and texts."""
    try:
        text = file.read_text(encoding="utf-8")
        entries = yaml.safe_load(text)["deployments"]
        written = yaml.load(text, yaml.BaseLoader)["deployments"]  # noqa: S506, because it makes texts of all values
        for number, (entry, as_written) in enumerate(zip(entries, written, strict=True), 1):
            for path in TEXTS:
                _require_text(f"{file}: deployment {number}", path, entry, as_written)
    except OSError as error:
        raise BadConfig(f"{file}: {error.strerror}") from None
    except (yaml.YAMLError, UnicodeDecodeError, KeyError, TypeError) as error:
        raise BadConfig(f"{file}: does not list deployments with a work pool and parameter `run` ({error})") from None
    return list(entries)


def _listed(file: Path) -> list[ListedDeployment]:
    """The deployments of a file, whose runs and parameters are checked."""
    return [_checked(file, entry) for entry in _entries(file)]


def _checked(file: Path, entry: dict[str, Any]) -> ListedDeployment:
    one = ListedDeployment(entry["name"], entry["entrypoint"], entry["work_pool"]["name"], entry.get("schedules") or [])
    load_run(CLONE / entry["parameters"]["run"])
    if one.entrypoint.startswith(OURS):
        function = one.entrypoint.removeprefix(OURS)
        flows = {flow.fn.__name__: flow for flow in analytics.FLOWS.values()}
        if function not in flows:
            raise BadConfig(f"{file}: {one.name}: there is no flow {one.entrypoint}{did_you_mean(function, flows)}")
        checked(f"{file}: {one.name}", flows[function], entry["parameters"])
    return one


def _require_text(file: str, path: tuple[str, ...], entry: Any, as_written: Any) -> None:
    """Raise BadConfig for a value that YAML reads as a number, a truth value or nothing, such as `2024`, `on` or `null`."""
    for key in path:
        entry, as_written = entry[key], as_written[key]
    if not isinstance(entry, str):
        kind = "nothing" if entry is None else type(entry).__name__
        raise BadConfig(f'{file}: {".".join(path)}: YAML reads {as_written} as {kind}, not as text; write it as "{as_written}"')


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


def _remove_schedules(client: SyncPrefectClient, file: Path, listed: list[ListedDeployment]) -> None:
    """Remove what Prefect keeps: schedules that the file no longer has. Name deployments that it does not list."""
    names = {flow.id: flow.name for flow in client.read_flows()}
    for pool in sorted({one.pool for one in listed}):
        of_pool = WorkPoolFilter.model_validate({"name": {"any_": [pool]}})
        for deployment in client.read_deployments(work_pool_filter=of_pool, deployment_filter=DeploymentFilter()):
            name = f"{names.get(deployment.flow_id)}/{deployment.name}"
            same = [one for one in listed if (one.name, one.entrypoint) == (deployment.name, deployment.entrypoint)]
            if not same and any(schedule.active for schedule in deployment.schedules):
                print(f"{name}: is not in {file}, and stays with its schedules; `prefect deployment delete {name}` removes it")
            for schedule in deployment.schedules if same else ():
                if not any(_is(schedule, stated) for stated in same[0].schedules):
                    client.delete_deployment_schedule(deployment.id, schedule.id)
                    print(f"{name}: its schedule {_shown(schedule)} is no longer in {file}, and is removed")


def _is(schedule: DeploymentSchedule, stated: dict[str, Any]) -> bool:
    """Whether a schedule is the one that the file states: by its slug or, without one, by what it is."""
    if schedule.slug or stated.get("slug"):
        return schedule.slug == stated.get("slug")
    if "interval" in stated:
        return (
            isinstance(schedule.schedule, IntervalSchedule) and schedule.schedule.interval.total_seconds() == stated["interval"]
        )
    return _shown(schedule) == str(stated.get("cron") or stated.get("rrule"))


def _shown(schedule: DeploymentSchedule) -> str:
    kind = schedule.schedule
    timing = str(getattr(kind, "cron", None) or getattr(kind, "rrule", None) or getattr(kind, "interval", None))
    return f"{timing} ({schedule.slug})" if schedule.slug else timing
