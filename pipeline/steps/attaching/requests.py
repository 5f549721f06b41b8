"""Who asks for places on streets: a run, or a command on a product, whose graph may be one without its places."""

from collections.abc import Mapping

import numpy as np

from kernels.registry import BY_NAME
from pipeline.config.layout import LayoutConfig
from pipeline.config.run import RunConfig
from pipeline.errors import BadConfig
from pipeline.progress.shown import Steps
from pipeline.steps.attaching import STEP
from pipeline.steps.attaching.points import GivenPoints, points_in, points_of_run
from pipeline.steps.attaching.step import attach_places
from pipeline.steps.layout import lay_out
from pipeline.steps.parallel import LIGHTEST, Parallels
from pipeline.steps.places import ground_of
from pipeline.steps.runtime import Runtime
from pipeline.steps.stored_graph import StoredGraph, at_once
from pipeline.store.deltas import EDGES
from pipeline.store.facts import EdgeFacts, GraphFacts
from pipeline.store.manifest import Folder, find

# The step folders of a command: the graph with its places and, if turns matter, its split graph.
_LAID_OUT, _TURNED = "attached_graph", ("attached_split", "attached_turned")
_KEY = 'attach = "streets" ([places])'


def with_places(config: RunConfig, edges: Folder, runtime: Runtime, steps: Steps) -> Folder:
    """The edge list of a run with its places on streets, if it asks for them. Raises as `attach_places`."""
    if config.places.attach != "streets":
        return edges
    points = points_of_run(config, edges, runtime)
    if not len(points.places):
        return edges
    return steps(STEP, attach_places, edges, points, runtime)


def require_attachable(config: RunConfig) -> None:
    """Raise BadConfig for a configuration in which divided streets would not be right."""
    if config.places.attach != "streets":
        return
    _require_lightest(config.graph.parallel or LIGHTEST)
    _require_as_they_are(config.layout)
    if adding := [stage for stage in config.stages if BY_NAME[stage].adds_parallel]:
        raise BadConfig(f"{_KEY} divides the weights of streets, which stage {adding[0]} takes for capacities; leave one out")


def on_streets(stored: StoredGraph, files: Mapping[str, str], runtime: Runtime) -> StoredGraph:
    """The graph of a command, with the places of its files on streets: that of a run which has attached them, or a new one.

    Vertices at feet of a new graph have other ids than all those of the run.

    Raises:
        BadConfig: The graph has other parallel arcs than the lightest or was changed, or the edge list is no longer there.
    Otherwise as `attach_places`.
    """
    edges, graph = stored
    if runtime.places.attach != "streets" or not len((points := points_in(files, edges, runtime)).places):
        return stored
    if EdgeFacts.of(edges).attached and _has(points, edges, graph, runtime):
        return stored
    layout = {key: value for key, value in graph.manifest.parameters.items() if key != "parallel"}
    if GraphFacts.of(graph).state or "order" not in layout:
        raise BadConfig(f"{_KEY}: changes were applied to this graph; run its source again")
    _require_lightest(graph.manifest.parameters.get("parallel", LIGHTEST))
    stored_layout = LayoutConfig.model_validate(layout)
    _require_as_they_are(stored_layout)
    largest = max(EdgeFacts.of(edges).largest.get(end, 0) for end in ("src", "dst"))
    attached = attach_places(_without_places(edges), points, runtime, beyond=largest)
    laid_out = lay_out(attached, stored_layout, runtime, parallel=Parallels(step=_LAID_OUT))
    if EdgeFacts.of(attached).has_turns:
        from pipeline.steps.turns.graph import turned_of

        turned_of(attached, laid_out, stored_layout, runtime, at_once, _TURNED)
    return StoredGraph(attached, laid_out)


def _has(points: GivenPoints, edges: Folder, graph: Folder, runtime: Runtime) -> bool:
    """Whether a run has attached all of these places."""
    attached = ground_of(edges, graph, runtime).attached
    return attached is not None and bool(np.all(attached.rows_of(points.places)[1]))


def _without_places(edges: Folder) -> Folder:
    """The edge list of the source. Raises BadConfig if it is no longer there."""
    if not EdgeFacts.of(edges).attached:
        return edges
    steps = edges.path.parent
    if (source := find((steps / name for name in EDGES), edges.manifest.inputs["edges"])) is None:
        raise BadConfig(f"{steps / EDGES[0]}: is not there, or a later run has replaced it; run the configuration again")
    return source


def _require_lightest(rule: str) -> None:
    if rule != LIGHTEST:
        raise BadConfig(f'{_KEY} needs parallel = "{LIGHTEST}" below [graph], not "{rule}"; leave one of both out')


def _require_as_they_are(layout: LayoutConfig) -> None:
    if layout.symmetrise:
        raise BadConfig(f"{_KEY} keeps the directions of streets, but layout.symmetrise opens all of them; leave one of both out")
