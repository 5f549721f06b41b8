"""One page, the store of pages, and single edits: rows A1 to A4 and B1 to B6 of docs/dynamic-graphs.md."""

import numpy as np
import pytest

from kernels.library.dynamic.contract import BatchRules, Lists
from kernels.library.dynamic.pages.edits import Editor, lists_of
from kernels.library.dynamic.pages.invariants import require_valid
from kernels.library.dynamic.pages.layout import (
    decode,
    decode_minimum,
    encode,
    encode_minimum,
    most_in_first,
    pages_of,
    space_efficiency,
    vertices_of,
)  # fmt: skip
from kernels.library.dynamic.pages.store import PageStore, index_of

WORDS = "7 25 0 2 3 4 0 3 1 4 5 3 1 3 6 3 3 6 7 3 4 5 7 2 5 6 23 7 19 6 15 5 11 4 7 3 6 2 3 1"
FIXTURE = np.array(WORDS.split(), np.int32)
LISTS = {1: [3, 4], 2: [], 3: [1, 4, 5], 4: [1, 3, 6], 5: [3, 6, 7], 6: [4, 5, 7], 7: [5, 6]}
SIZES = range(256, 2049, 256)


def checked(editor: Editor, expected: dict[int, list[int]]) -> None:
    require_valid(editor.store)
    found = {vertex: neighbours.tolist() for vertex, neighbours in lists_of(editor.store).items()}
    assert found == expected
    np.testing.assert_array_equal(editor.store.index, index_of(editor.store.words, editor.store.slots))


def grown(size: int, degrees: list[int], rules: BatchRules | None = None, weight=np.int32) -> tuple[Editor, dict[int, list[int]]]:
    """Vertices with arcs to vertex 0, 1, ... in turn; weights are 1000 source + number."""
    editor, lists = Editor(PageStore(size, weight), rules), {}
    for _ in degrees:
        lists[editor.add_vertex()] = []
    for vertex, degree in enumerate(degrees):
        for number in range(degree):
            assert editor.add_edge(vertex, number % len(degrees), 1000 * vertex + number)
            lists[vertex].append(number % len(degrees))
    return editor, lists


def weights_of(editor: Editor, vertex: int) -> list[float]:
    return [weight for page, begin, end in editor._parts(vertex) for weight in editor.store.weights_of(page)[begin:end].tolist()]


def test_a1_fixture():
    assert decode(FIXTURE) == LISTS
    np.testing.assert_array_equal(encode(LISTS, 40), FIXTURE)
    assert len(encode_minimum(LISTS)) == 30
    assert decode_minimum(encode_minimum(LISTS), 7) == LISTS
    assert (space_efficiency(FIXTURE), space_efficiency(FIXTURE, minimum=True)) == (40 / 40, 30 / 40)
    offsets = np.cumsum([0, *map(len, LISTS.values())])
    heads = np.array([head for each in LISTS.values() for head in each], np.int32)
    store = PageStore.from_lists(np.array(list(LISTS), np.int32), Lists(offsets, heads, None), 40)
    np.testing.assert_array_equal(store.page(0), FIXTURE)
    with pytest.raises(ValueError, match="exceed a page"):
        encode(LISTS, 38)


@pytest.mark.parametrize("size", SIZES)
def test_a2_pool(size):
    store = PageStore(size, np.int32)
    first = store.take(3)
    store.words[first] = first[:, None]
    store.replace_order(first)
    store.set_order(np.delete(store.slots, 1), np.zeros((2, 3), np.int32))
    store.release(first[1:2])
    more = store.take(5)
    assert len({*store.slots.tolist(), *more.tolist()}) == 7
    store.set_order(np.insert(store.slots, 1, more[0]), np.zeros((3, 3), np.int32))
    words, weights = store.addresses
    assert words.dtype == np.uint64
    assert ((words - store.words.ctypes.data) // (4 * size)).tolist() == store.slots.tolist()
    assert ((weights - store.weights.ctypes.data) // (4 * size)).tolist() == store.slots.tolist()
    assert (store.page(0) == first[0]).all()
    assert (store.page(2) == first[2]).all()
    with pytest.raises(ValueError, match="page_size 17"):
        PageStore(17)


def test_a4_broken_rules_are_found():
    editor, _ = grown(40, [3, 2, 80, 4])
    require_valid(editor.store)
    words = editor.store.words
    seen = set()
    for slot, word in np.ndindex(*words.shape):
        if slot in editor.store.slots and word not in (4, 5, 6):  # not what may be any neighbour
            words[slot, word] += 100
            try:
                require_valid(editor.store)
            except (ValueError, IndexError) as error:
                seen.add(str(error).split(":")[-1].strip(" 0123456789-[]"))
            words[slot, word] -= 100
    assert len(seen) > 5
    require_valid(editor.store)


def test_b1_vertices():
    for size, number in {256: 34, 512: 68, 1024: 136, 1280: 170, 2048: 273}.items():
        editor = Editor(PageStore(size))
        assert [editor.add_vertex() for _ in range(number + 1)] == list(range(number + 1))
        assert [int(editor.store.page(page)[0]) for page in range(2)] == [number, 1]
        bulk = PageStore(size)
        bulk.add_vertices(number + 1)
        assert int(bulk.page(0)[0]) == number
        checked(editor, {vertex: [] for vertex in range(number + 1)})
    assert editor.remove_vertex(number)
    assert editor.add_vertex() == number + 1
    bulk.num_rows = 2**31 - 1
    for add in (lambda: bulk.add_vertices(1), Editor(bulk).add_vertex):
        with pytest.raises(OverflowError, match="vertex 2147483647 exceeds 2147483646"):
            add()


def test_b2_every_way():
    editor, lists = grown(40, [2, 3, 2])
    checked(editor, lists)  # in the page: the lists behind shift
    assert weights_of(editor, 1) == [1000, 1001, 1002]

    def add(src: int, dst: int = 0, weight: int = 7) -> None:
        assert editor.add_edge(src, dst, weight)
        lists[src].append(dst)
        checked(editor, lists)
        assert weights_of(editor, src)[-1] == weight

    while editor.store.num_pages == 1:
        add(0)
    assert vertices_of(editor.store.page(0)).tolist() == [0]  # (a) without lists before
    while editor.store.num_pages == 2:
        add(1)
    assert [vertices_of(editor.store.page(page)).tolist() for page in range(3)] == [[0], [1], [2]]
    editor, lists = grown(40, [2, 3, 2, 1])
    while editor.store.num_pages == 1:
        add(1)
    assert vertices_of(editor.store.page(0)).tolist() == [0, 1]  # (a) with lists before
    while editor.store.num_pages == 2:
        add(3)
    assert [vertices_of(editor.store.page(page)).tolist() for page in range(3)] == [[0, 1], [2], [3]]  # (b)
    while editor.store.num_pages == 3:
        add(3)
    assert len(lists[3]) == most_in_first(40) + 1  # (c)
    assert editor.store.index[2:].tolist() == [[3, 0, 2], [3, 1, 2]]
    while editor.store.num_pages == 4:
        add(3, 2)  # in the last page of a large list, until that is full
    assert len(lists[3]) == most_in_first(40) + 40 - 3 + 1
    assert pages_of(len(lists[3]), 40) == 3
    before = editor.store.words.copy(), editor.store.index.copy()
    assert not editor.add_edge(0, 99)
    assert not editor.add_edge(99, 0)
    np.testing.assert_array_equal(before[0], editor.store.words)
    np.testing.assert_array_equal(before[1], editor.store.index)


def test_b3_duplicates_and_loops():
    editor, _ = grown(40, [0, 0])
    assert all(editor.add_edge(0, 0) for _ in range(2))
    assert editor.neighbours(0) == [0, 0]
    assert editor.remove_edge(0, 0)
    assert editor.neighbours(0) == [0]
    unique, _ = grown(40, [0, 0], BatchRules(unique=True))
    assert [unique.add_edge(0, 1), unique.add_edge(0, 1), unique.add_edge(1, 1)] == [True, False, True]


def test_b4_removed_edges():
    editor, lists = grown(40, [90, 5])
    assert not editor.remove_edge(1, 99)
    assert not editor.remove_edge(99, 1)
    assert editor.remove_edge(1, 0)  # the last of 0 1 0 1 0
    lists[1].pop()
    checked(editor, lists)
    assert editor.remove_edge(1, 0)
    lists[1] = [0, 1, 1]
    checked(editor, lists)
    assert weights_of(editor, 1) == [1000, 1001, 1003]
    while len(lists[0]) > most_in_first(40):
        place = len(lists[0]) - 1 - lists[0][::-1].index(0)
        assert editor.remove_edge(0, 0)
        lists[0][place] = lists[0][-1]
        lists[0].pop()
        checked(editor, lists)
        if 0 not in lists[0]:
            editor.add_edge(0, 0)
            lists[0].append(0)
            editor.remove_edge(0, 1)
            place = len(lists[0]) - 1 - lists[0][::-1].index(1)
            lists[0][place] = lists[0][-1]
            lists[0].pop()
    assert editor.store.index[0].tolist() == [0, -1, -1]
    while editor.neighbours(1):
        assert editor.remove_edge(1, editor.neighbours(1)[0])
    assert not editor.remove_edge(1, 1)


def test_b5_removed_vertices():
    editor, lists = grown(40, [2, 3, 60, 1, 0])
    assert not editor.remove_vertex(9)
    for vertex in (1, 2, 0):
        assert editor.remove_vertex(vertex)
        del lists[vertex]
        checked(editor, lists)
    assert editor.neighbours(3) == [0]  # leads to no vertex
    assert not editor.add_edge(3, 0)
    assert editor.add_edge(3, 4)
    assert editor.remove_vertex(4, purge_incoming=True)
    assert editor.neighbours(3) == [0]
    assert editor.remove_vertex(3)
    assert editor.store.num_pages == 0


def test_b6_edited_edges():
    editor, _ = grown(40, [3, 0, 0, 0])
    assert editor.edit_edge(0, 0, 3)
    assert editor.neighbours(0) == [2, 1, 3]
    assert weights_of(editor, 0)[-1] == 0
    assert not editor.edit_edge(0, 9, 1)  # adds nevertheless, as the document does
    assert editor.neighbours(0) == [2, 1, 3, 1]
    assert not editor.edit_edge(0, 2, 9)  # removes nevertheless
    assert editor.neighbours(0) == [1, 1, 3]
    before = editor.store.words.copy()
    assert not editor.edit_edge(0, 9, 1, atomic=True)
    assert not editor.edit_edge(0, 3, 9, atomic=True)
    np.testing.assert_array_equal(before, editor.store.words)
    assert editor.edit_edge(0, 3, 2, atomic=True)


def test_b8_undirected_and_weights():
    editor, _ = grown(40, [0, 0, 0], BatchRules(undirected=True))
    assert editor.add_edge(0, 1, 5)
    assert editor.add_edge(2, 2, 6)
    assert (editor.neighbours(0), editor.neighbours(1), editor.neighbours(2)) == ([1], [0], [2])
    assert editor.set_weight(1, 0, 8)
    assert weights_of(editor, 0) == weights_of(editor, 1) == [8]
    assert editor.remove_edge(1, 0)
    assert editor.remove_edge(2, 2)
    assert not editor.set_weight(0, 1, 1)
    checked(editor, {0: [], 1: [], 2: []})


@pytest.mark.parametrize("size", [40, 64])
def test_random_edits(size):
    """Against lists; a list's order is that of the document's updates."""
    random = np.random.default_rng(size)
    editor, lists = grown(size, [1] * 6)
    for _ in range(1200):
        src, dst = (int(vertex) for vertex in random.integers(0, max(lists) + 2, 2) * random.random(2) ** 2)
        way = random.random()
        if way < 0.02:
            lists[editor.add_vertex()] = []
        elif way < 0.03:
            assert editor.remove_vertex(src) == (lists.pop(src, None) is not None)
        elif way < 0.75:
            assert editor.add_edge(src, dst) == (src in lists and dst in lists)
            if src in lists and dst in lists:
                lists[src].append(dst)
        elif editor.remove_edge(src, dst):
            place = len(lists[src]) - 1 - lists[src][::-1].index(dst)
            lists[src][place] = lists[src][-1]
            lists[src].pop()
        else:
            assert dst not in lists.get(src, [])
        if not lists:
            lists[editor.add_vertex()] = []
    checked(editor, lists)


def test_b8_parallel_edges_have_the_same_weights_at_both_ends():
    random = np.random.default_rng(8)
    editor, _ = grown(40, [0] * 5, BatchRules(undirected=True))
    for _ in range(300):
        src, dst, weight = random.integers(0, 5, 3).tolist()
        if random.random() < 0.6:
            editor.add_edge(src, dst, weight)
        else:
            editor.remove_edge(src, dst)
    arcs = [sorted(zip(editor.neighbours(row), weights_of(editor, row), strict=True)) for row in range(5)]
    turned = [sorted((tail, weight) for tail in range(5) for head, weight in arcs[tail] if head == row) for row in range(5)]
    assert arcs == turned
