"""Results in Prefect's storage, of which a flow leaves none."""

from pathlib import Path
from typing import Any

from prefect import Flow
from prefect.client.schemas.objects import FlowRun, State
from prefect.results import ResultRecord


def remove_exception(_flow: Flow[..., Any], _run: FlowRun, state: State[Any]) -> None:
    """Remove the file in which Prefect has stored the exception of a failed flow, in spite of `persist_result=False`.

    It would stay for ever, and nobody reads it: the state has the exception's message.
    """
    if isinstance(state.data, ResultRecord) and state.data.metadata.storage_block_id is None:
        Path(str(state.data.metadata.storage_key)).unlink(missing_ok=True)
