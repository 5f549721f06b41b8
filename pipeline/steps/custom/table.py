"""The table of a stage that a user wrote: solved, written, read back, and proved as far as the user's file allows."""

import time
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any, TypeVar

import numpy as np

from pipeline.cluster.protocol import Place
from pipeline.config.custom import KEY, CustomConfig
from pipeline.errors import BadInput, ProofFailed
from pipeline.runtime.backend import Backend
from pipeline.steps.custom.answers import Answer, answer_of, checked, first_difference, schema_of, table_of
from pipeline.steps.custom.program import CERTIFY, SOLVE, Program, read_program
from pipeline.steps.runtime import Runtime
from pipeline.store.attempts import attempts_beside, new_attempt
from pipeline.store.code import Code
from pipeline.store.facts import CheckFacts
from pipeline.store.facts.products import CustomFacts
from pipeline.store.manifest import Folder, make
from pipeline.tables import files as tables

Result = TypeVar("Result")
CODE = Code((__name__,))
TABLE_RULE = "the table has its columns, and every vertex once and in order"
PREFIX = "custom-"  # of the steps' names
PROVED, COMPARED, NOT_PROVED = "proved by the user's certificate", "compared on CPU and GPU", "not proved"


def require_custom(custom: CustomConfig) -> Program:
    """The program of a stage. Raises what the stage would raise for a file that is not there, or is not Python with `solve`."""
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
    # The backend: nothing forces a user's function to give the same bytes on both.
    parameters = {**custom.model_dump(exclude={"file"}), "program": program.digest, "backend": runtime.backend}

    def write(folder: Path) -> dict[str, Any]:
        seconds, rows, written = _only(runtime, partial(_solve, graph, program, custom, attempts_beside(folder)))
        for number, path in enumerate(written):
            path.rename(folder / tables.file_name(number))
        started = time.perf_counter()
        verdict, rules = _proved(graph, program, custom, folder, runtime)
        proof = CheckFacts(rules=rules, seconds=round(time.perf_counter() - started, 6))
        return CustomFacts(
            backend=runtime.backend, seconds=seconds, rows=rows, program=program.file, sha256=program.digest,
            columns=dict(custom.columns), options=custom.options, verdict=verdict, proof=proof,
        ).stored()  # fmt: skip

    step = PREFIX + custom.name
    return make(runtime.work / step, step, {"graph": graph.digest}, parameters, write, CODE)


def _only(runtime: Runtime, function: Callable[[Place], Result], backend: Backend | None = None) -> Result:
    """Run one task, of which the cluster chooses the place."""
    ((result,),) = runtime.cluster.map(partial(_at, function), [0], backend or runtime.backend, one_at_a_time=True, code=CODE)
    return result


def _at(function: Callable[[Place], Result], place: Place, _: int) -> Result:
    return function(place)


def _answer(graph: Folder, program: Program, custom: CustomConfig, place: Place) -> Answer:
    given = place.whole_graph(graph).graph
    with place.turn():
        return checked(program.call(SOLVE, given, dict(custom.options)), custom, given.num_vertices)


def _solve(graph: Folder, program: Program, custom: CustomConfig, attempts: Path, place: Place) -> tuple[float, int, list[Path]]:
    """Solve, and write the files of the table under names that no other attempt has; seconds, rows and these paths."""
    started = time.perf_counter()
    answer = _answer(graph, program, custom, place)
    seconds = round(time.perf_counter() - started, 6)
    table, written = table_of(answer, custom, place.whole_graph(graph).graph), []
    for number in range(tables.files_of(len(table))):
        rows = table.slice(number * tables.ROWS_PER_FILE, tables.ROWS_PER_FILE)
        written.append(new_attempt(attempts))
        tables.write_rows(written[-1], schema_of(custom), [KEY], rows.to_batches(tables.ROWS_PER_GROUP))
    return seconds, len(table), written


def _proved(graph: Folder, program: Program, custom: CustomConfig, folder: Path, runtime: Runtime) -> tuple[str, list[str]]:
    """How the table was proved, and the rules that were checked."""
    if program.certifies:
        _only(runtime, partial(_certify, graph, program, custom, folder))
        return PROVED, [TABLE_RULE, f"{CERTIFY} of {Path(program.file).name} holds for the table as it was read back"]
    again: Backend | None = "cpu" if runtime.backend == "gpu" else None
    _only(runtime, partial(_compare, graph, program, custom, folder, again), again)
    return (COMPARED, [TABLE_RULE, "the CPU gives the same bytes as the GPU"]) if again else (NOT_PROVED, [TABLE_RULE])


def _read_back(graph: Folder, custom: CustomConfig, folder: Path, place: Place) -> Answer:
    answer = answer_of(tables.read(folder), custom, place.whole_graph(graph).graph)
    if answer is None:
        raise ProofFailed(f"{custom.name}: the table does not have its columns, or every vertex once and in order")
    return answer


def _certify(graph: Folder, program: Program, custom: CustomConfig, folder: Path, place: Place) -> None:
    given, answer = place.whole_graph(graph).graph, _read_back(graph, custom, folder, place)
    with place.turn():
        here = {name: np.asarray(values, like=given.ids) for name, values in answer.items()}
        verdict = program.call(CERTIFY, given, here, dict(custom.options))
    if isinstance(verdict, str):
        raise ProofFailed(f"{custom.name}: {verdict}")
    if not isinstance(verdict, bool | np.bool_):
        kind = type(verdict).__name__
        raise BadInput(program.file, f"{CERTIFY} returned {kind}; it returns True, or False or a text that says what is wrong")
    if not verdict:
        raise ProofFailed(f"{custom.name}: {CERTIFY} of {program.file} does not hold")


def _compare(
    graph: Folder, program: Program, custom: CustomConfig, folder: Path, again: Backend | None, place: Place
) -> None:  # fmt: skip
    """Require the table of the answer, and the same bytes if it is solved again."""
    answer = _read_back(graph, custom, folder, place)
    if again and (found := first_difference(answer, _answer(graph, program, custom, place))):
        column, row = found
        vertex = int(place.whole_graph(graph).graph.ids[row])
        raise ProofFailed(
            f"{custom.name}: {column} of vertex {vertex} is not the same on the GPU and on the CPU; "
            f"define {CERTIFY}, which then decides, in {program.file}"
        )
