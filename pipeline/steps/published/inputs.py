"""How a run read its source, as published: the first thing that a user checks."""

from collections.abc import Sequence

from pipeline.steps.sources import out_degree
from pipeline.store.facts import EdgeFacts, GraphFacts, facts_of_answer
from pipeline.store.facts.run import InputFacts
from pipeline.store.manifest import Folder
from pipeline.store.names import open_names


def input_of(edges: Folder, graph: Folder, answers: Sequence[Folder] = ()) -> InputFacts:
    """Collect how a source was read, from the steps of a run; sources and their origin from the answers that have some."""
    read, stored = EdgeFacts.of(edges), GraphFacts.of(graph)
    sources = next((found for answer in answers if (found := facts_of_answer(answer).sources) is not None), None)
    by_default = any(answer.manifest.parameters.get("sources") == [] for answer in answers)
    reason = reason_of_default(graph, sources[0]) if sources and by_default else None
    shared = ("source", "format", "columns", "ignored_columns", "directed", "directed_by", "weight", "edges", "measure")
    return InputFacts(
        **{name: getattr(read, name) for name in shared},
        coordinates=read.coordinates.source if read.coordinates else None,
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
