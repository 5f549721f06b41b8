"""Edges whose ids are strings: a first reading of the source collects the names, a second one numbers its edges.

The second reading also proves the numbering against the source: names ascend, so they are different, and the name of each number
that is written is the id that the source has there.
"""

from collections.abc import Iterator
from functools import partial

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from kernels.cpu.parallel import cores
from pipeline.errors import Changed, ProofFailed
from pipeline.runtime.threads import map_in_order
from pipeline.store.names import UNKNOWN, VertexNames, merge, names_of
from pipeline.tables.batches import in_groups

ENDS = ("src", "dst")


def collect(tables: Iterator[pa.Table]) -> VertexNames:
    """All ids of an edge list."""
    return merge(map_in_order(lambda table: names_of(_ids(table)), in_groups(tables), cores()))


def numbered(file: str, names: VertexNames, tables: Iterator[pa.Table]) -> Iterator[pa.Table]:
    """The edges with numbers for ids.

    Raises:
        Changed: The file changed between the readings.
        ProofFailed: The names do not ascend, or a number is not that of the id in the file.
    """
    of_all = names.array()
    if len(names) > 1 and not pc.all(pc.less(of_all[:-1], of_all[1:])).as_py():
        raise ProofFailed(f"{file}: the names of the vertices do not ascend")
    return map_in_order(partial(_number, file, names, of_all), in_groups(tables), cores())


def _number(file: str, names: VertexNames, of_all: pa.Array, table: pa.Table) -> pa.Table:
    ids = _ids(table)
    numbers = names.find(ids)
    if (numbers == UNKNOWN).any():
        raise Changed(file, "changed while it was read")
    if not of_all.take(pa.array(numbers)).equals(ids):
        raise ProofFailed(f"{file}: a vertex has another number than its id")
    columns = dict(zip(ENDS, np.split(numbers, 2), strict=True))
    return pa.table(columns | {name: table[name] for name in table.schema.names if name not in ENDS})


def _ids(table: pa.Table) -> pa.Array:
    """The ids of both ends."""
    chunks = [chunk.cast(pa.large_string()) for name in ENDS for chunk in table[name].chunks]
    return pa.concat_arrays(chunks) if chunks else pa.array([], pa.large_string())
