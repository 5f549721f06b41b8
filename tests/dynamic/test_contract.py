"""All structures follow one contract, for every type of weights, vertices and rows."""

import numpy as np
import pytest

from kernels.graph import Csr
from kernels.library.dynamic import STRUCTURES, BatchRules
from kernels.library.dynamic.operators import filtered
from kernels.library.dynamic.pages.edits import Editor
from kernels.library.dynamic.pages.store import PageStore
from kernels.library.dynamic.scan import exclusive_scan
from tests.dynamic import contract

LIKE = np.empty(0)


@pytest.mark.parametrize("dtype", contract.GRAPH_TYPES, ids=str)
@pytest.mark.parametrize("name", STRUCTURES)
@pytest.mark.parametrize("clause", [contract.weights, contract.vertices, contract.rows], ids=lambda clause: clause.__name__)
def test_clauses(clause, name, dtype):
    clause(LIKE, name, dtype)


@pytest.mark.parametrize("name", STRUCTURES)
def test_what_a_graph_begins_with(name):
    offsets, heads, weights = np.array([0, 2, 3]), np.array([0, 1, 1], np.int32), np.array([1, 2, 3])
    for csr, match in (
        (Csr(offsets, heads.astype(np.int64), None), "indices are int64"),
        (Csr(offsets, heads + np.int32(1), None), r"indices 1\.\.2 leave 0\.\.1"),
        (Csr(offsets, heads - np.int32(1), None), r"indices -1\.\.0 leave 0\.\.1"),
        (Csr(offsets[:2], heads, None), "offsets end at 2"),
        (Csr(offsets, heads, weights.astype(np.int8)), r"weights are int8; those of a graph are int32, int64, float32, float64"),
        (Csr(offsets, heads, weights > 1), "weights are bool"),
        (Csr(offsets, heads, weights.astype(np.uint64)), "weights are uint64"),
        (Csr(offsets, heads, weights[:2]), "2 weights for 3 arcs"),
    ):
        with pytest.raises(ValueError, match=match):
            STRUCTURES[name](csr, BatchRules(unique=True))
    descending, repeated = (Csr(offsets, np.array([*row, 0], np.int32), None) for row in ([1, 0], [1, 1]))
    for csr, takes in ((descending, {"pages", "adjacency"}), (repeated, {*STRUCTURES} - {"lsm"})):
        if name in takes:
            assert STRUCTURES[name](csr, BatchRules(unique=True)).num_arcs == 3
        else:
            with pytest.raises(ValueError, match=r"row 0: head [01] stands behind 1, and the heads of a row must ascend"):
                STRUCTURES[name](csr, BatchRules(unique=True))


@pytest.mark.parametrize("dtype", contract.GRAPH_TYPES[1:], ids=str)
def test_single_edits_take_the_same_weights(dtype):
    editor = Editor(PageStore(40, dtype))
    for _ in range(3):
        editor.add_vertex()
    assert editor.add_edge(0, 1, 2)
    for value in (*contract.NUMBERS, *contract.FLOATS):
        kept, weight = contract.stored(value, dtype), editor.store.weights.copy()
        if kept is None:
            for edit in (lambda: editor.set_weight(0, 1, value), lambda: editor.add_edge(0, 2, value)):  # noqa: B023
                with pytest.raises(ValueError, match=f"is not one of {dtype}"):
                    edit()
            np.testing.assert_array_equal(editor.store.weights, weight)
        else:
            assert editor.set_weight(0, 1, value)
            assert editor.add_edge(0, 2, value)
            assert sorted(editor.store.weights[editor.store.weights > 0].tolist()) == [kept] * 2 * (kept > 0)
            assert editor.remove_edge(0, 2)
    with pytest.raises(ValueError, match="weights are int16"):
        PageStore(40, np.int16)


def test_scans_and_filters_take_what_they_can_combine():
    for kind in ("bool", "int8", "uint64", "float16"):
        with pytest.raises(TypeError, match=f"values are {kind}"):
            exclusive_scan(np.ones(3, kind))
    with pytest.raises(ValueError, match="'mean' is not one of sum, product, max, min"):
        exclusive_scan(np.ones(3), "mean")
    for kept in (np.array([2, 0, 1]), np.array([True]), np.array([[True], [True], [True]])):
        with pytest.raises(ValueError, match="one bool for each is needed"):
            filtered(np.arange(3), kept)
