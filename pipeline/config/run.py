"""A run's configuration: its graph, its stages, where they run, and where the tables go."""

from collections import Counter
from typing import Annotated, Any

from pydantic import AfterValidator, Field, ValidationInfo, WithJsonSchema, field_validator

from kernels.registry import ALGORITHMS
from pipeline.config.cluster import ClusterConfig
from pipeline.config.graph import GraphConfig
from pipeline.config.layout import LayoutConfig
from pipeline.config.model import Choice, LocalFolder, Model, Natural, Switch, Vertex
from pipeline.config.reachability import QueriesConfig, ReachabilityConfig
from pipeline.config.suggestions import did_you_mean

STAGES = tuple(algorithm.name for algorithm in ALGORITHMS)


def _known(stage: str) -> str:
    if stage not in STAGES:
        raise ValueError(f"is not a stage; the stages are {', '.join(STAGES)}{did_you_mean(stage, STAGES)}")
    return stage


StageName = Annotated[str, AfterValidator(_known), WithJsonSchema({"type": "string", "enum": list(STAGES)})]


class RunConfig(Model):
    """One run: a graph, its layout, the stages, and where the tables go."""

    graph: GraphConfig
    output: LocalFolder = Field(examples=["out/people"])  # the folder of the tables, which appear in `output/latest/TABLE`
    layout: LayoutConfig = LayoutConfig()
    # What to compute, each once, given in any order; they run in the order of the default.
    stages: tuple[StageName, ...] = Field(default=STAGES, min_length=1, examples=[["bfs", "wcc", "reachability"]])
    # Vertices for the stages that have sources: external ids, `"LON,LAT"` in degrees for the vertex nearest to a place; or the
    # path of a text file with one on each line. Empty: the vertex of highest out-degree, the smallest id among equals.
    sources: tuple[Vertex, ...] = Field(default=(), examples=[[1, 151_234]])
    reachability: ReachabilityConfig = ReachabilityConfig()  # for stage `reachability`
    queries: QueriesConfig | None = None  # pairs to answer with that stage's index
    oracle: Switch = False  # also compare every answer with a second solver, for the stages that have one
    # Where layout, stages and proofs run: `cpu`, `gpu`, or `auto`, the GPU if there is one. The tables do not depend on it.
    backend: Choice = "auto"
    # Number of runs kept in the output folder; 0 keeps all. Each is kept for an hour after the next one was published.
    keep: Natural = Field(default=7, examples=[30])
    cluster: ClusterConfig = ClusterConfig()  # which workers run the tasks of stages and proofs. The tables do not depend on it.

    @field_validator("stages", "sources")
    @classmethod
    def _once(cls, values: tuple[Any, ...]) -> tuple[Any, ...]:
        for value, times in Counter(values).items():
            if times > 1:
                raise ValueError(f"{value} is given twice")
        return values

    @field_validator("stages")
    @classmethod
    def _in_order(cls, values: tuple[str, ...]) -> tuple[str, ...]:
        return tuple(sorted(values, key=STAGES.index))

    @field_validator("queries")
    @classmethod
    def _have_an_index(cls, value: QueriesConfig | None, info: ValidationInfo) -> QueriesConfig | None:
        if value and "reachability" not in info.data.get("stages", ("reachability",)):
            raise ValueError("queries need stage reachability")
        return value
