"""The places that a run or a command names, as published."""

import logging
from collections.abc import Iterable, Mapping, Sequence

from pipeline.config.run import RunConfig
from pipeline.steps.places import ground_of, snapped, text_of
from pipeline.steps.products.vertices import vertices_in
from pipeline.steps.runtime import Runtime
from pipeline.store.facts.run import PlaceFacts, RunFacts
from pipeline.store.manifest import Folder
from pipeline.store.names import open_names
from pipeline.units import length

log = logging.getLogger(__name__)


def places_of(config: RunConfig, edges: Folder, graph: Folder, runtime: Runtime) -> list[PlaceFacts]:
    """All places that a configuration names, with the key that names them or their file. Raises as `read_vertices`.

    Those of files of places are not among them.
    """
    return _listed(config.lists_by_key | _vertices_in(config.files_by_key, runtime), edges, graph, runtime)


def places_in(files: Mapping[str, str], edges: Folder, graph: Folder, runtime: Runtime) -> list[PlaceFacts]:
    """All places that files of vertices name, each with the key of its file. Raises as `read_vertices`."""
    return _listed(_vertices_in(files, runtime), edges, graph, runtime)


def farthest(facts: RunFacts) -> str:
    """How many places a run has, and how far they are from their vertices; empty if it has none."""
    listed, placed = facts.places or [], facts.placed
    count = len(listed) + (placed.rows if placed else 0)
    known = [*listed, *([placed.farthest] if placed and placed.farthest else [])]
    if not known:
        return f"{count:,}, each at a stated vertex" if count else ""
    return f"{count:,}, {_farthest(known)}"


def _farthest(places: Sequence[PlaceFacts]) -> str:
    most = max(places, key=lambda place: place.metres)
    where = text_of((most.place[0], most.place[1]))
    named = where if most.id is None else f"{most.id} at {where}"
    return f"the farthest, {named}, is {length(most.metres)} from the vertex that stands for it"


def _vertices_in(files: Mapping[str, str], runtime: Runtime) -> dict[str, Iterable[int | str]]:
    """What files of vertices name, without files of places, which have a table."""
    if not files:
        return {}
    from pipeline.steps.places.files import has_places

    return {key: vertices_in(file) for key, file in files.items() if not has_places(file, runtime.places)}


def _listed(named: Mapping[str, Iterable[int | str]], edges: Folder, graph: Folder, runtime: Runtime) -> list[PlaceFacts]:
    names = open_names(edges)
    places = [
        PlaceFacts(
            key=key,
            place=[*one.place],
            vertex=one.vertex,
            metres=one.metres,
            **({"name": names.text(one.vertex)} if names else {}),
        )
        for key, vertices in named.items()
        for one in snapped(edges, graph, [*vertices], runtime)
    ]
    ground_of(edges, graph, runtime).forget()
    if places:
        log.info("places: %d, %s", len(places), _farthest(places))
    return places
