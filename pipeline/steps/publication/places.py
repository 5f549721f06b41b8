"""The places that a run or a command names, as published."""

import logging
from collections.abc import Iterable, Mapping, Sequence

from pipeline.config.run import RunConfig
from pipeline.steps.places import ground_of, snapped, text_of
from pipeline.steps.products.vertices import vertices_in
from pipeline.steps.runtime import Runtime
from pipeline.store.facts.run import PlaceFacts
from pipeline.store.manifest import Folder
from pipeline.store.names import open_names
from pipeline.units import length

log = logging.getLogger(__name__)


def places_of(config: RunConfig, edges: Folder, graph: Folder, runtime: Runtime) -> list[PlaceFacts]:
    """All places that a configuration names, with the key that names them or their file. Raises as `read_vertices`."""
    return _listed({"sources": config.sources} | _vertices_in(config.files_by_key), edges, graph, runtime)


def places_in(files: Mapping[str, str], edges: Folder, graph: Folder, runtime: Runtime) -> list[PlaceFacts]:
    """All places that files of vertices name, each with the key of its file. Raises as `read_vertices`."""
    return _listed(_vertices_in(files), edges, graph, runtime)


def farthest(places: Sequence[PlaceFacts]) -> str:
    """How many places there are, and how far they are from their vertices."""
    most = max(places, key=lambda place: place.metres)
    where = text_of((most.place[0], most.place[1]))
    return f"{len(places):,}, the farthest, {where}, is {length(most.metres)} from the vertex that stands for it"


def _vertices_in(files: Mapping[str, str]) -> dict[str, Iterable[int | str]]:
    return {key: vertices_in(file) for key, file in files.items()}


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
        log.info("places: %s", farthest(places))
    return places
