"""How a run read its source, as published: the first thing that a user checks."""

from collections.abc import Mapping, Sequence
from types import MappingProxyType

from pipeline.steps.sources import out_degree
from pipeline.store.facts import EdgeFacts, GraphFacts, SourceFacts, facts_of_answer
from pipeline.store.facts.run import InputFacts
from pipeline.store.manifest import Folder
from pipeline.store.names import open_names


def files_read(edges: Folder) -> list[SourceFacts]:
    """The files that an edge list was read from."""
    read = EdgeFacts.of(edges)
    return [read.source, *([read.coordinates.source] if read.coordinates else []), *([read.nodes] if read.nodes else [])]


def input_of(
    edges: Folder, graph: Folder, answers: Sequence[Folder] = (), sha256: Mapping[str, str] = MappingProxyType({})
) -> InputFacts:
    """Collect how a source was read, from the steps of a run; sources and their origin from the answers that have some.

    `sha256` has the SHA-256 of the files, by their BLAKE3 digests.
    """
    read, stored = EdgeFacts.of(edges), GraphFacts.of(graph)
    sources = next((named for answer in answers if (named := facts_of_answer(answer).sources) is not None), None)
    by_default = any(answer.manifest.parameters.get("sources") == [] for answer in answers)
    reason = reason_of_default(graph, sources[0]) if sources and by_default else None
    summed = {file.path: file.model_copy(update={"sha256": sha256.get(file.blake3)}) for file in files_read(edges)}
    shared = ("format", "columns", "ignored_columns", "directed", "directed_by", "weight", "edges", "measure")
    return InputFacts(
        **{name: getattr(read, name) for name in shared},
        source=summed[read.source.path],
        coordinates=summed[read.coordinates.source.path] if read.coordinates else None,
        nodes=summed[read.nodes.path] if read.nodes else None,
        self_loops=stored.self_loops,
        self_loops_kept=stored.self_loops_dropped < stored.self_loops,
        parallel_arcs=stored.parallel_arcs,
        parallel_arcs_kept=stored.parallel_arcs_dropped < stored.parallel_arcs,
        sources=sources,
        source_names=names_of_sources(edges, sources),
        default_source=reason,
    )


def names_of_sources(edges: Folder, sources: Sequence[int] | None) -> list[str] | None:
    """The ids of sources in the source file, if they are strings there."""
    names = open_names(edges) if sources else None
    return [names.text(source) for source in sources or ()] if names else None


def reason_of_default(graph: Folder, source: int) -> str:
    """The reason why a vertex is the default source."""
    return f"highest out-degree, {out_degree(graph, source):,}; among equals, the smallest id"
