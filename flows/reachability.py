"""Reachability: whether a path leads from one vertex to another, for every pair of a file, every night anew."""

from __future__ import annotations

from prefect import flow

from flows.tasks import answer_queries, draw, ingest, lay_out, prove_all, publish, read_run, run_name, run_stages, show
from pipeline.cluster.protocol import started
from pipeline.config.model import Choice
from pipeline.errors import BadConfig
from pipeline.runtime.backend import choose
from pipeline.steps.sources import require_sources
from pipeline.store.manifest import Folder
from pipeline.store.workspace import workspace


@flow(name="reachability", flow_run_name=run_name, persist_result=False)
def reachability(run: str = "conf/runs/wiki-vote.toml", pairs: str | None = None, backend: Choice | None = None) -> Folder:
    """Ingest a directed graph, find its components, build and prove the index, answer the pairs with it, publish.

    What has not changed since the last night is skipped: the index where the graph is the same, the answers where both are.

    Parameters
    ----------
    run
        The run's file; it has stage reachability, and maybe others.
    pairs
        A Parquet file with columns `src` and `dst`, instead of the file's.
    backend
        Where it computes, instead of the file's: `cpu`, `gpu`, or `auto`, the GPU where there is one.
    """
    config = read_run(run, "degree", pairs, backend=backend)
    if config.queries is None:
        raise BadConfig(f"{run}: asks for no pairs; name their file below [queries], or give it to the flow")
    with workspace(config.output) as work, started(config.cluster, choose(config.backend)) as cluster:
        edges = ingest(config.graph, work)
        graph = lay_out(config, edges, work, cluster)
        require_sources(graph, config.sources)
        answers = run_stages(config, graph, config.stages, work, cluster)
        proofs = prove_all(config, graph, answers, work, cluster)
        reached = answer_queries(config, answers, work, cluster)
        report = draw(config, edges, graph, answers, proofs, work)
        published = publish(config, edges, graph, answers, proofs, report, reached)
        show(published)
    return published
