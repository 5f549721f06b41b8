"""The steps of the pipeline as Prefect tasks: their names in the terminal, and which failures are tried again.

Prefect neither caches nor keeps a result: a step that is still valid is skipped by its manifest (`pipeline/store/manifest.py`).
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, ParamSpec, TypeVar

from prefect import runtime, task
from prefect.cache_policies import NO_CACHE
from prefect.client.schemas.objects import State, TaskRun
from prefect.settings import get_current_settings
from prefect.tasks import Task, exponential_backoff

import flows.artifacts
import pipeline.ingest
import pipeline.report
import pipeline.steps.layout
import pipeline.steps.publish
import pipeline.steps.reach
import pipeline.steps.stages
import pipeline.steps.verify
from pipeline.cluster.protocol import Cluster
from pipeline.config.graph import GraphConfig
from pipeline.config.loading import load_run
from pipeline.config.run import RunConfig, StageName
from pipeline.runtime.backend import choose
from pipeline.store.manifest import Folder

P = ParamSpec("P")
R = TypeVar("R")
log = logging.getLogger(__name__)

if not get_current_settings().api.url:  # Prefect is going to start a server in this process
    from flows.embedded import GuardedServer  # imports all of Prefect's server, which takes longer than the rest together

    GuardedServer()  # Prefect keeps one server object a process: this one, since it is the first


def can_pass(_task: Task[..., Any], _run: TaskRun, state: State[Any]) -> bool:
    """Whether a failed task is worth another try: a disk, a network or a server may be well again, bad input will not."""
    return isinstance(state.result(raise_on_failure=False), OSError)


def step(name: str, run_name: str | None = None) -> Callable[[Callable[P, R]], Task[P, R]]:
    """Make a function a task; `run_name` may use its arguments."""
    return task(
        name=name,
        task_run_name=run_name or name,
        retries=3,
        retry_delay_seconds=exponential_backoff(2),
        retry_jitter_factor=0.2,
        retry_condition_fn=can_pass,
        cache_policy=NO_CACHE,
        persist_result=False,
    )


@step("edges")
def ingest(graph: GraphConfig, work: Path) -> Folder:
    """Read the source into an edge list."""
    log.info("edges: started")
    return pipeline.ingest.ingest(graph, work)


@step("graph")
def lay_out(run: RunConfig, edges: Folder, work: Path, cluster: Cluster) -> Folder:
    """Clean the edge list and store the graph."""
    log.info("graph: started, %s order", run.layout.order)
    return pipeline.steps.layout.lay_out(edges, run.layout, work, choose(run.backend), cluster)


@step("stage", run_name="{stage}")
def run_stage(run: RunConfig, graph: Folder, stage: StageName, work: Path, cluster: Cluster) -> Folder:
    """Run one algorithm and write its table."""
    log.info("%s: started", stage)
    return pipeline.steps.stages.run_stage(graph, stage, run.sources, work, choose(run.backend), run.reachability, cluster)


@step("certificate", run_name="certificate of {answer.manifest.step}")
def prove(run: RunConfig, graph: Folder, answer: Folder, work: Path, cluster: Cluster) -> Folder:
    """Prove an answer's table, and compare it with the oracle where the run asks for it."""
    log.info("proof-%s: started", answer.manifest.step)
    return pipeline.steps.verify.prove(graph, answer, run.oracle, work, choose(run.backend), cluster)


@step("report")
def draw(run: RunConfig, edges: Folder, graph: Folder, answers: Sequence[Folder], proofs: Sequence[Folder], work: Path) -> Folder:
    """Draw the report."""
    log.info("report: started")
    return pipeline.report.draw(run.graph.title, edges, graph, answers, proofs, work, choose(run.backend))


@step("reached")
def reach(run: RunConfig, answers: Sequence[Folder], work: Path, cluster: Cluster) -> Folder | None:
    """Answer the pairs that the run asks for with the index among its answers."""
    log.info("reached: started")
    return pipeline.steps.reach.answer_queries(run.queries, answers, run.oracle, work, choose(run.backend), cluster)


@step("publish")
def publish(
    run: RunConfig, edges: Folder, graph: Folder, answers: Sequence[Folder], proofs: Sequence[Folder], report: Folder,
    reached: Folder | None,
) -> Folder:  # fmt: skip
    """Publish the proved tables."""
    log.info("publish: started")
    name, backend = run.graph.title, choose(run.backend)
    return pipeline.steps.publish.publish(run.output, name, edges, graph, answers, proofs, report, run.keep, backend, reached)


@step("artifacts")
def show(published: Folder) -> None:
    """Tell Prefect of the published run."""
    flows.artifacts.show(published)


def run_stages(run: RunConfig, graph: Folder, stages: Sequence[StageName], work: Path, cluster: Cluster) -> list[Folder]:
    """Run those of `stages` that the run asks for."""
    return [run_stage(run, graph, stage, work, cluster) for stage in stages if stage in run.stages]


def answer_queries(run: RunConfig, answers: Sequence[Folder], work: Path, cluster: Cluster) -> Folder | None:
    """Answer the run's pairs, if it asks for any."""
    return reach(run, answers, work, cluster) if run.queries else None


def prove_all(run: RunConfig, graph: Folder, answers: Sequence[Folder], work: Path, cluster: Cluster) -> list[Folder]:
    """Prove every answer."""
    return [prove(run, graph, answer, work, cluster) for answer in answers]


def read_run(path: str, order: str, pairs: str | None = None, **changes: Any) -> RunConfig:
    """Read a run's file and choose its backend, once for all tasks.

    `pairs` and those of `changes` that are not None replace the file's values; `order` is the layout's unless the file states
    one. Raises BadConfig.
    """
    run = load_run(
        Path(path),
        {"queries": {"pairs": pairs}} if pairs else None,
        **{name: value for name, value in changes.items() if value is not None},
    )
    run = run.model_copy(update={"backend": choose(run.backend)})
    if "order" in run.layout.model_fields_set:
        return run
    return run.model_copy(update={"layout": run.layout.model_copy(update={"order": order})})


def run_name() -> str:
    """What Prefect calls a run of a flow: the name of its file."""
    return Path(runtime.flow_run.parameters["run"]).stem
