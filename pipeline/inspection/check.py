"""Read a graph and all files of a run with all checks, as the run does, and keep nothing."""

import tempfile
from dataclasses import dataclass
from pathlib import Path

from pipeline.cluster.start import require_startable
from pipeline.config.run import RunConfig
from pipeline.ingest import ingest
from pipeline.ingest.vertex_names import numbers_of
from pipeline.inspection.inputs import CustomStage, InputFile, inputs_of
from pipeline.progress.shown import Steps, showing
from pipeline.reading import capacities_of, graph_of
from pipeline.runtime.backend import choose
from pipeline.steps.pairs.placed import with_vertices
from pipeline.steps.pairs.requirements import require_pairs
from pipeline.steps.products.configured import require_files, require_products
from pipeline.steps.products.vertices import given_sources, with_sources
from pipeline.steps.publication.expectations import require_columns, require_graph
from pipeline.steps.publication.facts import files_read, input_of, names_of_sources, reason_of_default
from pipeline.steps.publication.target import target_of
from pipeline.steps.runtime import Runtime
from pipeline.steps.seeded.vertices import with_seeds
from pipeline.steps.sources import default_source, require_sources
from pipeline.store.edges import HeldEdges
from pipeline.store.facts import EdgeFacts, GraphFacts
from pipeline.store.facts.run import InputFacts
from pipeline.store.scratch import remove_dead, scratch


@dataclass(frozen=True)
class Checked:
    """How a run would read its source, and the graph that it would compute on."""

    title: str
    vertices: int
    arcs: int
    input: InputFacts
    files: list[InputFile]  # all that the run reads
    custom: dict[str, CustomStage]  # the stages that the user wrote


def check(config: RunConfig) -> Checked:
    """Read all files of a run, lay out and prove its graph, in a private folder of the temporary folder, which is then removed.

    The output folder is not written; what `[expect]` compares with is read from there.

    Raises:
        GraphmillError: As the steps `edges` and `graph` of a run, for files of vertices and pairs as the steps that read them, if
            the graph is not what `[expect]` states, and if the cluster or the store to which the run is copied cannot be used.
    """
    backend, around = choose(config.backend), Path(tempfile.gettempdir())
    require_startable(config.cluster, backend)
    if config.publish_to:
        from pipeline.steps.publication.remote import require_store

        require_store(config.publish_to)
    programs = require_files(config)
    custom = {name: CustomStage(it.file, it.sha256, it.proof_on(backend)) for name, it in programs.items()}
    remove_dead(around)
    with scratch(around) as work, showing() as shown:
        runtime = Runtime(
            work, backend, held_edges=HeldEdges(backend), snap=config.snap, places=config.places, zones=config.zones
        )
        with shown.step("edges"):
            edges = ingest(config.graph, work, runtime.held_edges, reject=config.reject.limit)
        steps = Steps(shown)
        if config.places.attach == "streets":
            from pipeline.steps.attaching.requests import require_attachable, with_places

            require_attachable(config)
            edges = with_places(config, edges, runtime, steps)
        target = target_of(config)
        require_columns(edges, config.expect, target)
        named = numbers_of(edges, config.listed_sources)
        stated = [one for one in named if isinstance(one, int)]
        graph = graph_of(config, edges, config.layout, runtime, stated, steps)
        capacities = capacities_of(config, edges, graph, config.layout, runtime, steps)
        if EdgeFacts.of(edges).has_turns:
            from pipeline.steps.turns.graph import turned_of
            from pipeline.steps.turns.requirements import require_obeyed

            require_obeyed(config, edges)
            turned_of(edges, graph, config.layout, runtime, steps)
        given = given_sources(config, edges, graph, runtime)
        require_sources(graph, given)
        require_graph(graph, config.expect, target)
        placed = with_vertices(config, edges, graph, runtime)
        with_seeds(placed, edges, graph, runtime)
        require_products(placed, edges, graph, runtime)
        with_sources(placed, edges, graph, runtime)
        require_pairs(placed, graph)
        default = None if given else default_source(graph)
        reason = None if default is None else reason_of_default(graph, default)
        sources = sorted(given) if default is None else [default]
        said = {"sources": sources, "source_names": names_of_sources(edges, sources), "default_source": reason}
        sums = runtime.held_edges.sums.of(file.blake3 for file in files_read(edges))
        read = input_of(edges, graph, sha256=sums, capacities=capacities).model_copy(update=said)
        facts = GraphFacts.of(graph)
        files = inputs_of(config, edges, graph, read, custom, runtime)
        return Checked(config.graph.title, facts.vertices, facts.arcs, read, files, custom)
