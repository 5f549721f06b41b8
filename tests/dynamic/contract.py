"""What all structures keep to, for NumPy and CuPy: the contract of `DynamicGraph`, clause by clause, for every type."""

import math
from typing import Any

import numpy as np
import pytest

from kernels.graph import WEIGHTS, Csr
from kernels.library.dynamic import STRUCTURES, BatchRules, DynamicGraph
from kernels.library.dynamic.contract import Batch
from kernels.library.dynamic.searches import bfs, sssp
from tests.dynamic.cases import host

GRAPH_TYPES = (None, *WEIGHTS)
INTEGERS = tuple(np.dtype(name) for name in ("int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64"))
BATCH_TYPES = (*INTEGERS, *(np.dtype(name) for name in ("float16", "float32", "float64", "bool")))
ROWS, HEADS = 5, [1, 3, 0, 2]
NUMBERS = (0, 1, 7, 100, 127, 128, 255, 2**15, 2**24 + 1, 2**31 - 1, 2**31, 2**32 + 1, 2**40, 2**53 + 1, 2**63 - 1, 2**63, -1,
           2**64 - 1, -2, -(2**31), -(2**63))  # fmt: skip
FLOATS = (0.0, -0.0, 1.0, 1.75, 0.5, 1e-3, 1e-300, 5e-324, 1e38, 1e300, 2.0**31, 2.0**63, -1.0, -1e-300, math.inf, -math.inf,
          math.nan)  # fmt: skip


def graph_of(like, name: str, dtype: Any) -> DynamicGraph:
    """Five rows and four arcs."""
    weights = None if dtype is None else np.asarray(np.arange(1, 5, dtype=dtype), like=like)
    offsets, heads = np.asarray([0, 2, 2, 4, 4, 4], np.int64, like=like), np.asarray(HEADS, np.int32, like=like)
    return STRUCTURES[name](Csr(offsets, heads, weights), BatchRules(unique=True))


def state(graph: DynamicGraph) -> list[Any]:
    csr = graph.csr()
    weights = None if csr.weights is None else (csr.weights.dtype, host(csr.weights).tolist())
    return [graph.num_rows, graph.num_arcs, graph.weight_dtype, host(csr.offsets).tolist(), host(csr.indices).tolist(), weights]


def stored(value: Any, dtype: np.dtype) -> Any:
    """What a graph of this type stores of a Python number; None if it refuses it."""
    if math.isnan(value) or math.isinf(value) or value < 0:
        return None
    if dtype.kind == "i":
        return int(value) if value == int(value) and int(value) <= np.iinfo(dtype).max else None
    with np.errstate(all="ignore"):
        rounded = float(dtype.type(value))
    return None if math.isinf(rounded) or (rounded == 0 and value != 0) else rounded


def values_of(kind: np.dtype) -> np.ndarray:
    """Numbers of a type, its limits among them."""
    if kind.kind in "iu":
        return np.array([each for each in NUMBERS if np.iinfo(kind).min <= each <= np.iinfo(kind).max], kind)
    with np.errstate(all="ignore"):
        return np.array([False, True]) if kind.kind == "b" else np.array(FLOATS).astype(kind)


def refused(graph: DynamicGraph, error: type[Exception], match: str, call) -> None:
    """A call raises, and changes nothing."""
    before = state(graph)
    with pytest.raises(error, match=match):
        call()
    assert state(graph) == before


def weights(like, name: str, dtype: Any, kinds=BATCH_TYPES) -> None:
    """Every weight of every type is stored as it is, or rounded to a float, or refused; and so are columns without weights."""
    graph = graph_of(like, name, dtype)
    before = state(graph)
    src, dst = (np.asarray(column, np.int32, like=like) for column in ([3, 2], [4, 3]))

    def batch(given: Any) -> Batch:
        return Batch(src, dst, given)

    for kind in kinds:
        for value in values_of(kind):
            given = np.asarray([value, kind.type(1)], like=like)
            if dtype is None:
                refused(graph, ValueError, "arcs with weights for .* without weights", lambda: graph.insert(batch(given)))  # noqa: B023
            elif (kept := stored(value.item(), dtype)) is None:
                refused(graph, ValueError, rf"weight .* is not one of {dtype}, 0 or more", lambda: graph.insert(batch(given)))  # noqa: B023
            else:
                assert graph.insert(batch(given)) == (2, 0, 0)
                found = graph.advance([3, 2])
                assert (found.weights.dtype, host(found.heads).tolist()) == (dtype, [4, 0, 2, 3])
                assert host(found.weights).tolist() == [kept, 3, 4, 1]
                assert graph.delete(batch(np.asarray([math.nan, -1.0], like=like))) == (2, 0, 0)  # which are ignored
                assert state(graph) == before
    if dtype is None:
        assert graph.insert(batch(None)) == (2, 0, 0)
        assert graph.advance([3]).weights is None
    else:
        refused(graph, ValueError, "arcs without weights for .* with weights", lambda: graph.insert(batch(None)))
        for wrong in (["1", "2"], [1j, 2], [None, 1]):
            if not type(like).__module__.startswith("cupy"):  # which has no such arrays
                refused(graph, ValueError, "weights are .*, not numbers", lambda: graph.insert(batch(np.array(wrong))))  # noqa: B023
        refused(graph, ValueError, "different lengths", lambda: graph.insert(batch(np.asarray([1], like=like))))
        refused(graph, ValueError, "2 dimensions", lambda: graph.insert(batch(np.asarray([[1], [2]], like=like))))


def vertices(like, name: str, dtype: Any, kinds=INTEGERS) -> None:
    """Numbers that no vertex has are counted, whatever their type; all but integers are refused."""
    graph = graph_of(like, name, dtype)
    before = state(graph)
    for kind in kinds:
        wrong = [each for each in values_of(kind).tolist() if not 0 <= each < ROWS]
        wrong, inside = np.asarray(wrong, kind, like=like), np.asarray([0] * len(wrong), kind, like=like)
        given = None if dtype is None else inside
        for ends in ((wrong, inside), (inside, wrong), (wrong, wrong)):
            assert graph.insert(Batch(*ends, given)) == (0, 0, len(wrong))
            assert graph.delete(Batch(*ends, None)) == (0, 0, len(wrong))
        assert state(graph) == before
        one, other = np.asarray([4, 0], kind, like=like), np.asarray([2, 1], kind, like=like)
        assert graph.insert(Batch(one, other, None if dtype is None else one)) == (1, 1, 0)
        assert graph.delete(Batch(one[:1], other[:1], None)) == (1, 0, 0)
        assert state(graph) == before
    right = np.asarray([0, 1], like=like)
    for column, match in (
        (np.asarray([0.0, 1.0], like=like), "vertices are float64, not integers"),
        (np.asarray([True, False], like=like), "vertices are bool, not integers"),
        (np.asarray([0], like=like), "different lengths"),
        (np.asarray([[0, 1]], like=like), "2 dimensions"),
    ):
        for change in (graph.insert, graph.delete):
            for ends in ((column, right), (right, column)):
                refused(graph, ValueError, match, lambda: change(Batch(*ends, None if dtype is None else right)))  # noqa: B023
    empty = np.asarray([], like=like)
    assert (
        graph.insert(Batch(empty, empty, None if dtype is None else empty))
        == graph.delete(Batch(empty, empty, None))
        == (0, 0, 0)
    )


def rows(like, name: str, dtype: Any, kinds=INTEGERS) -> None:
    """Vertices are added; rows are advanced from, and searches begin there; nothing else is taken for a number or a row."""
    graph = graph_of(like, name, dtype)
    for number in (-1, -2, -(2**40), np.int8(-3)):
        refused(graph, ValueError, f"add_vertices: {number} vertices", lambda: graph.add_vertices(number))  # noqa: B023
    for number in (1.5, 2.0, "1", None, True, np.float64(2), [1]):
        refused(graph, TypeError, "number of vertices .* is not an integer", lambda: graph.add_vertices(number))  # noqa: B023
    for number in (2**31 - ROWS, 2**31, 2**40, 2**70):
        refused(graph, OverflowError, "exceeds 2147483646", lambda: graph.add_vertices(number))  # noqa: B023
    for number in (0, np.uint8(2), 1):
        graph.add_vertices(number)
    size = ROWS + 3
    assert (graph.num_rows, host(graph.exists()).tolist()) == (size, [True] * size)
    for kind in kinds:
        found = graph.advance(np.asarray([2, size - 1, 0, 2], kind, like=like))
        assert host(found.offsets).tolist() == [0, 2, 2, 4, 6]
        assert host(found.heads).tolist() == [0, 2, 1, 3, 0, 2]
        assert found.weights is None if dtype is None else host(found.weights).tolist() == [3, 4, 1, 2, 3, 4]
        for wrong in [each for each in values_of(kind).tolist() if not 0 <= each < size]:
            given = np.asarray([0, wrong], kind, like=like)
            refused(graph, IndexError, rf"row {wrong} is not in 0\.\.{size - 1}", lambda: graph.advance(given))  # noqa: B023
    assert [len(graph.advance(none).heads) for none in ([], np.asarray([], np.int32, like=like))] == [0, 0]
    for wrong in (np.asarray([0.0], like=like), np.asarray([True], like=like)):
        refused(graph, TypeError, "not integers", lambda: graph.advance(wrong))  # noqa: B023
    for search in (bfs, sssp):
        assert host(search(graph, np.int64(2)).distance).tolist()[3] == (2 if search is bfs or dtype is None else 5)
        for source in (-1, size, 2**32, 2**40):
            refused(graph, IndexError, f"row {source} is not a vertex", lambda: search(graph, source))  # noqa: B023
        for source in (2.0, "2", None, True):
            refused(graph, TypeError, "is not an integer", lambda: search(graph, source))  # noqa: B023
