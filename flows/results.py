"""Results in Prefect's storage, of which a flow leaves none."""

from pathlib import Path
from typing import Any

from prefect import Flow
from prefect.client.schemas.objects import FlowRun, State


def remove_exception(flow: Flow[..., Any], flow_run: FlowRun, state: State[Any]) -> None:
    """Remove the file in which Prefect has stored the exception of a failed flow, in spite of `persist_result=False`.

    It would stay for ever, and nobody reads it: the state has the exception's message.
    """
    stored = getattr(state.data, "metadata", None)
    if stored and stored.storage_block_id is None:
        Path(stored.storage_key).unlink(missing_ok=True)
