"""Two blocks compared where Arrow has them: slices, nulls and every type, against Python's values, and the proof."""

import numpy as np
import pyarrow as pa
import pytest

from kernels.comparison import constants
from pipeline.comparison.blocks import compare_blocks
from pipeline.comparison.contract import KINDS, Columns
from pipeline.comparison.replay import replays
from pipeline.comparison.values import key_numbers
from tests.pipeline.comparison.cases import NAMES, VALUES, block, pair_on_cpu, spoilt


@pytest.mark.parametrize("seed", range(20))
def test_rows_that_differ_are_those_of_python(seed):
    random = np.random.default_rng(seed)
    apart = 1 if seed % 2 else 1000  # numbers for each row, which decide how keys are found
    old, new = block(random, apart), block(random, apart)
    found = compare_blocks(pair_on_cpu(old, new), 0)
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


@pytest.mark.parametrize("seed", range(200))
def test_no_other_rows_turn_a_block_into_another_one(seed):
    random = np.random.default_rng(seed)
    old, new = block(random), block(random)
    rows = compare_blocks(pair_on_cpu(old, new), 0).rows()
    assert replays(old, new, rows, NAMES) and not replays(old, new, spoilt(rows, random), NAMES)
    assert not replays(old, old, rows, NAMES) and replays(old, old, rows[:0], NAMES) and not replays(old, new, rows[:0], NAMES)


def test_kinds_have_the_numbers_that_cuda_uses():
    assert [KINDS[kind] for kind in (constants.ADDED, constants.REMOVED, constants.CHANGED)] == ["added", "removed", "changed"]


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
    found = compare_blocks(pair_on_cpu(old, new, Columns(["key"], ["value"], set())), 0)
    assert found.rows().column("key").to_pylist() == [2e300, 3e300]
