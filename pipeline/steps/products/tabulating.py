"""Tables whose rows belong to sources: a product turns a batch of trees into rows, and this module writes the files."""

from collections.abc import Iterable, Iterator, Sequence
from functools import partial
from pathlib import Path
from typing import Protocol

import pyarrow as pa

from kernels.graph import Array, Graph
from kernels.trees import Trees
from pipeline import progress
from pipeline.cluster.protocol import TaskContext
from pipeline.steps.products.space import require_disk
from pipeline.steps.products.sweeping import Sweeps, Swept
from pipeline.steps.runtime import Runtime
from pipeline.store.scratch import attempts_beside, new_attempt
from pipeline.tables import files as tables
from pipeline.tables.batches import in_groups

PER_TASK, PER_LAST_TASK = 4096, 1024  # sources of a task whose rows are sent, and of the last ones: a batch on a GPU


class TreeTable(Protocol):
    """How trees become rows; it is sent to workers."""

    @property
    def sweeps(self) -> Sweeps:
        """Its trees."""

    @property
    def schema(self) -> pa.Schema:
        """Of its table."""

    def rows_of(self, graph: Graph, ids: Array, trees: Trees) -> Iterable[pa.RecordBatch]:
        """The rows of a batch of trees, whose sources have these external ids, in the table's order."""


def write_files(folder: Path, product: TreeTable, keys: Sequence[str], per_file: int, runtime: Runtime) -> Swept:
    """Write a table whose files have complete sources, `per_file` of them; a file is a task.

    Raises TooLarge as `require_disk`.
    """
    require_disk(folder, product.sweeps, partial(_in_groups, product), product.schema, list(keys), runtime)
    sweeps, total = product.sweeps.prepared(runtime), Swept()
    tasks = sweeps.tasks(per_file)
    run = partial(_write_file, product, sweeps, keys, attempts_beside(folder))
    written = runtime.cluster.map(run, tasks, runtime.backend, one_at_a_time=True)
    for number, ((path, swept),) in enumerate(progress.counted(written, list(map(len, tasks)), "sources")):
        path.rename(folder / tables.file_name(number))
        total.add(swept)
    return total


def write_rows(folder: Path, product: TreeTable, keys: Sequence[str], runtime: Runtime) -> tuple[Swept, pa.Table]:
    """Write a table that has few rows for each source, which the tasks send; return it, too."""
    sweeps, total, tables_of_tasks = product.sweeps.prepared(runtime), Swept(), [product.schema.empty_table()]
    tasks = sweeps.tasks(PER_TASK, PER_LAST_TASK)
    sent = runtime.cluster.map(partial(_send, product, sweeps, keys), tasks, runtime.backend, one_at_a_time=True)
    for ((table, swept),) in progress.counted(sent, list(map(len, tasks)), "sources"):
        tables_of_tasks.append(table)
        total.add(swept)
    table = pa.concat_tables(tables_of_tasks).combine_chunks()
    for number in range(tables.files_of(len(table))):
        rows = table[number * tables.ROWS_PER_FILE : (number + 1) * tables.ROWS_PER_FILE]
        tables.write_rows(folder / tables.file_name(number), product.schema, keys, rows.to_batches(tables.ROWS_PER_GROUP))
    return total, table


def _write_file(
    product: TreeTable, sweeps: Sweeps, keys: Sequence[str], attempts: Path, context: TaskContext, part: range
) -> tuple[Path, Swept]:
    sweeps, attempt = sweeps.for_task(), new_attempt(attempts)
    sweeps.swept.rows = tables.write_rows(attempt, product.schema, keys, _in_groups(product, sweeps, context, part))
    return attempt, sweeps.swept


def _send(product: TreeTable, sweeps: Sweeps, keys: Sequence[str], context: TaskContext, part: range) -> tuple[pa.Table, Swept]:
    sweeps = sweeps.for_task()
    table = pa.Table.from_batches(_rows(product, sweeps, context, part, in_order=False), product.schema)
    table = table.sort_by([(key, "ascending") for key in keys])
    sweeps.swept.rows = len(table)
    return table, sweeps.swept


def _in_groups(product: TreeTable, sweeps: Sweeps, context: TaskContext, part: range) -> Iterator[pa.RecordBatch]:
    """The rows in batches that fill row groups."""
    for group in in_groups(pa.Table.from_batches([batch]) for batch in _rows(product, sweeps, context, part)):
        yield from group.combine_chunks().to_batches()


def _rows(
    product: TreeTable, sweeps: Sweeps, context: TaskContext, part: range, in_order: bool = True
) -> Iterator[pa.RecordBatch]:
    graph = sweeps.graph_at(context)
    for ids, trees in sweeps.batches(context, part, in_order=in_order):
        yield from product.rows_of(graph, ids, trees)
        progress.advance(len(ids))
