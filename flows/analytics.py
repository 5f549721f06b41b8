"""The flows: one body, `analyse`, which runs every stage that a run's file requests, and a flow for each kind of network."""

from collections.abc import Callable
from contextlib import nullcontext
from functools import partial
from pathlib import Path
from threading import current_thread, main_thread
from typing import Any

from prefect import Flow, flow, runtime

from flows.artifacts import show
from flows.crashes import flow_reported
from flows.results import remove_exception
from flows.tasks import as_task
from pipeline.changes.arrivals import apply_arrivals
from pipeline.config.loading import load_run
from pipeline.config.model import Choice, Vertex
from pipeline.errors import BadConfig
from pipeline.run import run as run_steps
from pipeline.runtime.interpreter import prepare_interpreter
from pipeline.signals import apart
from pipeline.store.manifest import Folder


def run_name() -> str:
    """Name of a flow's run in Prefect: that of its file."""
    return Path(runtime.flow_run.parameters["run"]).stem


@flow(name="road-network", flow_run_name=run_name, persist_result=False, on_failure=[remove_exception])
def road_network(
    run: str = "conf/runs/new-york.toml",
    sources: list[Vertex] | None = None,
    backend: Choice | None = None,
    publish_as: str | None = None,
) -> Folder:
    """Analyse a road network: distances, spanning forest, components.

    Args:
        run: The run's file.
        sources: The crossings to measure from: external ids, or places LON,LAT; they replace the file's.
        backend: Where the run computes; it replaces the file's: `cpu`, `gpu`, or `auto`, the GPU if there is one.
        publish_as: Name of the link to the run; `latest` replaces that also if it is the result of other parameters.
    """
    return analyse(run, sources=sources, backend=backend, publish_as=publish_as)


@flow(name="social-network", flow_run_name=run_name, persist_result=False, on_failure=[remove_exception])
def social_network(
    run: str = "conf/runs/facebook.toml",
    sources: list[Vertex] | None = None,
    backend: Choice | None = None,
    publish_as: str | None = None,
) -> Folder:
    """Analyse a social network: components, hops between people, backbone, PageRank.

    Args:
        run: The run's file.
        sources: The people to count hops from, by their ids; they replace the file's.
        backend: Where the run computes; it replaces the file's: `cpu`, `gpu`, or `auto`, the GPU if there is one.
        publish_as: Name of the link to the run; `latest` replaces that also if it is the result of other parameters.
    """
    return analyse(run, sources=sources, backend=backend, publish_as=publish_as)


@flow(name="reachability", flow_run_name=run_name, persist_result=False, on_failure=[remove_exception])
def reachability(
    run: str = "conf/runs/wiki-vote.toml",
    pairs: str | None = None,
    witness: bool | None = None,
    backend: Choice | None = None,
    publish_as: str | None = None,
) -> Folder:
    """Build and prove the reachability index of a directed graph, and answer the pairs of a file with it.

    A step whose inputs have not changed is skipped: the index if the graph is the same, the answers if the pairs are, too.

    Args:
        run: The run's file; stage reachability is among its stages.
        pairs: A Parquet file with columns `src` and `dst`; it replaces the file's.
        witness: Whether to write table `paths`, too; it replaces the file's.
        backend: Where the run computes; it replaces the file's: `cpu`, `gpu`, or `auto`, the GPU if there is one.
        publish_as: Name of the link to the run; `latest` replaces that also if it is the result of other parameters.
    """
    return analyse(run, given(pairs=pairs, witness=witness), needs_pairs=True, backend=backend, publish_as=publish_as)


@flow(name="graph-changes", flow_run_name=run_name, persist_result=False, on_failure=[remove_exception])
def graph_changes(
    run: str = "conf/runs/facebook-changes.toml",
    arrivals: str | None = None,
    backend: Choice | None = None,
    publish_as: str | None = None,
) -> Folder:
    """Apply the files of changes that have arrived in a folder to a graph, in the order of their names, each once.

    Each file gives a run with change tables. The first time, the graph's source is read. A file that cannot be applied ends the
    flow; those before it are applied, those behind it wait.

    Args:
        run: The run's file.
        arrivals: The folder, or a URL of one; it replaces `arrivals` in the file's table `[changes]`.
        backend: Where the run computes; it replaces the file's: `cpu`, `gpu`, or `auto`, the GPU if there is one.
        publish_as: Name of the link to the newest run, by default `latest`.
    """
    more = given(backend=backend, publish_as=publish_as)
    config = load_run(Path(run), {"changes": {"arrivals": arrivals}} if arrivals else None, **more)
    return apply_arrivals(config, as_task, _shown)


def given(**values: Any) -> dict[str, Any]:
    """The values that are not None."""
    return {name: value for name, value in values.items() if value is not None}


def analyse(run: str, queries: dict[str, Any] | None = None, *, needs_pairs: bool = False, **changes: Any) -> Folder:
    """Execute a run's file as tasks and show the result in Prefect.

    `queries` and those of `changes` that are not None replace the file's values. Raises BadConfig where `needs_pairs` and there
    are none; otherwise as `pipeline.run.run`.
    """
    config = load_run(Path(run), {"queries": queries} if queries else None, **given(**changes))
    if needs_pairs and config.queries is None:
        raise BadConfig(f"{run}: has no pairs; name their file in table [queries], or pass it to the flow")
    return _shown(partial(run_steps, config, as_task))


def _shown(work: Callable[[], Folder]) -> Folder:
    """Do the work of a run, and show the result in Prefect."""
    prepare_interpreter()
    # In Prefect's own process this is the main thread, in which its handler of signals raises an exception, and which it reports.
    ours = nullcontext() if current_thread() is main_thread() else flow_reported(runtime.flow_run.id)
    with ours:
        published = apart(work)
        as_task("artifacts", show, published)
    return published


FLOWS: dict[str, Flow[..., Folder]] = {
    "road-network": road_network,
    "social-network": social_network,
    "reachability": reachability,
    "graph-changes": graph_changes,
}
