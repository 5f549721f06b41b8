"""The disk space of a table whose rows belong to sources. A table that does not fit is refused before its first tree is swept."""

from collections.abc import Callable, Iterable
from dataclasses import replace
from functools import partial
from pathlib import Path

import numpy as np
import pyarrow as pa

from pipeline.cluster.protocol import TaskContext
from pipeline.errors import TooLarge
from pipeline.runtime.memory import free_disk
from pipeline.steps.products.sweeping import Sweeps
from pipeline.steps.runtime import Runtime
from pipeline.store.facts import GraphFacts
from pipeline.tables.files import write_rows
from pipeline.units import size

Rows = Callable[[Sweeps, TaskContext, range], Iterable[pa.RecordBatch]]  # of a range of sources, in the table's order
_VALUE = 9  # bytes that a value takes at most
_MEASURED = 64  # sources whose rows are encoded to estimate the size of all rows
_CERTAIN = 0.75  # of the estimate


def require_disk(folder: Path, sweeps: Sweeps, rows: Rows, schema: pa.Schema, keys: list[str], runtime: Runtime) -> None:
    """Raise TooLarge if a table certainly takes more than is free on the disk of `folder`.

    Unless the largest possible table fits, some sources, evenly spread, are searched from, and their rows are encoded.
    """
    free = free_disk(folder)
    ends = GraphFacts.of(sweeps.graph).vertices if sweeps.targets is None else len(sweeps.targets)
    if sweeps.count * ends * len(schema) * _VALUE <= free:
        return
    ids = sweeps.ids
    some = replace(sweeps, given=ids[np.linspace(0, len(ids) - 1, min(_MEASURED, len(ids))).astype(np.int64)])
    measure = partial(_measure, some, rows, schema, keys)
    ((measured,),) = runtime.cluster.map(measure, [range(some.count)], runtime.backend, one_at_a_time=True)
    needed = measured / some.count * sweeps.count
    if needed * _CERTAIN > free:
        raise TooLarge(f"a table from {sweeps.count:,} sources takes about {size(needed)} of disk, and {size(free)} are free")


def _measure(sweeps: Sweeps, rows: Rows, schema: pa.Schema, keys: list[str], context: TaskContext, part: range) -> int:
    """Bytes of the rows as a file."""
    file = pa.MockOutputStream()
    write_rows(file, schema, keys, rows(sweeps.for_task(), context, part))
    size: int = file.size()
    return size
