"""Cases of lookups, operators and scans, for NumPy and CuPy."""

from itertools import pairwise

import numpy as np

from kernels.graph import Csr, Graph
from kernels.library.dynamic import BatchRules
from kernels.library.dynamic.contract import as_batch
from kernels.library.dynamic.operators import compute, filtered, intersect
from kernels.library.dynamic.pages.edits import Editor
from kernels.library.dynamic.pages.kernels import expand, locate
from kernels.library.dynamic.pages.mirror import Mirror
from kernels.library.dynamic.pages.store import PageStore
from kernels.library.dynamic.scan import exclusive_scan, identity
from kernels.library.dynamic.searches import bfs, sssp
from kernels.library.dynamic.structures.deltas import Deltas
from kernels.library.dynamic.structures.pages import SlottedPages
from tests.dynamic.cases import NAMED, host, lists_of_degrees
from tests.dynamic.structures import same

SPECIAL = [33, 34, 35, 71, 72, 0, 5]  # S-6, S-5, S-4, (S-6)+(S-3)+1, ... of pages of 40 words


def store_of(like, degrees, size: int = 40, weight=np.int32, fill: float = 1.0) -> PageStore:
    vertices = np.arange(len(degrees), dtype=np.int32, like=like)
    return PageStore.from_lists(vertices, lists_of_degrees(degrees, like, weight), size, fill)


def with_gaps(like) -> tuple[Editor, PageStore]:
    """Vertices were removed: at the beginning and end of pages, and between; and the copy in the memory of `like`."""
    editor = Editor(store_of(np.empty(0), NAMED["many"] + [100] + NAMED["few"]))
    for vertex in (0, 1, 7, 20, 21, 22, 40):
        assert editor.remove_vertex(vertex)
    return editor, Mirror(editor, like).device


def lookups(like) -> None:
    """Every vertex, below the first, in gaps and above the last; and an empty store."""
    editor, store = with_gaps(like)
    vertices = np.arange(-3, editor.store.num_rows + 3, dtype=np.int32)
    found = [host(column).tolist() for column in locate(store, np.asarray(vertices, like=like))]
    for vertex, page, slot, word, degree in zip(vertices.tolist(), *found, strict=True):
        place = editor.find(vertex)
        expected = (place.page, place.number) if place else (-1, -1)
        assert ((page, slot), degree) == (expected, len(editor.neighbours(vertex))), vertex
        assert (word >= 0) == (place is not None)
    empty = PageStore(40, None, like)
    assert host(locate(empty, np.asarray(vertices, like=like)).pages).tolist() == [-1] * len(vertices)


def advances(like) -> None:
    """Concatenations in order: repeated rows, no arcs first, between and last, large lists, absent rows, an empty total."""
    editor, store = with_gaps(like)
    for frontier in ([], [2, 2], [8, 14, 2, 36, 3, 44, 8], [1, 0, 99], list(range(-1, 50))):
        rows = np.array(frontier, np.int32)
        lists = expand(store, locate(store, np.asarray(rows, like=like)))
        expected = [editor.neighbours(row) for row in frontier]
        assert host(lists.heads).tolist() == [head for each in expected for head in each]
        assert host(lists.offsets).tolist() == np.cumsum([0, *map(len, expected)]).tolist()
    for weight in (None, np.float64):
        given = lists_of_degrees(SPECIAL, like, weight)
        found = expand(store := store_of(like, SPECIAL, weight=weight), locate(store, np.arange(7, dtype=np.int32, like=like)))
        np.testing.assert_array_equal(host(found.heads), host(given.heads))
        if weight:
            np.testing.assert_array_equal(host(found.weights), host(given.weights))


def operators(like) -> None:
    """Compute and filter; segments that are intersected."""
    values = np.asarray(np.random.default_rng(1).integers(0, 9, 1000), np.int64, like=like)
    for kept in (values > 4, values >= 0, values < 0):
        np.testing.assert_array_equal(host(filtered(values, kept)), host(values)[host(kept)])
    assert len(filtered(values[:0], values[:0] > 0)) == 0
    np.testing.assert_array_equal(host(compute(values, lambda each: each * 2)), host(values) * 2)
    assert len(compute(values[:0], lambda each: each + 1)) == 0
    graph = SlottedPages(store_of(like, NAMED["large"]))
    left, right = (np.asarray(rows, np.int32, like=like) for rows in ([0, 5, 6, 3, 5], [1, 3, 5, 6, 5]))
    found, lists = intersect(graph, left, right), graph.advance(left)
    theirs = graph.advance(right)
    offsets, heads = host(theirs.offsets), host(theirs.heads)
    sets = [set(heads[begin:end].tolist()) for begin, end in pairwise(offsets.tolist())]
    segments = host(found.segments).tolist()
    expected = [head if head in sets[at] else -1 for at, head in zip(segments, host(lists.heads).tolist(), strict=True)]
    assert host(found.heads).tolist() == expected
    assert host(found.compacted()[1]).tolist() == [head for head in expected if head >= 0]
    assert len(intersect(graph, left[:0], right[:0]).heads) == 0


def scans(like, longest: int) -> None:
    """Of every length around a block, of more than the square of a block, with every operator and type; of every other value."""
    random = np.random.default_rng(2)
    np.testing.assert_array_equal(host(exclusive_scan(np.arange(9, like=like)[::-2])), [0, 8, 14, 18, 20])
    for length in (0, 1, 2, 3, 255, 256, 257, 511, 513, longest):
        values = random.integers(-9, 9, length)
        for how, combine in (("sum", np.add), ("max", np.maximum), ("min", np.minimum)):
            for dtype in (np.int32, np.int64, np.float32, np.float64) if length < 600 else (np.int64,):
                given = values.astype(dtype)
                neutral = identity(given.dtype, how)
                expected = np.array([neutral, *combine.accumulate(given)[:-1]], dtype)[:length]
                np.testing.assert_array_equal(host(exclusive_scan(np.asarray(given, like=like), how)), expected)
        odd = 2 * values + 1  # a product that wraps around, and is never 0
        expected = np.array([1, *np.multiply.accumulate(odd)[:-1]], np.int64)[:length]
        np.testing.assert_array_equal(host(exclusive_scan(np.asarray(odd, like=like), "product")), expected)


def searches(like, graph: Graph, sources, expected, fill: float = 0.7) -> None:
    """BFS and SSSP of a graph, in pages and by the operators, give the answers of the static kernels."""
    weights = None if graph.out.weights is None else np.asarray(graph.out.weights, like=like)
    csr = Csr(np.asarray(graph.out.offsets, like=like), np.asarray(graph.out.indices, like=like), weights)
    for changing in (SlottedPages.from_csr(csr, BatchRules(), 40, fill), Deltas(csr, BatchRules())):
        for source in sources:
            same(bfs(changing, source), expected[0](graph, source))
            same(sssp(changing, source), expected[1](graph, source))


def dangling(like) -> None:
    """Arcs to removed vertices lead nowhere."""
    editor = Editor(PageStore(40, np.int32))
    for _ in range(4):
        editor.add_vertex()
    for src, dst in ((0, 1), (1, 2), (0, 3), (3, 2)):
        editor.add_edge(src, dst, 5)
    editor.remove_vertex(1)
    graph = SlottedPages(Mirror(editor, like).device)
    assert host(bfs(graph, 0).distance).tolist() == [0, -1, 2, 1]
    assert host(sssp(graph, 0).distance).tolist() == [0, -1, 10, 5]
    assert host(sssp(graph, 0).predecessor).tolist() == [-1, -1, 3, 0]
    graph.insert(as_batch(like, [2], [0], [1], np.int32))
    assert host(bfs(graph, 2).distance).tolist() == [1, -1, 0, 2]


def synced(like) -> None:
    """Only distinct dirty pages travel, with the index and the order of the pages."""
    editor = Editor(store_of(np.empty(0), NAMED["many"]))
    mirror = Mirror(editor, like)
    assert mirror.sync() == 0
    for _ in range(3):
        editor.add_edge(0, 1, 4)
    editor.add_edge(35, 1, 4)
    dirty, store = len(editor.dirty), editor.store
    assert 2 <= dirty <= 4
    overhead = store.slots.nbytes + store.index.nbytes + store.free.nbytes
    assert mirror.sync() == dirty * (8 * store.page_size + 8) + overhead
    assert mirror.sync() == 0
    for column in ("slots", "index"):
        np.testing.assert_array_equal(host(getattr(mirror.device, column)), getattr(store, column))
    graph = SlottedPages(mirror.device)
    graph.insert(as_batch(like, [3, 3, 4], [1, 2, 3], [7, 8, 9], np.int32))
    assert mirror.fetch() > 0
    assert editor.neighbours(4)[-1] == 3
    np.testing.assert_array_equal(host(mirror.device.words), editor.store.words)
