"""Blocks of a table, and change tables with one fault, for the tests of comparisons on the CPU and on a GPU."""

import numpy as np
import pyarrow as pa

from pipeline.comparison.contract import KINDS, Columns
from pipeline.comparison.matching import Matchings
from pipeline.comparison.on_cpu import PairOnCpu

VALUES = {
    "long": lambda random, n: random.integers(0, 3, n),
    "int": lambda random, n: random.integers(0, 3, n).astype(np.int32),
    "short": lambda random, n: random.integers(0, 3, n).astype(np.int16),
    "double": lambda random, n: random.choice([0.0, -0.0, 1.5, np.nan], n),
    "float": lambda random, n: random.choice([0, 1, 2], n).astype(np.float32),
    "bool": lambda random, n: random.random(n) < 0.5,
    "time": lambda random, n: random.integers(0, 3, n).astype("datetime64[s]"),
    "text": lambda random, n: random.choice(["", "a", "ab"], n).astype(object),
}
NAMES = Columns(["key"], [*VALUES], set())
NUMBERS = Columns(["key"], [name for name in VALUES if name != "text"], set())


def pair_on_cpu(old, new, names=NAMES):
    return PairOnCpu(old, new, names, Matchings(1))


def block(random, apart=1):
    keys = np.flatnonzero(random.random(60) < 0.6) * apart
    columns = {
        name: pa.array(draw(random, len(keys)), mask=random.random(len(keys)) < 0.3, from_pandas=False)
        for name, draw in VALUES.items()
    }
    return pa.table({"key": keys, **columns})[int(random.integers(0, 3)) :]


def spoilt(rows, random):
    """The rows of a change table in which one value, one kind, or the number of rows is wrong."""
    row, way = int(random.integers(len(rows))), int(random.integers(4))
    if way == 0:
        return pa.concat_tables([rows[:row], rows[row + 1 :]])
    if way == 1:
        return pa.concat_tables([rows[: row + 1], rows[row:]])
    if way == 2:
        kinds = rows["kind"].to_pylist()
        kinds[row] = str(random.choice([kind for kind in KINDS if kind != kinds[row]]))
        return rows.set_column(len(rows.schema) - 1, "kind", pa.array(kinds).dictionary_encode())
    name = str(random.choice(rows.schema.names[:-1]))
    values = rows[name].to_pylist()
    true, other = values[row], [value for value in (*values, None) if repr(value) != repr(values[row])]
    if not other:  # the column is null in all rows
        return rows[:row]
    values[row] = 61 * 1000 if name == "key" else other[int(random.integers(len(other)))]
    assert repr(values[row]) != repr(true)
    return rows.set_column(rows.schema.get_field_index(name), name, pa.array(values, rows.schema.field(name).type))
