"""Two blocks compared where Arrow has them: slices, nulls and every type, against Python's values, and the proof."""

import numpy as np
import pyarrow as pa
import pytest

from pipeline.comparison.blocks import KINDS, ComparedColumns, compare_blocks
from pipeline.comparison.replay import replays
from pipeline.comparison.values import key_numbers

VALUES = {
    "long": lambda random, n: random.integers(0, 3, n),
    "int": lambda random, n: random.integers(0, 3, n).astype(np.int32),
    "short": lambda random, n: random.integers(0, 3, n).astype(np.int16),
    "double": lambda random, n: random.choice([0.0, -0.0, 1.5, np.nan], n),
    "float": lambda random, n: random.choice([0, 1, 2], n).astype(np.float32),
    "bool": lambda random, n: random.random(n) < 0.5,
    "time": lambda random, n: random.integers(0, 3, n).astype("datetime64[s]"),
    "text": lambda random, n: random.choice(["", "a", "ab"], n).astype(object),
    "bytes": lambda random, n: random.choice([b"", b"a", b"\xff"], n).astype(object),
    "list": lambda random, n: [random.integers(0, 2, random.integers(0, 3)).tolist() for _ in range(n)],
    "floats": lambda random, n: [random.choice([0.0, -0.0, np.nan], random.integers(0, 3)).tolist() for _ in range(n)],
    "pair": lambda random, n: [{"a": random.choice([0.0, -0.0, np.nan]), "b": ["x"] * random.integers(0, 2)} for _ in range(n)],
}
NAMES = ComparedColumns(["key"], [*VALUES], set())


def block(random, apart=1):
    keys = np.flatnonzero(random.random(60) < 0.6) * apart
    columns = {
        name: pa.array(draw(random, len(keys)), mask=random.random(len(keys)) < 0.3, from_pandas=False)
        for name, draw in VALUES.items()
    }
    return pa.table({"key": keys, **columns})[int(random.integers(0, 3)) :]


@pytest.mark.parametrize("seed", range(20))
def test_rows_that_differ_are_those_of_python(seed):
    random = np.random.default_rng(seed)
    apart = 1 if seed % 2 else 1000  # numbers for each row, which decide how keys are found
    old, new = block(random, apart), block(random, apart)
    found = compare_blocks(old, new, NAMES, 0)
    before, after = ({row["key"]: {name: repr(row[name]) for name in VALUES} for row in side.to_pylist()} for side in (old, new))
    added, removed = after.keys() - before, before.keys() - after
    changed = {key for key in before.keys() & after.keys() if before[key] != after[key]}
    assert found.counts == (len(added), len(removed), len(changed))
    rows = found.rows().to_pylist()
    assert [row["key"] for row in rows] == sorted(added | removed | changed)
    for row in rows:
        for mark, side in (("old_", before), ("new_", after)):
            assert {name: repr(row[mark + name]) for name in VALUES} == side.get(row["key"], dict.fromkeys(VALUES, "None"))
    assert replays(old, new, found.rows(), NAMES)


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


@pytest.mark.parametrize("seed", range(200))
def test_no_other_rows_turn_a_block_into_another_one(seed):
    random = np.random.default_rng(seed)
    old, new = block(random), block(random)
    rows = compare_blocks(old, new, NAMES, 0).rows()
    assert replays(old, new, rows, NAMES) and not replays(old, new, spoilt(rows, random), NAMES)
    assert not replays(old, old, rows, NAMES) and replays(old, old, rows[:0], NAMES) and not replays(old, new, rows[:0], NAMES)


@pytest.mark.parametrize("seed", range(20))
def test_no_changed_row_has_equal_values(seed):
    random = np.random.default_rng(seed)
    old, new = block(random), block(random)
    keys = new["key"].to_pylist()
    alone = [place for place, key in enumerate(old["key"].to_pylist()) if key not in keys]
    both = pa.concat_tables([new, old.take(alone)]).sort_by("key")  # so that some rows are equal
    rows = compare_blocks(old, both, NAMES, 0).rows()
    assert alone and replays(old, both, rows, NAMES)
    for place in alone:
        row = {mark + name: old[name].take([place]) for name in VALUES for mark in ("old_", "new_")}
        row = pa.table({"key": old["key"].take([place]), **row, "kind": pa.array(["changed"])}).select(rows.schema.names)
        more = pa.concat_tables([rows.set_column(len(row.schema) - 1, "kind", rows["kind"].cast(pa.string())), row]).sort_by(
            "key"
        )
        kinds = more["kind"].combine_chunks().dictionary_encode()
        assert not replays(old, both, more.set_column(len(row.schema) - 1, "kind", kinds), NAMES)


def test_columns_of_numbers_texts_and_lists_of_other_types_are_compared():
    rows = {"key": [1, 2], "number": [1, 2], "text": ["1", "2"], "list": [[1], [2]]}
    types = {"number": pa.float64(), "text": pa.int64(), "list": pa.list_(pa.string())}
    old = pa.table(rows)
    new = pa.table({name: old[name].cast(types[name]) if name in types else old[name] for name in rows})
    names = ComparedColumns(["key"], [*types], set())
    assert compare_blocks(old, new, names, 0).counts == (0, 0, 0)
    other = pa.table(
        {name: column.take([0, 0]) if name in types else column for name, column in zip(rows, new.columns, strict=True)}
    )
    assert compare_blocks(old, other, names, 0).columns == dict.fromkeys(types, 1)


@pytest.mark.parametrize("most", [5, 2**40, 2**62])
def test_numbers_of_several_keys_have_their_order(most):
    random = np.random.default_rng(most)
    sides = [sorted((int(a), int(b)) for a, b in random.integers(-most, most, (40, 2))) for _ in range(3)]
    sides[1] = sorted(sides[1] + sides[0][:20])
    found = key_numbers(*([pa.array(column) for column in zip(*side, strict=True)] for side in sides))
    pairs, numbers = [pair for side in sides for pair in side], np.concatenate(found)
    assert all((one < other) == (numbers[i] < numbers[j]) for i, one in enumerate(pairs) for j, other in enumerate(pairs))


@pytest.mark.filterwarnings("error")
def test_keys_that_are_floats_beyond_integers():
    old, new = (pa.table({"key": [0.5, 1e300, last], "value": [1, 2, 3]}) for last in (2e300, 3e300))
    found = compare_blocks(old, new, ComparedColumns(["key"], ["value"], set()), 0)
    assert found.rows().column("key").to_pylist() == [2e300, 3e300]
