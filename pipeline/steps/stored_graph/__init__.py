"""The stored graph that a user names: that of a published run, or one that is laid out from a graph file or a TOML file."""

import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from pipeline.cluster.start import started
from pipeline.config.effects import require_effect
from pipeline.config.loading import load_run, run_config
from pipeline.config.model import Snap
from pipeline.config.products import GraphOptions
from pipeline.config.run import RunConfig, output_folder, workplace
from pipeline.errors import BadConfig
from pipeline.ingest import ingest
from pipeline.runtime.backend import choose
from pipeline.steps.layout import lay_out, suited
from pipeline.steps.runtime import Runtime, lays_out_here
from pipeline.steps.turns import SPLIT, TURNED
from pipeline.store.deltas import ATTACHED, EDGES, GRAPHS
from pipeline.store.edges import HeldEdges
from pipeline.store.facts import EdgeFacts
from pipeline.store.manifest import Folder, check, find
from pipeline.store.workspace import find_run, holds_runs, shared_workspace

if TYPE_CHECKING:
    from pipeline.steps.turns.turned import Turned

Tables = Mapping[str, Mapping[str, Any]]
OF_COMMANDS = ("places",)  # tables of a configuration that commands on its graph use, also if the run has no use for them


class StoredGraph(NamedTuple):
    """An edge list, and the stored graph that was made from it or from changes to it."""

    edges: Folder
    graph: Folder


@contextmanager
def stored_graph(
    target: str | Sequence[str], options: GraphOptions, snap: Snap | None = None, tables: Tables | None = None
) -> Iterator[tuple[StoredGraph, Runtime]]:
    """The graph of a run's folder or output URL, of the TOML file of a run or a graph, or of a source, and where to compute.

    What is derived from it, and the graph itself unless it is a run's, is kept in a folder below the user's cache, of which the
    block has exclusive use.

    Args:
        target: Several texts are a source of several files.
        tables: Keys of the tables `[graph]` and `[layout]` that replace those of a TOML file, or describe a source.

    Raises:
        BadConfig: A configuration is wrong, there is no such run or no longer its graph, or the user's cache is not writable.
        BadInput, OSError, TooLarge, ...: As `ingest` and `lay_out`.
    """
    entries = [target] if isinstance(target, str) else target
    backend, folder = choose(options.backend), workplace(" ".join(str(Path(entry).absolute()) for entry in entries))
    runs = folder_of(target)
    _require_writable(folder.parent)
    with started(options.cluster, backend) as cluster:
        named = graph_of_run(runs) if runs else _config_of(target, folder, tables or {})
        turned = turned_of_run(runs, named) if runs and isinstance(named, StoredGraph) else None
        with shared_workspace(folder) as work:
            runtime = Runtime(work, backend, cluster, HeldEdges(backend, keeps=lays_out_here(cluster)), snap=snap or Snap())
            if turned:
                runtime.turned[turned.streets.digest] = turned
            stored = named if isinstance(named, StoredGraph) else _laid_out(named, runtime, options)
            yield stored, runtime.without_pinned(stored.graph)


def folder_of(target: str | Sequence[str]) -> Path | None:
    """The folder of runs that a target names, also by the URL of an output; None if it names a source.

    A folder without runs is a source, unless it is empty.
    """
    folder = output_folder(Path(target)) if isinstance(target, str) else None
    if folder is None or not folder.is_dir() or (any(folder.iterdir()) and not holds_runs(folder)):
        return None
    return folder


def graph_of_run(path: Path, unread: str = "") -> StoredGraph:
    """The graph of the run that a path names. Raises BadConfig if it is no longer there, and Damaged.

    Args:
        unread: A pattern of files of the edge list whose digests are not checked.
    """
    run = find_run(path)
    steps = run.path.parents[1] / "steps"
    inputs = run.manifest.inputs
    edges = find((steps / name for name in (*EDGES, ATTACHED)), inputs.get(ATTACHED, inputs["edges"]), checked=False)
    graph = find((steps / name for name in GRAPHS), inputs["graph"])
    if edges is None or graph is None:
        lost = steps / ("edges" if edges is None else "graph")
        raise BadConfig(
            f"{lost}: is not there, or a later run has replaced it; name the graph's file, or run the configuration again"
        )
    check(edges, unread)
    return StoredGraph(edges, graph)


def turned_of_run(path: Path, stored: StoredGraph) -> "Turned | None":
    """The graph of the run that a path names on which turns matter, if they do. Raises as `graph_of_run`."""
    if not EdgeFacts.of(stored.edges).has_turns:
        return None
    from pipeline.steps.turns.turned import Turned

    run = find_run(path)
    steps = run.path.parents[1] / "steps"
    split, graph = (find([steps / name], run.manifest.inputs[name]) for name in (SPLIT, TURNED))
    if split is None or graph is None:
        raise BadConfig(f"{steps}: a later run has replaced the graph with its turns; run the configuration again")
    return Turned(stored.graph, split, graph)


def _config_of(target: str | Sequence[str], folder: Path, tables: Tables) -> RunConfig:
    if isinstance(target, str) and target.endswith(".toml"):
        return load_run(Path(target), tables, default_output=folder, used=OF_COMMANDS)
    graph = {"source": target, **tables.get("graph", {})}
    config = run_config("options", **{**tables, "graph": graph}, output=folder)
    require_effect("options", config)
    return config


def _laid_out(config: RunConfig, runtime: Runtime, options: GraphOptions) -> StoredGraph:
    edges = ingest(config.graph, runtime.work, runtime.held_edges, options.cluster.elsewhere, reject=config.reject.limit)
    layout = suited(config.layout, edges, runtime.cluster.shards)
    graph = lay_out(edges, layout, runtime)
    if EdgeFacts.of(edges).has_turns:
        from pipeline.steps.turns.graph import turned_of

        turned_of(edges, graph, layout, runtime, at_once)
    return StoredGraph(edges, graph)


def at_once(_: str, step: Callable[..., Folder], *arguments: Any) -> Folder:
    """Call a step that is not shown."""
    return step(*arguments)


def _require_writable(home: Path) -> None:
    try:
        home.mkdir(parents=True, exist_ok=True)
        writable = os.access(home, os.W_OK | os.X_OK)
    except OSError:
        writable = False
    if not writable:
        kept = "what is derived from graphs is kept there"
        raise BadConfig(f"{home}: is not writable, and {kept}; name another folder in the environment variable XDG_CACHE_HOME")
