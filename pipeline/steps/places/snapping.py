"""Vertices that users name, where some of them may be places."""

from collections.abc import Iterator, Sequence

from pipeline.errors import BadSource
from pipeline.ingest.vertex_names import Place, numbers_of
from pipeline.registry.stages import COMPONENTS
from pipeline.steps.places.ground import Ground, Snapped, text_of
from pipeline.steps.runtime import Runtime
from pipeline.steps.stages import run_stage
from pipeline.store.manifest import Folder


def ground_of(edges: Folder, graph: Folder, runtime: Runtime) -> Ground:
    """Where the places of a graph may be; what it has read stays in `runtime`."""
    key = Ground, edges.digest, graph.digest
    return runtime.derived.get(key, lambda: Ground(edges, graph, runtime.snap, lambda: run_stage(graph, COMPONENTS, (), runtime)))


def as_made(answer: Folder, edges: Folder, graph: Folder, runtime: Runtime) -> Folder:
    """The answer of a stage; one that this run made for a place, and then found again, is not one of an earlier run."""
    made = ground_of(edges, graph, runtime).made
    return made if made and (made.path, made.digest) == (answer.path, answer.digest) else answer


def nearest(edges: Folder, graph: Folder, asked: Sequence[int | Place], runtime: Runtime) -> list[int]:
    """The external ids of vertices, with that of the nearest vertex for each place. Raises BadSource as `Ground.snapped`."""
    ground = ground_of(edges, graph, runtime)
    return [one if isinstance(one, int) else ground.snapped(one).vertex for one in asked]


def different(edges: Folder, graph: Folder, asked: Sequence[int | Place], runtime: Runtime) -> list[int]:
    """The same. Raises BadSource also if two ask for the same vertex."""
    ids, seen = nearest(edges, graph, asked, runtime), set[int]()
    for one, vertex in zip(asked, ids, strict=True):
        if vertex in seen:
            given = one if isinstance(one, int) else text_of(one)
            raise BadSource(f"source {given} is vertex {vertex}, which is given twice")
        seen.add(vertex)
    return ids


def snapped(edges: Folder, graph: Folder, asked: Sequence[int | str], runtime: Runtime) -> Iterator[Snapped]:
    """The places among the vertices that a user named, in their order, each with its vertex. Raises as `nearest`."""
    ground = ground_of(edges, graph, runtime)
    yield from (ground.snapped(one) for one in numbers_of(edges, asked) if not isinstance(one, int))
