"""The table of a stage that a user wrote: solved, written, read back, and proved as far as the user's file allows."""

import time
from collections.abc import Callable
from copy import deepcopy
from functools import partial
from pathlib import Path
from typing import Any, TypeVar

import numpy as np

from kernels.registry import BY_NAME
from pipeline.cluster.protocol import TaskContext
from pipeline.config.custom import KEY, CustomConfig
from pipeline.errors import BadConfig, BadInput, ProofFailed
from pipeline.registry.products import PRODUCTS
from pipeline.runtime.backend import Backend
from pipeline.steps.custom.answers import Answer, answer_of, checked, first_difference, numbering_of, schema_of, table_of
from pipeline.steps.custom.lending import lent
from pipeline.steps.custom.program import CERTIFY, SOLVE, UserProgram, read_program
from pipeline.steps.runtime import Runtime
from pipeline.store.code import Code, imports_of
from pipeline.store.facts import CheckFacts
from pipeline.store.facts.products import CustomFacts
from pipeline.store.index.folder import STEP as INDEX
from pipeline.store.manifest import Folder, make
from pipeline.store.scratch import attempts_beside, new_attempt
from pipeline.tables import files as tables
from pipeline.tables.changes import SUFFIX
from pipeline.tables.definitions import CUSTOM, TABLES

Result = TypeVar("Result")
_TAKEN = {*TABLES, *BY_NAME, *PRODUCTS, INDEX}
TABLE_RULE = "the table has its columns, and every vertex once and in order"


def require_custom(custom: CustomConfig) -> UserProgram:
    """The program of a stage.

    Raises:
        BadConfig: A table, stage or folder of the project has this name.
        BadInput, OSError: As `read_program`.
    """
    if custom.name in _TAKEN or custom.name.endswith(SUFFIX):
        raise BadConfig(f"custom: {custom.name}: is the name of something that a run may have already; choose another one")
    return read_program(custom.file)


def tabulate_custom(graph: Folder, custom: CustomConfig, runtime: Runtime) -> Folder:
    """Run a user's stage, and write and prove its table.

    Args:
        graph: The stored graph; `solve` and `certify` get it as `kernels.graph.Graph`, on a GPU where the run computes there.
        custom: The stage.
        runtime: The folder is `work / "custom-NAME"`.

    Returns:
        The table. Facts: `CustomFacts`. A file with `certify` proves it; otherwise, on a GPU, the CPU solves again, and all bytes
            have to be the same.

    Raises:
        BadInput: The file cannot be read or is not Python, it raises an error, or returns what is no such table; with the line.
        ProofFailed: The certificate does not hold, or CPU and GPU differ.
        ClusterLost: As `cluster.map`.
    """
    program = require_custom(custom)
    where = str(Path(program.file).absolute())
    # The backend: nothing forces a user's function to give the same bytes on both.
    parameters = custom.model_dump(mode="json") | {"file": where, "sha256": program.sha256, "backend": runtime.backend}

    def write(folder: Path) -> dict[str, Any]:
        seconds, rows, written = _only(runtime, program, partial(_solve, graph, program, custom, attempts_beside(folder)))
        for number, path in enumerate(written):
            path.rename(folder / tables.file_name(number))
        started = time.perf_counter()
        rules = _rules_after(graph, program, custom, folder, runtime)
        proof = CheckFacts(rules=rules, seconds=round(time.perf_counter() - started, 6))
        return CustomFacts(
            backend=runtime.backend, seconds=seconds, rows=rows, file=where, sha256=program.sha256,
            columns=dict(custom.columns), options=custom.options, proof=proof, proved=program.proof_on(runtime.backend),
            **runtime.opened(graph),
        ).stored()  # fmt: skip

    step = CUSTOM + custom.name
    return make(runtime.work / step, step, {"graph": graph.digest}, parameters, write, _code(program))


def _code(program: UserProgram) -> Code:
    """The code of this project that a stage uses: that of the step, and what the user's file imports."""
    return Code((__name__, *sorted(imports_of(program.text))))


def _only(
    runtime: Runtime, program: UserProgram, function: Callable[[TaskContext], Result], backend: Backend | None = None
) -> Result:
    """Run one task, of which the cluster chooses the place."""
    tasks, where = partial(_at, function), backend or runtime.backend
    ((result,),) = runtime.cluster.map(tasks, [0], where, one_at_a_time=True, code=_code(program))
    return result


def _at(function: Callable[[TaskContext], Result], context: TaskContext, _: int) -> Result:
    return function(context)


def _answer(graph: Folder, program: UserProgram, custom: CustomConfig, context: TaskContext) -> Answer:
    with lent(graph, context) as given:
        return checked(program.call(SOLVE, given, deepcopy(custom.options)), custom, given.num_vertices)


def _solve(
    graph: Folder, program: UserProgram, custom: CustomConfig, attempts: Path, context: TaskContext
) -> tuple[float, int, list[Path]]:
    """Solve, and write the files of the table under names that no other attempt has; seconds, rows and these paths."""
    order, ids = numbering_of(context.whole_graph(graph).graph)  # on a GPU the graph is closed after the user's function
    started = time.perf_counter()
    answer = _answer(graph, program, custom, context)
    seconds = round(time.perf_counter() - started, 6)
    table, written = table_of(answer, custom, order, ids), []
    for number in range(tables.files_of(len(table))):
        rows = table.slice(number * tables.ROWS_PER_FILE, tables.ROWS_PER_FILE)
        written.append(new_attempt(attempts))
        tables.write_rows(written[-1], schema_of(custom), [KEY], rows.to_batches(tables.ROWS_PER_GROUP))
    return seconds, len(table), written


def _rules_after(
    graph: Folder, program: UserProgram, custom: CustomConfig, folder: Path, runtime: Runtime
) -> list[str]:  # fmt: skip
    """Prove the table, as `UserProgram.proof_on` says; the rules that were checked."""
    if program.certifies:
        _only(runtime, program, partial(_certify, graph, program, custom, folder))
        return [TABLE_RULE, f"{CERTIFY} of {Path(program.file).name} holds for the table as it was read back"]
    again: Backend | None = "cpu" if runtime.backend == "gpu" else None
    _only(runtime, program, partial(_compare, graph, program, custom, folder, again), again)
    return [TABLE_RULE, *(["the CPU gives the same bytes as the GPU"] if again else [])]


def _read_back(graph: Folder, custom: CustomConfig, folder: Path, context: TaskContext) -> Answer:
    answer = answer_of(tables.read(folder), custom, *numbering_of(context.whole_graph(graph).graph))
    if answer is None:
        raise ProofFailed(f"{custom.name}: the table does not have its columns, or every vertex once and in order")
    return answer


def _certify(graph: Folder, program: UserProgram, custom: CustomConfig, folder: Path, context: TaskContext) -> None:
    answer = _read_back(graph, custom, folder, context)
    with lent(graph, context) as given:
        here = {name: np.asarray(values, like=given.ids) for name, values in answer.items()}
        verdict = program.call(CERTIFY, given, here, deepcopy(custom.options))
        if getattr(verdict, "shape", None) == () and verdict.dtype == np.bool_:
            verdict = bool(verdict)  # what `all()` of an array returns: on a GPU an array without dimensions
    if isinstance(verdict, str):
        raise ProofFailed(f"{custom.name}: {verdict}")
    if not isinstance(verdict, bool):
        kind = type(verdict).__name__
        raise BadInput(program.file, f"{CERTIFY} returned {kind}; it returns True, or False or a text that says what is wrong")
    if not verdict:
        raise ProofFailed(f"{custom.name}: {CERTIFY} of {program.file} does not hold")


def _compare(
    graph: Folder, program: UserProgram, custom: CustomConfig, folder: Path, again: Backend | None, context: TaskContext
) -> None:  # fmt: skip
    """Require the table of the answer, and the same bytes if it is solved again."""
    answer = _read_back(graph, custom, folder, context)
    if again and (difference := first_difference(answer, _answer(graph, program, custom, context))):
        column, row = difference
        vertex = int(context.whole_graph(graph).graph.ids[row])
        raise ProofFailed(
            f"{custom.name}: {column} of vertex {vertex} is not the same on the GPU and on the CPU; "
            f"define {CERTIFY}, which then decides, in {program.file}"
        )
