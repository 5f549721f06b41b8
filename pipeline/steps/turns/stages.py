"""Stages on a split graph: their answers of its vertices are computed and proved, and then become answers of crossings."""

from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from kernels.cpu.parallel import cores
from kernels.graph import Array
from pipeline.cluster.protocol import TaskContext
from pipeline.config.model import Model
from pipeline.errors import Damaged, ProofFailed
from pipeline.steps.runtime import Runtime
from pipeline.steps.sources import default_source, require_sources
from pipeline.steps.stages import run_stage
from pipeline.steps.turns import COPIES
from pipeline.steps.turns.folding import of_crossings
from pipeline.steps.turns.turned import Turned
from pipeline.steps.verify import prove
from pipeline.store.code import HELD_GRAPH, Code
from pipeline.store.facts import GraphFacts, ProofFacts, StageFacts
from pipeline.store.manifest import Folder, check, make, read
from pipeline.store.scratch import attempts_beside
from pipeline.tables import files as tables
from pipeline.tables.answer_table import AnswerTable, open_table
from pipeline.tables.forms import PATHS

RULE = "the distance of each crossing is the smallest of the crossing's and its copies', and its predecessor is tight"
_FOLDER = "turning"  # of the steps on the split graph, below that of the run's
_CODE = Code((__name__, *HELD_GRAPH))


def run_turned(turned: Turned, stage: str, sources: list[int], runtime: Runtime, options: Model | None = None) -> Folder:
    """Run a stage of paths on the split graph, and write its table of crossings: `work / STAGE`.

    Returns and raises as `run_stage`.
    """
    require_sources(turned.streets, sources)
    default = None if sources else default_source(turned.streets)
    answer = run_stage(turned.graph, stage, sources if default is None else [default], _there(runtime), options)
    facts = StageFacts.of(answer)

    def write(folder: Path) -> dict[str, Any]:
        table = open_table(answer, GraphFacts.of(turned.graph).vertices, None)
        tasks = tables.by_file(facts.num_answers, GraphFacts.of(turned.streets).vertices)
        made = runtime.cluster.map(partial(_write, turned, table, attempts_beside(folder)), tasks, runtime.backend, code=_CODE)
        rows = 0
        for ((files, written),) in made:
            for number, path in files.items():
                path.rename(folder / tables.file_name(number))
            rows += written
        weight = GraphFacts.of(turned.streets).weight
        return facts.model_copy(update={"rows": rows, "weight": weight}).stored()

    inputs = {"graph": turned.streets.digest, "turned": turned.graph.digest, "answer": answer.digest}
    return make(runtime.work / stage, stage, inputs, {"sources": sorted(sources)}, write, _CODE)


def _there(runtime: Runtime) -> Runtime:
    """Where steps on the split graph work."""
    (work := runtime.work / _FOLDER).mkdir(exist_ok=True)
    return replace(runtime, work=work)


def _write(
    turned: Turned, table: AnswerTable, attempts: Path, context: TaskContext, answers: range
) -> tuple[dict[int, Path], int]:  # fmt: skip
    """Write the files of some answers; their paths by numbers, and how many rows they have."""
    held, whole, facts = turned.street_graph(context), turned.split_graph(context), GraphFacts.of(turned.streets)
    name = table.algorithm.table_name
    schema, hops = tables.schema(name, facts.weight, 0, facts.measure), _counts_hops(table)
    with tables.Files(attempts, schema, tables.keys(name), cores()) as files:
        for number in answers:
            with context.turn():
                paths = of_crossings(turned.rows(context), whole.read(table, number), hops)
            for file, batch in held.batches(PATHS, paths, schema, number):
                files.write(file, batch)
        if not answers:
            files.begin(0)
    return files.paths, files.rows


def _counts_hops(table: AnswerTable) -> bool:
    """Whether the distances of a table are numbers of arcs."""
    return any((column.name, column.unit) == ("distance", "hops") for column in table.algorithm.columns)


def prove_turned(turned: Turned, table: Folder, oracle: bool, runtime: Runtime) -> Folder:
    """Prove the answer on the split graph, and that each row of the table follows from it; as `pipeline.steps.verify.prove`."""
    stage = table.manifest.step
    answer = read(runtime.work / _FOLDER / stage)
    if answer.digest != table.manifest.inputs["answer"]:
        raise Damaged(f"{answer.path}: is not the answer from which {table.path} was made; start again")
    proof = ProofFacts.of(prove(turned.graph, answer, oracle, _there(runtime)))

    def write(_: Path) -> dict[str, Any]:
        check(table)
        check(answer)
        copies = pq.read_table(turned.split.path / COPIES, page_checksum_verification=True)
        tabled, solved = (open_table(of, GraphFacts.of(graph).vertices, None) for of, graph in (
            (table, turned.streets), (answer, turned.graph)))  # fmt: skip
        for number in range(solved.facts.num_answers):
            _compare(tabled.columns(number), solved.columns(number), copies)
        return proof.model_copy(update={"rules": [*proof.rules, RULE]}).stored()

    inputs = {"graph": turned.streets.digest, "answer": table.digest, "turned": turned.graph.digest}
    return make(runtime.work / f"proof-{stage}", f"proof-{stage}", inputs, {"oracle": oracle}, write, _CODE)


def _compare(tabled: dict[str, Array], solved: dict[str, Array], copies: pa.Table) -> None:
    """Raise ProofFailed unless the rows of crossings follow from those of the split graph, both of which ascend by vertices."""
    added, of, is_end = (copies[name].to_numpy() for name in ("id", "vertex", "end"))
    ids, distance, before = (solved[name] for name in ("vertex", "distance", "predecessor"))
    crossing = ids.copy()
    crossing[np.searchsorted(ids, added)] = of
    vertices, most = np.setdiff1d(ids, added, assume_unique=True), np.iinfo(np.int64).max
    reached = np.flatnonzero((distance >= 0) & ~np.isin(ids, added[is_end]))
    least = np.full(len(vertices), most)
    np.minimum.at(least, np.searchsorted(vertices, crossing[reached]), distance[reached])
    least[least == most] = -1
    last = np.searchsorted(ids, vertices)  # of the rows, that in which the path to each crossing ends
    last[np.searchsorted(vertices, of[is_end])] = np.searchsorted(ids, before[np.searchsorted(ids, added[is_end])])
    due = np.where(least >= 0, before[last], -1)
    due = np.where(due >= 0, crossing[np.searchsorted(ids, due)], -1)
    same = np.array_equal(tabled["vertex"], vertices) and np.array_equal(tabled["distance"], least)
    if not (same and np.array_equal(tabled["predecessor"], due) and (tabled["source"] == solved["source"][:1]).all()):
        raise ProofFailed(f"turns: the rows from {solved['source'][:1]} are not those of the split graph's shortest paths")
