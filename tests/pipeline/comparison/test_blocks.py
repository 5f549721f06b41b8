"""Two blocks compared where Arrow has them: slices, nulls and every type, against Python's values."""

import numpy as np
import pyarrow as pa
import pytest

from pipeline.comparison.blocks import Columns, compare_blocks
from pipeline.comparison.fingerprints import Fingerprints

VALUES = {
    "long": lambda random, n: random.integers(0, 3, n),
    "int": lambda random, n: random.integers(0, 3, n).astype(np.int32),
    "double": lambda random, n: random.choice([0.0, -0.0, 1.5, np.nan], n),
    "float": lambda random, n: random.choice([0, 1, 2], n).astype(np.float32),
    "bool": lambda random, n: random.random(n) < 0.5,
    "time": lambda random, n: random.integers(0, 3, n).astype("datetime64[s]"),
    "text": lambda random, n: random.choice(["", "a", "ab"], n).astype(object),
}


def block(random):
    keys = np.flatnonzero(random.random(60) < 0.6)
    columns = {
        name: pa.array(draw(random, len(keys)), mask=random.random(len(keys)) < 0.3, from_pandas=False)
        for name, draw in VALUES.items()
    }
    return pa.table({"key": keys, **columns})[int(random.integers(0, 3)) :]


@pytest.mark.parametrize("seed", range(20))
def test_rows_that_differ_are_those_of_python(seed):
    random = np.random.default_rng(seed)
    old, new = block(random), block(random)
    found = compare_blocks(old, new, Columns(["key"], [*VALUES], set()), 0)
    before, after = ({row["key"]: {name: repr(row[name]) for name in VALUES} for row in side.to_pylist()} for side in (old, new))
    added, removed = after.keys() - before, before.keys() - after
    changed = {key for key in before.keys() & after.keys() if before[key] != after[key]}
    assert found.counts == (len(added), len(removed), len(changed))
    rows = found.rows().to_pylist()
    assert [row["key"] for row in rows] == sorted(added | removed | changed)
    for row in rows:
        for mark, side in (("old_", before), ("new_", after)):
            assert {name: repr(row[mark + name]) for name in VALUES} == side.get(row["key"], dict.fromkeys(VALUES, "None"))


def test_a_fingerprint_depends_on_the_rows_alone():
    one, other = (block(np.random.default_rng(seed)) for seed in (1, 2))
    prints = Fingerprints(len(one.schema.names))
    again = pa.table(
        {name: pa.chunked_array([one[name][:5].combine_chunks(), one[name][5:].combine_chunks()]) for name in one.schema.names}
    )
    assert prints.of(one) == prints.of(again) != prints.of(other)
    assert prints.of(one[:7]) + prints.of(one[7:]) - prints.of(one) in (0, 2**64)


@pytest.mark.filterwarnings("error")
def test_keys_that_are_floats_beyond_integers():
    old, new = (pa.table({"key": [0.5, 1e300, last], "value": [1, 2, 3]}) for last in (2e300, 3e300))
    found = compare_blocks(old, new, Columns(["key"], ["value"], set()), 0)
    assert found.rows().column("key").to_pylist() == [2e300, 3e300]
