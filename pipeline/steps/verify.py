"""Prove an answer before it is published: its table is read back and checked by the algorithm's certificate.

What is proved is the table as the analyst will read it: schema, order, ids, nulls, and then the answer.
"""

import logging
import time
from collections.abc import Callable
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from kernels.answers import Certificate
from kernels.registry import BY_NAME
from kernels.spans import span
from pipeline import progress
from pipeline.errors import ProofFailed
from pipeline.runtime.backend import taken_over
from pipeline.runtime.threads import map_in_order
from pipeline.steps.runtime import Runtime
from pipeline.store.code import Code
from pipeline.store.facts import CheckFacts, GraphFacts, IndexFacts, ProofFacts, on_cpu
from pipeline.store.manifest import Folder, check, make
from pipeline.tables import files as tables

if TYPE_CHECKING:
    from pipeline.cluster.held_graph import HeldGraph
    from pipeline.cluster.protocol import TaskContext
    from pipeline.tables.answer_table import AnswerTable

log = logging.getLogger(__name__)
TABLE_RULE = "the table has its schema, every vertex once and in order, and only ids of the graph"


def prove(graph: Folder, answer: Folder, oracle: bool, runtime: Runtime) -> Folder:
    """Check an answer's table against the stored graph.

    Args:
        graph, answer: The stored graph, and what `run_stage` wrote.
        oracle: Also solve with a second solver, and compare. A stage without one is named in the log.
        runtime: Where the certificate and the oracle run. The oracle runs on the CPU if it has no solver for a GPU here, and
            always on whole graphs.

    Returns:
        `work / "proof-STAGE"`, without files. Facts: `ProofFacts`.

    Raises:
        ProofFailed: With the first broken rule. Nothing is written.
        ClusterLost: As `cluster.map`.
    """
    stage = answer.manifest.step
    algorithm = BY_NAME[stage]
    oracles = ("oracle", "gpu_oracle") if oracle else ()
    of_seeds = ("seeded_certificate", "sharded_seeded_certificate") if algorithm.may_have_seeds else ()
    certificates = ("certificate", "sharded_certificate", "answer", *of_seeds)
    code = Code.of(__name__, algorithm=algorithm, functions=certificates + oracles)

    def write(_: Path) -> dict[str, Any]:
        from pipeline.store.index.folder import index_of
        from pipeline.tables.answer_table import open_table

        check(answer)
        index = index_of(answer) if algorithm.has_index else None
        if index:
            check(index)
        table = open_table(answer, GraphFacts.of(graph).vertices, index)
        ranks = 0 if index and IndexFacts.of(index).method == "dfs" else runtime.shards_for(algorithm, graph)
        at_work = runtime.ranks_for(algorithm, graph) if algorithm.shares_searches else ranks
        proof, compared = _require(_certify, graph, table, runtime, code, at_work), None
        if oracle and algorithm.oracle:
            compared = _ask_oracle(graph, table, runtime, code)
        elif oracle:
            log.warning("%s: no oracle: there is no second solver for this stage", stage)
        where: dict[str, Any] = {"shards": ranks} if ranks else {}
        where |= runtime.opened(graph) if compared or not ranks or algorithm.opens_whole_graph else {}
        return ProofFacts(
            stage=stage, backend=runtime.backend, holds=True, rules=[TABLE_RULE, *proof.rules], seconds=proof.seconds,
            oracle=compared, **where, **on_cpu(proof.on_cpu or 0), **runtime.arcs_in(graph),
        ).stored()  # fmt: skip

    inputs = {"graph": graph.digest, "answer": answer.digest}
    return make(runtime.work / f"proof-{stage}", f"proof-{stage}", inputs, {"oracle": oracle}, write, code)


Prove = Callable[[Folder, "AnswerTable", "TaskContext", range], tuple[str, ...]]


def _require(
    prove: Prove, graph: Folder, table: "AnswerTable", runtime: Runtime, code: Code, ranks: int = 0
) -> CheckFacts:  # fmt: skip
    """The rules that `prove` checked for every answer of a table, and seconds. Raises ProofFailed."""
    from pipeline.steps.seeded.rankings import tasks_of

    started = time.perf_counter()
    answers = table.facts.num_answers
    in_tasks = tasks_of if table.has_seeds else tables.by_file
    tasks = [range(answers)] if ranks else in_tasks(answers, GraphFacts.of(graph).vertices)
    rules: tuple[str, ...] = ()
    times = 0
    checked = runtime.cluster.map(partial(_counted, prove, graph, table), tasks, runtime.backend, ranks, code=code)
    for of_ranks in progress.counted(checked, list(map(len, tasks)), "sources"):
        rules = of_ranks[0][0] or rules
        times += sum(of_rank for _, of_rank in of_ranks)
    return CheckFacts(rules=list(rules), seconds=round(time.perf_counter() - started, 6), **on_cpu(times))


def _counted(
    prove: Prove, graph: Folder, table: "AnswerTable", context: "TaskContext", answers: range
) -> tuple[tuple[str, ...], int]:
    """What `prove` returns, and how often the CPU took over."""
    with taken_over(context.backend) as taken:
        rules = prove(graph, table, context, answers)
    return rules, taken.times if taken else 0


def _ask_oracle(graph: Folder, table: "AnswerTable", runtime: Runtime, code: Code) -> CheckFacts:
    """Compare with the second solver, which the log names, with a warning where it is not cuGraph on a GPU."""
    from kernels.oracle import solver_of, why_not_on_gpu

    stage = table.algorithm.name
    reason = why_not_on_gpu(stage, GraphFacts.of(graph).arcs)
    solver = solver_of(stage, on_gpu=not reason)
    if reason and runtime.backend == "gpu":
        log.warning("%s: the oracle is %s on the CPU: %s", stage, solver, reason)
    else:
        log.info("%s: the oracle is %s", stage, solver)
    where = replace(runtime, backend="cpu") if reason else runtime
    return _require(_compare, graph, table, where, code).model_copy(update={"solver": solver})


def _certify(graph: Folder, table: "AnswerTable", context: "TaskContext", answers: range) -> tuple[str, ...]:
    from pipeline.steps.seeded.rankings import certify_rankings

    if table.has_seeds:
        return certify_rankings(graph, table, context, answers)
    held = context.graph_with_index(graph) if table.index else context.graph_for(table.algorithm, graph)
    return _check_all(held, table, partial(held.certifier(table.algorithm), **(table.facts.options or {})), context, answers)


def _compare(graph: Folder, table: "AnswerTable", context: "TaskContext", answers: range) -> tuple[str, ...]:
    """Solve again with the oracle, on the whole graph."""
    from kernels.oracle import oracle
    from pipeline.steps.seeded.rankings import options_of

    held = context.graph_with_index(graph) if table.index else context.graph(graph)
    solve_again, options = partial(oracle, context.whole_graph(graph).graph, table.algorithm.name), table.facts.options or {}
    if not table.has_seeds:
        return _check_all(held, table, partial(solve_again, **options), context, answers)
    whole, rules = context.whole_graph(graph), tuple[str, ...]()
    for number in answers:
        compare = partial(solve_again, **options_of(whole, graph, table, number))
        rules = _check_all(held, table, compare, context, range(number, number + 1))
    return rules


def _check_all(
    held: "HeldGraph", table: "AnswerTable", certify: Callable[[Any], Certificate], context: "TaskContext", answers: range
) -> tuple[str, ...]:  # fmt: skip
    """The rules by which some answers hold; none where there are no answers. Raises ProofFailed."""
    name = table.algorithm.name

    def check_one(number: int) -> Certificate:
        with span(f"read {name}", "read"):
            answer = held.read(table, number)
        with context.turn(), span(f"prove {name}", "proof"):
            return certify(answer)

    rules: tuple[str, ...] = ()
    for verdict in map_in_order(check_one, answers, min(held.threads, len(answers) or 1)):
        rules = verdict.rules
        progress.advance()
        if not verdict.holds:
            raise ProofFailed(f"{name}: {verdict.reason}")
    return rules
