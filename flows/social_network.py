"""The social network: which circles it falls into, how many handshakes lie between two people of one, and who stands out."""

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


@flow(name="social-network", flow_run_name=run_name, persist_result=False)
def social_network(
    run: str = "conf/runs/facebook.toml", sources: list[VertexId] | None = None, backend: Choice | None = None
) -> Folder:
    """Ingest the ties, lay people out by degree, name and prove their circles, then handshakes, backbone and ranks, publish.

    Parameters
    ----------
    run
        The run's file.
    sources
        External ids of the people to count handshakes from, instead of the file's.
    backend
        Where it computes, instead of the file's: `cpu`, `gpu`, or `auto`, the GPU where there is one.
    """
    config = read_run(run, "degree", sources=sources, backend=backend)  # the few that everybody knows come first
    with workspace(config.output) as work, started(config.cluster, choose(config.backend)) as cluster:
        edges = ingest(config.graph, work)
        graph = lay_out(config, edges, work, cluster)
        require_sources(graph, config.sources)
        circles = run_stages(config, graph, ("wcc", "scc", "reachability"), work, cluster)
        proofs = prove_all(config, graph, circles, work, cluster)  # cheap, so a graph gone wrong stops here
        handshakes = run_stages(config, graph, ("bfs", "sssp"), work, cluster)
        backbone = run_stages(config, graph, ("mst",), work, cluster)
        ranks = run_stages(config, graph, ("pagerank",), work, cluster)
        proofs += prove_all(config, graph, handshakes + backbone + ranks, work, cluster)
        answers = circles + handshakes + backbone + ranks
        report = draw(config, edges, graph, answers, proofs, work)
        published = publish(config, edges, graph, answers, proofs, report, answer_queries(config, answers, work, cluster))
        show(published)
    return published
