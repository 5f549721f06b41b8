"""Reports to Prefect's server about a run that a signal ended: abandoned work does not report its own end."""

from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial
from uuid import UUID

from prefect import get_client
from prefect.settings import get_current_settings
from prefect.states import Crashed

from pipeline.signals import cleaned


@contextmanager
def flow_reported(run: str) -> Iterator[None]:
    """Report this run of a flow as crashed if it is abandoned in the block. An embedded server gets no report."""
    with cleaned(partial(_report, "set_flow_run_state", run), only_abandoned=True):
        yield


@contextmanager
def task_reported(run: str) -> Iterator[None]:
    """As `flow_reported`, of a task."""
    with cleaned(partial(_report, "set_task_run_state", run), only_abandoned=True):
        yield


def _report(method: str, run: str) -> None:
    if get_current_settings().api.url:
        with get_client(sync_client=True) as client:
            getattr(client, method)(UUID(run), Crashed(message="ended by a signal"), force=True)
