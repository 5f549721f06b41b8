"""Changes merged into the rows of a graph, on the CPU and, where there is one, on the (emulated) GPU: equal to a list of arcs."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from kernels.graph import Csr
from kernels.layout.merging.pairs import PairChanges, find, merge_pairs, newest, repeated
from tests.counts import examples

WEIGHTS = (None, np.int32, np.int64, np.float32, np.float64)


def csr_of(arcs: dict[tuple[int, int], list], rows: int, rank: np.ndarray, weight) -> Csr:
    """The rows of arcs, each with its weights, in the order of the neighbours' ranks."""
    listed = sorted((row, rank[head], head, each) for (row, head), weights in arcs.items() for each in sorted(weights))
    offsets = np.searchsorted([row for row, *_ in listed], np.arange(rows + 1)).astype(np.int64)
    weights = None if weight is None else np.array([each for *_, each in listed], weight)
    return Csr(offsets, np.array([head for _, _, head, _ in listed], np.int32), weights)


def equal(left: Csr, right: Csr) -> bool:
    pairs = ((left.offsets, right.offsets), (left.indices, right.indices), (left.weights, right.weights))
    return all((one is None and two is None) or np.array_equal(one, two) for one, two in pairs)


@st.composite
def histories(draw):
    """A graph, and changes of its arcs and of rows after its last one, the same pair perhaps repeatedly."""
    rows, new = draw(st.integers(1, 6)), draw(st.integers(0, 3))
    pairs = st.tuples(st.integers(0, rows - 1), st.integers(0, rows - 1))
    arcs = draw(st.dictionaries(pairs, st.lists(st.integers(0, 9), min_size=1, max_size=1), max_size=12))
    ends = st.integers(0, rows + new - 1)
    changes = draw(st.lists(st.tuples(ends, ends, st.booleans(), st.integers(0, 9)), max_size=15))
    return rows, rows + new, draw(st.permutations(range(rows + new))), arcs, changes, draw(st.sampled_from(WEIGHTS))


@given(histories())
@settings(max_examples=examples(400))
def test_merged_rows_are_those_of_a_list_of_arcs(history):
    rows, total, ranks, arcs, listed, weight = history
    rank, index = np.array(ranks, np.int32), np.int32
    base = csr_of(arcs, rows, rank, weight)
    kinds = (index, index, np.bool_, weight or np.int8)
    columns = [np.array([each[place] for each in listed], kind) for place, kind in enumerate(kinds)]
    changes = newest(PairChanges(columns[0], columns[1], columns[2], None if weight is None else columns[3]), rank)
    found = find(base, changes.rows, changes.indices, rank).exist
    assert found.tolist() == [pair in arcs for pair in zip(changes.rows.tolist(), changes.indices.tolist(), strict=True)]
    expected = {pair: list(weights) for pair, weights in arcs.items()}
    for row, head, puts, each in listed:
        expected[row, head] = [each] if puts else []
    assert equal(merge_pairs(base, changes, rank, total), csr_of(expected, total, rank, weight))


@pytest.mark.parametrize(
    ("src", "dst", "both", "found"),
    [
        ([1, 2, 1], [2, 1, 2], False, [2]),
        ([1, 2, 1], [2, 1, 2], True, [1, 2]),
        ([0, 0, 5, 0], [5, 4, 0, 5], False, [3]),
        ([3, 3], [3, 4], True, []),
        ([], [], True, []),
    ],
)
def test_repeated_pairs_are_found(src, dst, both, found):
    assert np.flatnonzero(repeated(np.array(src, np.int64), np.array(dst, np.int64), both)).tolist() == found


def test_parts_of_changes_are_numbered_from_their_first_row():
    changes = PairChanges(np.array([0, 2, 2, 7], np.int32), np.arange(4, dtype=np.int32), np.ones(4, np.bool_), None)
    part = changes.within(range(1, 7))
    assert (part.rows.tolist(), part.indices.tolist()) == ([1, 1], [1, 2])
