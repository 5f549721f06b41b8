"""Blocks compared on the GPU, and change tables proved there: the CPU's answers."""

# ruff: noqa: E402  (the imports below need CuPy)
import numpy as np
import pyarrow as pa
import pytest

cupy = pytest.importorskip("cupy")

from kernels.comparison import blocks
from kernels.comparison.constants import MOST_COLUMNS
from pipeline.comparison import on_gpu
from pipeline.comparison.blocks import compare_blocks
from pipeline.comparison.contract import Columns
from pipeline.comparison.matching import Unordered
from pipeline.comparison.on_gpu import PairOnGpu
from pipeline.comparison.tabulate import tabulate_changes
from pipeline.tables import files as tables
from tests.pipeline.comparison.cases import NAMES, NUMBERS, block, pair_on_cpu, spoilt
from tests.pipeline.comparison.test_change_tables import shortest, version


@pytest.fixture(autouse=True)
def asked(monkeypatch):
    """Which of both was asked for the places; blocks of any size are worth a GPU."""
    monkeypatch.setattr(on_gpu, "WORTH_A_GPU", 0)
    found, true = list[str](), blocks.Blocks.differences

    def counted(pair):
        found.append("gpu")
        return true(pair)

    monkeypatch.setattr(blocks.Blocks, "differences", counted)
    return found


def no_cpu(old, new, names):
    raise AssertionError("the CPU was asked")


def places_of(pair):
    found = pair.places()
    return found.old.tolist(), found.new.tolist(), {name: of.tolist() for name, of in found.unequal.items()}


@pytest.mark.parametrize("seed", range(20))
def test_places_and_proofs_are_those_of_the_cpu(seed):
    random = np.random.default_rng(seed)
    old, new = block(random, 1 + seed % 2 * 999), block(random, 1 + seed % 2 * 999)
    for one, other in ((old, new), (old, old), (old[:0], new), (old, new[:0]), (old[:0], new[:0]), (old[5:], old[:-5])):
        pair, due = PairOnGpu(one, other, NUMBERS, no_cpu), pair_on_cpu(one, other, NUMBERS)
        assert places_of(pair) == places_of(due)
        rows = compare_blocks(pair, 0).rows()
        assert repr(rows.to_pylist()) == repr(compare_blocks(due, 0).rows().to_pylist())  # nan equals nan
        assert pair.replayed_by(rows)
        assert not len(rows) or not pair.replayed_by(rows[:0])
        for _ in range(10 if len(rows) else 0):
            assert not pair.replayed_by(spoilt(rows, random))


def test_many_rows(asked):
    random = np.random.default_rng(1)
    keys = [np.sort(random.choice(60_000, 50_000, replace=False)) for _ in "ab"]
    columns = [random.integers(0, 2, (2, 50_000)) for _ in "ab"]
    sides = [pa.table({"key": of, "one": one, "other": other}) for of, (one, other) in zip(keys, columns, strict=True)]
    names = Columns(["key"], ["one", "other"], set())
    pair, due = PairOnGpu(*sides, names, no_cpu), pair_on_cpu(*sides, names)
    assert places_of(pair) == places_of(due)
    rows = compare_blocks(pair, 0).rows()
    assert pair.replayed_by(rows) and not pair.replayed_by(rows[1:])
    assert asked == ["gpu"] * 2


@pytest.mark.parametrize("kind", [pa.float64(), pa.int64()])
def test_several_keys(kind):
    """A zero of another sign is the same key and another value."""
    names = Columns(["source", "threshold"], ["count"], set())
    old = pa.table({"source": [1, 1, 2], "threshold": pa.array([0, 5, 0], kind), "count": [7, 8, 9]})
    new = pa.table({"source": [1, 2, 2], "threshold": pa.array([0, 0, 5], kind), "count": [7, 1, 9]})
    pair = PairOnGpu(old, new, names, no_cpu)
    rows = compare_blocks(pair, 0).rows()
    assert rows["kind"].to_pylist() == ["removed", "changed", "added"] and pair.replayed_by(rows)
    if kind == pa.float64():
        other = new.set_column(1, "threshold", pa.array([-0.0, 0, 5]))
        assert not PairOnGpu(old, other, names, no_cpu).replayed_by(rows) and not pair_on_cpu(old, other, names).replayed_by(rows)


def test_what_the_gpu_cannot_answer_is_left_to_the_cpu(asked, monkeypatch):
    random = np.random.default_rng(2)
    old, new = block(random), block(random)
    pair = PairOnGpu(old, new, NAMES, pair_on_cpu)  # with a column of text
    assert places_of(pair) == places_of(pair_on_cpu(old, new)) and pair.replayed_by(compare_blocks(pair, 0).rows())
    many = pa.table({"key": [1], **{f"{number}": [0] for number in range(MOST_COLUMNS + 1)}})
    names = Columns(["key"], many.schema.names[1:], set())
    assert places_of(PairOnGpu(many, many, names, pair_on_cpu)) == places_of(pair_on_cpu(many, many, names))
    assert asked == []
    again = pa.table({"key": [2, 1, 1], "value": [1, 2, 3]})  # keys that do not ascend, but are the same
    names = Columns(["key"], ["value"], set())
    pair = PairOnGpu(again, again.set_column(1, "value", pa.array([1, 2, 4])), names, pair_on_cpu)
    assert pair.places().new.tolist() == [2]
    with pytest.raises(Unordered, match="ascend"):
        PairOnGpu(again, again[:2], names, pair_on_cpu).places()
    assert pair.replayed_by(compare_blocks(pair, 0).rows()[:0]) is False
    assert asked == ["gpu"] * 3


@pytest.mark.parametrize("name", ["to_device", "launch"])
def test_a_gpu_without_memory_is_not_used(monkeypatch, name):
    def full(*_: object, **__: object) -> None:
        raise MemoryError

    random = np.random.default_rng(2)
    old, new = block(random), block(random)
    rows = compare_blocks(pair_on_cpu(old, new, NUMBERS), 0).rows()
    pair = PairOnGpu(old, new, NUMBERS, pair_on_cpu)
    monkeypatch.setattr(blocks, name, full)
    assert places_of(pair) == places_of(pair_on_cpu(old, new, NUMBERS)) and pair.replayed_by(rows)
    assert places_of(PairOnGpu(old, new, NUMBERS, pair_on_cpu)) == places_of(pair)


@pytest.mark.parametrize("weight", ["int64", "double"])
def test_change_tables_have_the_same_bytes(tmp_path, monkeypatch, asked, weight):
    monkeypatch.setattr(tables, "ROWS_PER_GROUP", 8)
    random = np.random.default_rng(7)
    versions = [{"sssp": version(tmp_path / side, "sssp", shortest(random, weight))} for side in ("old", "new")]
    found = [tabulate_changes(tmp_path / backend, *versions, backend=backend) for backend in ("cpu", "gpu")]
    assert found[0].manifest.files == found[1].manifest.files and asked
