"""The step of stage `max_flow`: pairs of vertices from a file, and the table of the maximum flows between them."""

from functools import partial
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa

from kernels.algorithm import Algorithm
from kernels.gpu.transfer import on_host
from kernels.graph import NO_ROW, Array
from pipeline import progress
from pipeline.cluster.protocol import TaskContext
from pipeline.errors import BadInput
from pipeline.ingest.source import identify, locate, require_same
from pipeline.runtime.backend import Clock
from pipeline.steps.pairs import batches, blocks
from pipeline.steps.runtime import Runtime
from pipeline.store.arrays import save_array
from pipeline.store.code import Code
from pipeline.store.counting import decimals_of
from pipeline.store.facts import GraphFacts, StageFacts
from pipeline.store.manifest import Folder, make
from pipeline.tables import files as tables
from pipeline.tables.batches import as_batch
from pipeline.tables.forms import FLOWS, AllVertices
from pipeline.tables.row_lookup import require_pairs_known, rows_of

_TASKS = 64  # at most
_Solved = tuple[pa.RecordBatch, list[Array], float]  # rows of the table, the flows as `Flows` has them, and seconds


def solve_pairs(graph: Folder, algorithm: Algorithm, pairs: str, runtime: Runtime) -> Folder:
    """Solve for the pairs of a file, and write the table and, for its proof, the flows; see `pipeline.steps.stages.run_stage`.

    Raises:
        BadInput: The file is not there, is no such Parquet file, or a row has a null, an unknown vertex, or one vertex twice; the
            message has the row, from 0. Or the weights are too large.
        ClusterLost: As `cluster.map`.
    """
    source, code = locate(pairs), Code.of(__name__, algorithm=algorithm, functions=("solver",))
    path, facts = source.require_local(), GraphFacts.of(graph)
    inputs = {"graph": graph.digest, "pairs": identify(source, None)}

    def write(folder: Path) -> dict[str, Any]:
        ends = read_pairs(path, pairs, graph)
        require_same(source, inputs["pairs"])
        together = runtime.in_this_process or runtime.backend == "gpu"
        count = 1 if together else max(1, min(len(ends[0]), _TASKS))
        cuts = [len(ends[0]) * number // count for number in range(count + 1)]
        tasks = [(begin, ends[:, begin:end]) for begin, end in pairwise(cuts)]
        run = partial(_solve, graph, algorithm, pairs)
        answers = runtime.cluster.map(run, tasks, runtime.backend, one_at_a_time=True, code=code)
        solved = [parts[0] for parts in progress.counted(answers, [ids.shape[1] for _, ids in tasks], "pairs")]
        schema = tables.schema(algorithm.table_name, facts.weight, measure=facts.measure)
        rows = pa.Table.from_batches([batch for batch, _, _ in solved]).combine_chunks()  # row groups do not depend on tasks
        tables.write_rows(folder / tables.file_name(0), schema, tables.keys(algorithm.table_name), rows.to_batches())
        begins, arcs, amounts = zip(*(flows for _, flows, _ in solved), strict=True)
        counts = np.concatenate([[0], *map(np.diff, begins)])
        for name, array in zip(FLOWS.beside, (ends, counts.cumsum(), *map(np.concatenate, (arcs, amounts))), strict=True):
            save_array(folder / f"{name}.npy", array)
        seconds = round(sum(seconds for *_, seconds in solved), 6)
        return StageFacts(
            backend=runtime.backend, weight=facts.weight, rows=len(ends[0]), seconds=seconds, **runtime.opened(graph)
        ).stored()

    return make(runtime.work / algorithm.name, algorithm.name, inputs, {}, write, code)


def read_pairs(path: Path, name: str, graph: Folder) -> Array:
    """External ids of the pairs of a file, int64 [2, Q]. Raises BadInput."""
    parts: list[Array] = [np.empty((2, 0), np.int64)]
    for block in blocks(path, name, tables.ROWS_PER_FILE):
        if block.end > tables.ROWS_PER_FILE:
            raise BadInput(name, f"has more than {tables.ROWS_PER_FILE:,} pairs, the limit of stage max_flow")
        parts += [np.stack([column.to_numpy() for column in batch.columns]) for batch in batches(path, name, block, graph)]
    ids: Array = np.concatenate(parts, axis=1)
    if (same := ids[0] == ids[1]).any():
        row = int(same.argmax())
        raise BadInput(name, f"row {row}: src and dst are both {ids[0, row]}; a flow needs two vertices")
    return ids


def _solve(graph: Folder, algorithm: Algorithm, name: str, context: TaskContext, task: tuple[int, Array]) -> _Solved:
    """Solve for some pairs, from row `first` of the file on."""
    first, ids = task
    clock, vertices = Clock(context.backend), context.whole_graph(graph).graph
    with context.turn():
        rows = rows_of(vertices, ids.reshape(-1)).astype(vertices.rows_by_id.dtype)
        require_pairs_known(name, first, ids, (on_host(rows) != NO_ROW).reshape(2, -1), vertices.num_vertices)
        try:
            flows = clock.timed()(algorithm.resolve("solver"))(vertices, *rows.reshape(2, -1))
        except OverflowError as error:
            raise BadInput(graph.path, f"{algorithm.name}: {error}") from error
        facts = GraphFacts.of(graph)
        columns = FLOWS.columns(AllVertices(vertices), flows)
    columns[0] = columns[0] + first
    batch = as_batch(columns, tables.schema(algorithm.table_name, facts.weight, measure=facts.measure), decimals_of(graph))
    return batch, [on_host(getattr(flows, name)) for name in FLOWS.beside[1:]], clock.seconds
