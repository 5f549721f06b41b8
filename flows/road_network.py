"""The road network: how far, over which roads, and what hangs together."""

from __future__ import annotations

from prefect import flow

from flows.tasks import answer_queries, draw, ingest, lay_out, prove_all, publish, read_run, run_name, run_stages, show
from pipeline.cluster.protocol import started
from pipeline.config.model import Choice
from pipeline.config.run import VertexId
from pipeline.runtime.backend import choose
from pipeline.steps.sources import require_sources
from pipeline.store.manifest import Folder
from pipeline.store.workspace import workspace


@flow(name="road-network", flow_run_name=run_name, persist_result=False)
def road_network(
    run: str = "conf/runs/new-york.toml", sources: list[VertexId] | None = None, backend: Choice | None = None
) -> Folder:
    """Ingest the roads with their coordinates, lay them out in windows, measure distances, forest and components, prove, publish.

    Parameters
    ----------
    run
        The run's file.
    sources
        External ids of the crossings to measure from, instead of the file's.
    backend
        Where it computes, instead of the file's: `cpu`, `gpu`, or `auto`, the GPU where there is one.
    """
    config = read_run(run, "windowed", sources=sources, backend=backend)  # neighbours on the map stay neighbours in memory
    with workspace(config.output) as work, started(config.cluster, choose(config.backend)) as cluster:
        edges = ingest(config.graph, work)
        graph = lay_out(config, edges, work, cluster)
        require_sources(graph, config.sources)
        distances = run_stages(config, graph, ("bfs", "sssp"), work, cluster)
        forest = run_stages(config, graph, ("mst",), work, cluster)
        components = run_stages(config, graph, ("wcc", "scc", "reachability"), work, cluster)
        ranks = run_stages(config, graph, ("pagerank",), work, cluster)
        answers = distances + forest + components + ranks
        proofs = prove_all(config, graph, answers, work, cluster)
        report = draw(config, edges, graph, answers, proofs, work)
        published = publish(config, edges, graph, answers, proofs, report, answer_queries(config, answers, work, cluster))
        show(published)
    return published
