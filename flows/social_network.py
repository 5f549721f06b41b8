"""The social network: which circles it falls into, and how many handshakes lie between two people of one."""

from __future__ import annotations

from prefect import flow

from flows.tasks import draw, ingest, lay_out, prove_all, publish, read_run, run_name, run_stages, show
from pipeline.manifest import Folder
from pipeline.stages import require_sources
from pipeline.workspace import workspace


@flow(name="social-network", flow_run_name=run_name, persist_result=False)
def social_network(run: str = "conf/runs/facebook.toml", sources: list[int] | None = None) -> Folder:
    """Ingest the ties, lay people out by degree, name and prove their circles, then handshakes and backbone, and publish.

    Parameters
    ----------
    run
        The run's file.
    sources
        External ids of the people to count handshakes from, instead of the file's.
    """
    config = read_run(run, sources, order="degree")  # the few that everybody knows come first
    with workspace(config.output) as work:
        edges = ingest(config.graph, work)
        graph = lay_out(edges, config.layout, work)
        require_sources(graph, config.sources)
        circles = run_stages(config, graph, ("wcc", "scc"), work)
        proofs = prove_all(config, graph, circles, work)  # cheap, so a graph gone wrong stops here
        handshakes = run_stages(config, graph, ("bfs", "sssp"), work)
        backbone = run_stages(config, graph, ("mst",), work)
        proofs += prove_all(config, graph, handshakes + backbone, work)
        answers = circles + handshakes + backbone
        report = draw(config.graph.title, edges, graph, answers, proofs, work)
        published = publish(config, edges, graph, answers, proofs, report)
        show(published)
    return published
