"""A whole run on this machine, without a server: what the command does. The flows say the same sentence through Prefect."""

from __future__ import annotations

from pipeline.cluster.protocol import started
from pipeline.config.run import RunConfig
from pipeline.ingest import ingest
from pipeline.report import draw
from pipeline.runtime.backend import choose
from pipeline.steps.layout import lay_out
from pipeline.steps.publish import publish
from pipeline.steps.reach import answer_queries
from pipeline.steps.sources import require_sources
from pipeline.steps.stages import run_stage
from pipeline.steps.verify import prove
from pipeline.store.manifest import Folder
from pipeline.store.workspace import workspace


def run(config: RunConfig) -> Folder:
    """Ingest, lay out, answer, prove, report and publish; return the published run. Raises GraphmillError."""
    name, backend = config.graph.title, choose(config.backend)
    with workspace(config.output) as work, started(config.cluster, backend) as cluster:
        edges = ingest(config.graph, work)
        graph = lay_out(edges, config.layout, work, backend, cluster)
        require_sources(graph, config.sources)
        answers = [
            run_stage(graph, stage, config.sources, work, backend, config.reachability, cluster) for stage in config.stages
        ]
        proofs = [prove(graph, answer, config.oracle, work, backend, cluster) for answer in answers]
        report = draw(name, edges, graph, answers, proofs, work, backend)
        reached = answer_queries(config.queries, answers, config.oracle, work, backend, cluster)
        return publish(config.output, name, edges, graph, answers, proofs, report, config.keep, backend, reached)
