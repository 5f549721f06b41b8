"""Stages: a stored graph in, the table of one algorithm out, in external ids and sorted as it will be published."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from kernels.algorithm import Algorithm
from kernels.registry import BY_NAME
from pipeline.config.model import Model
from pipeline.config.run import StageName
from pipeline.config.stages import PageRankConfig, ReachabilityConfig
from pipeline.steps.answers import AnswerRequest, solve, write_table
from pipeline.steps.runtime import Runtime
from pipeline.store.code import Code
from pipeline.store.facts import GraphFacts, IndexFacts, LabelFacts
from pipeline.store.manifest import Folder, make


def run_stage(graph: Folder, stage: StageName, sources: Sequence[int], runtime: Runtime, options: Model | None = None) -> Folder:
    """Run one algorithm and write its table.

    Args:
        graph: The stored graph.
        stage: One of `BY_NAME`; the folder is `work / stage`.
        sources: External ids, for the stages that have sources; empty takes `default_source`.
        runtime: The table is the same on every backend and cluster, and so is the step's key, except for a stage that is not
            `exact`.
        options: The configuration's table of the stage's name; None takes the defaults. The index of stage `reachability` is a
            step of its own.

    Returns:
        Facts: `StageFacts`, or `LabelFacts`.

    Raises:
        BadSource: A source is not in the graph.
        BadInput: The weights are so large that a sum of them does not fit 64 bits, or as `pairs.maximum_flows.solve_pairs`.
        TooLarge: The index may take more memory than is free, or a closure has more pairs than its limit.
        ClusterLost: As `cluster.map`.
    """
    algorithm = BY_NAME[stage]
    if algorithm.has_pairs:
        from pipeline.steps.pairs.maximum_flows import solve_pairs

        assert options is not None
        (pairs,) = options.pair_files.values()
        return solve_pairs(graph, algorithm, pairs, runtime)
    if algorithm.has_index:
        from pipeline.steps.index import build_index

        config = options if isinstance(options, ReachabilityConfig) else ReachabilityConfig()
        return tabulate_index(graph, algorithm, build_index(graph, config, runtime), runtime)
    if isinstance(options, PageRankConfig) and options.seeds:
        from pipeline.steps.seeded.rankings import rank

        return rank(graph, algorithm, options.model_dump(mode="json"), runtime)
    return solve(graph, algorithm, sources, runtime, options.model_dump(exclude={*options.SEEDS}) if options else {})


def tabulate_index(graph: Folder, algorithm: Algorithm, index: Folder, runtime: Runtime) -> Folder:
    """Write the labels of each vertex in a stored index as the table of their stage."""
    name, code = algorithm.name, Code.of(__name__, algorithm=algorithm, functions=())

    def write(folder: Path) -> dict[str, Any]:
        ranks = runtime.ranks_of(graph) if IndexFacts.of(index).method == "tree" else 0
        where = runtime if ranks else runtime.here()
        written = write_table(folder, AnswerRequest(graph, algorithm, code, (), index), where, ranks)
        return LabelFacts(**index.facts, weight=GraphFacts.of(graph).weight, rows=written.rows).stored()

    inputs = {"graph": graph.digest, "index": index.digest}
    return make(runtime.work / name, name, inputs, {}, write, code)
