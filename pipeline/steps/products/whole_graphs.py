"""What opens all of a graph on a worker though ranks hold it in shards: it is said, and refused where the memory is too small."""

import logging
from collections.abc import Iterator

from kernels.registry import BY_NAME
from pipeline.config.model import MIB, bytes_of
from pipeline.config.run import RunConfig
from pipeline.errors import TooLarge
from pipeline.runtime.backend import Backend
from pipeline.runtime.memory import free_memory, whose_memory
from pipeline.store.arrays import bytes_of_arrays
from pipeline.store.manifest import Folder

log = logging.getLogger(__name__)


def on_whole_graphs(config: RunConfig) -> list[str]:
    """The stages and products of a run over shards that open all of the graph on each worker; none without shards."""
    if not config.cluster.shards:
        return []
    stages = [name for name in config.stages if opens_all(config, name)]
    paths = ["paths"] * bool(config.queries and config.queries.witness)
    return [*stages, *["the oracle"] * config.oracle, *paths, *(stage.name for stage in config.custom), *config.of_products]


def opens_all(config: RunConfig, stage: str) -> bool:
    """Whether a stage opens all of a graph that ranks hold in shards: also to make its index by a search of it."""
    return BY_NAME[stage].opens_whole_graph or getattr(config.of_stages.get(stage), "method", "") == "dfs"


def require_whole_graphs(config: RunConfig, graph: Folder, backend: Backend) -> None:
    """Say what needs all of a stored graph on each worker. Raises TooLarge as `require_on_each`."""
    if names := on_whole_graphs(config):
        needed = bytes_of_arrays(graph.path)
        require_on_each(config, needed, backend)
        log.info("%s: workers open all of the graph, %s MiB each, not only shards", ", ".join(names), f"{needed / MIB:,.0f}")


def require_on_each(config: RunConfig, needed: int, backend: Backend, least: str = "") -> None:
    """Raise TooLarge if a worker has no memory for all of the graph, `needed` bytes, or `least` so many."""
    for limit, what in _limits(config, backend):
        if needed > limit:
            raise TooLarge(
                f"{', '.join(on_whole_graphs(config))}: each worker needs all of the graph, {least}{needed / MIB:,.0f} MiB, not "
                f"only its shard, and {limit / MIB:,.0f} MiB are {what}; leave them out, or use a machine that holds the graph"
            )


def _limits(config: RunConfig, backend: Backend) -> Iterator[tuple[int, str]]:
    """The bytes that a worker may take, and what they are."""
    cluster = config.cluster
    if cluster.elsewhere:  # a worker that opens the graph has a memory of its own, and says so there
        return
    if cluster.scheduler == "local" and backend == "cpu" and cluster.memory != "auto":
        yield bytes_of(cluster.memory), "the limit of a worker ([cluster] memory)"
    yield free_memory(backend), f"free {whose_memory(backend)}"
