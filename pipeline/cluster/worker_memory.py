"""Why workers are gone: their nannies end those that take more memory than their limit, and tell the scheduler."""

from typing import Any

from pipeline.addresses import address_space
from pipeline.config.cluster import ClusterConfig
from pipeline.runtime.memory import control_groups, kills, machine
from pipeline.units import size

TOPIC = "worker-restart-memory"  # Dask's name for these events


def ends(client: Any) -> int:
    """How often any worker was ended for its memory since the scheduler started; 0 if it does not say."""
    try:
        return len(client.get_events(TOPIC))
    except Exception:  # the connection may be what broke
        return 0


def out_of_memory(client: Any, config: ClusterConfig, worker: str | None = None, over_shards: bool = False) -> str:
    """The end of a sentence about lost workers: that it was their memory, what they took, and what to change.

    Args:
        client: Dask's client.
        worker: The address of a worker of a scheduler that other runs use, too; None for any.
        over_shards: Whether the workers held a graph together, so that each needs less if there are more of them.

    Returns:
        Empty if no worker was ended for its memory, or the scheduler does not say.
    """
    try:
        events: list[dict[str, Any]] = [event for _, event in client.get_events(TOPIC)]
        limits = {of["memory_limit"] for of in client.scheduler_info(n_workers=-1)["workers"].values()}
    except Exception:  # the connection may be what broke
        return ""
    of_run = config.scheduler == "local" or worker is None
    taken = [event["rss"] for event in events if of_run or event["worker"] == worker]
    if not taken:
        return ""
    limit = f", {size(min(limits))}" if limits else ""
    if config.scheduler == "local":
        stated = f"{config.memory}{limit}" if config.memory == "auto" else config.memory
        more = "divide the graph over more `workers` and `shards`" if over_shards else "run fewer `workers`"
        change = f"their limit is {stated} ([cluster] memory); raise it, or {more}"
    else:
        more = "divide the graph over more workers and `shards`" if over_shards else "start fewer on a host"
        change = f"their limit{limit} is the option --memory-limit of `dask worker`; raise it, or {more}"
    return f", because workers were ended for their memory: they took up to {size(max(taken))}, and {change}"


def ended_by_kernel(config: ClusterConfig, before: int) -> str:
    """The end of a sentence about lost workers if no nanny says why: that the kernel ended them, or may have refused memory.

    Args:
        before: The value of `kills` when the run began.
    """
    if config.scheduler != "local":
        return ""
    if kills() > before:
        groups = [(group.bytes, f"control group {group.folder.name} allows") for group in control_groups()]
        most, where = min([*groups, (machine()[0], "this machine has")])
        return f"; the kernel ended processes for their memory: {where} {size(most)}; give the run more, or run fewer `workers`"
    if space := address_space():
        return f"; {size(space[0])} of addresses, which `ulimit -v` allows to each, may be too little memory"
    return ""
