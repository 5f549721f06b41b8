"""The memory of pages: a pool of page-sized parts, the order of the pages, and the index by which a vertex's page is found."""

from typing import Any

import numpy as np

from kernels.arrays import is_cupy_array
from kernels.graph import Array, Csr
from kernels.library.dynamic.arrays import ones
from kernels.library.dynamic.contract import Lists
from kernels.library.dynamic.pages.building import plan_pages, write_pages
from kernels.library.dynamic.pages.layout import PAGE_SIZES, WORD
from kernels.library.dynamic.values import checked_weight_type, require_vertex

NOT_LARGE = -1  # in the index: the page is not part of a large list
_GROWTH = 1.5  # of the pool
_SPARE, _LEAST_SPARE = 16, 8  # a new pool has a 16th more pages than its lists need, and eight: growth copies the pool
_EDGELESS_FILL = 0.4  # of a page of vertices without arcs: the document adds a vertex only to a page that is 60 % free


class PageStore:
    """Slotted pages in NumPy's or CuPy's memory.

    Attributes:
        words (int32 [C, S]): The pool: page-sized parts, of which `slots` are in use.
        weights ([C, S], or None): The weight of the neighbour in the same word.
        slots (int64 [P]): Part of the pool that each page has, in ascending order of the pages' vertices.
        index (int32 [P, 3]): First vertex of each page; number of the page in its large list, and pages of that list, or -1, -1.
        free (int64 [F]): Parts that are not in use, the next one last.
        num_rows: Number of the next vertex; a number is not used again.
        complete: Whether every number below has a vertex, which is then not looked for.
    """

    def __init__(self, page_size: int, weight: Any = None, like: Any = None) -> None:
        if page_size not in PAGE_SIZES:
            raise ValueError(f"page_size {page_size} is not an even number in {PAGE_SIZES[0]}..{PAGE_SIZES[-1]}")
        like = np.empty(0) if like is None else like
        self.page_size, self.num_rows, self.complete = page_size, 0, True
        self.words: Array = np.empty((0, page_size), WORD, like=like)
        self.weights: Array | None = None if weight is None else np.empty((0, page_size), checked_weight_type(weight), like=like)
        self.slots: Array = np.empty(0, np.int64, like=like)
        self.free: Array = np.empty(0, np.int64, like=like)
        self.index: Array = np.empty((0, 3), WORD, like=like)
        self._addresses: tuple[Array, Array | None] | None = None

    @classmethod
    def from_lists(cls, vertices: Array, lists: Csr | Lists, page_size: int = 1024, fill: float = 1.0) -> "PageStore":
        """Pages of the lists of ascending vertices (int32 [n]), each filled to the share `fill` if there is another list."""
        heads = lists.indices if isinstance(lists, Csr) else lists.heads
        store = cls(page_size, None if lists.weights is None else lists.weights.dtype, vertices)
        plan = plan_pages(np.diff(lists.offsets), page_size, fill)
        spare = plan.num_pages // _SPARE + _LEAST_SPARE
        slots = store.take(plan.num_pages + spare)
        store.release(slots[plan.num_pages :])
        slots = slots[: plan.num_pages]
        write_pages(store, slots, plan, vertices, Lists(lists.offsets, heads, lists.weights))
        store.num_rows = int(vertices[-1]) + 1 if len(vertices) else 0
        store.complete = store.num_rows == len(vertices)
        store.replace_order(slots)
        return store

    @property
    def num_pages(self) -> int:
        """Pages in use."""
        return len(self.slots)

    @property
    def num_vertices(self) -> int:
        """Vertices that were not removed."""
        return int(self.words[self.slots, 0].sum()) if self.num_pages else 0

    def page(self, number: int) -> Array:
        """The words of a page: a view."""
        words: Array = self.words[int(self.slots[number])]
        return words

    def weights_of(self, number: int) -> Array | None:
        """The weights of a page: a view."""
        return None if self.weights is None else self.weights[int(self.slots[number])]

    def take(self, number: int) -> Array:
        """Slots of `number` new pages, whose content is undefined; the pool grows if too few are free."""
        if (lacking := number - len(self.free)) > 0:
            old = len(self.words)
            length = old + max(lacking, int((_GROWTH - 1) * old))
            self.reserve(length)
            self.free = np.concatenate([np.arange(length - 1, old - 1, -1, dtype=np.int64, like=self.slots), self.free])
        kept = len(self.free) - number
        self.free, taken = self.free[:kept], self.free[kept:]
        return taken[::-1].copy()

    def reserve(self, length: int) -> None:
        """Make the pool at least `length` parts long."""
        if length > len(self.words):
            self.words = _grown(self.words, length)
            self.weights = None if self.weights is None else _grown(self.weights, length)
            self._addresses = None

    def release(self, slots: Array) -> None:
        """Free the pages of slots."""
        self.free = np.concatenate([self.free, slots[::-1]])

    def replace_order(self, slots: Array) -> None:
        """Set the order of the pages, and make the index from them."""
        self.set_order(slots, index_of(self.words, slots))

    def set_order(self, slots: Array, index: Array, addresses: tuple[Array, Array | None] | None = None) -> None:
        """Set the order of the pages, their index, and their addresses, which are otherwise made when they are asked for."""
        self.slots, self.index, self._addresses = slots, index, addresses

    def splice(self, pages: Array, counts: Array, slots: Array) -> None:
        """Replace each of ascending `pages` by `counts` pages (each 0 or more), whose slots are concatenated in `slots`."""
        widths = ones(self.num_pages, np.int64, self.slots)
        widths[pages] = counts
        ends = np.cumsum(widths)
        order = np.empty(int(ends[-1]), np.int64, like=self.slots)
        others = ones(self.num_pages, np.bool_, self.slots)
        others[pages] = False
        order[(ends - widths)[others]] = self.slots[others]
        starts = np.cumsum(counts) - counts
        owner = np.searchsorted(starts + counts, np.arange(len(slots), dtype=np.int64, like=slots), side="right")
        order[(ends - widths)[pages][owner] + np.arange(len(slots), dtype=np.int64, like=slots) - starts[owner]] = slots
        self.replace_order(order)

    @property
    def addresses(self) -> tuple[Array, Array | None]:
        """Addresses of the pages' words, and of their weights: uint64 [P]; pages need not be contiguous for kernels."""
        if self._addresses is None:
            self._addresses = (
                _addresses(self.words, self.slots),
                (None if self.weights is None else _addresses(self.weights, self.slots)),
            )
        return self._addresses

    def add_vertices(self, number: int) -> None:
        """Append vertices without arcs in new pages, each filled as the document fills it.

        Raises:
            OverflowError: A vertex would not fit int32.
        """
        require_vertex(self.num_rows + number - 1)
        vertices = np.arange(self.num_rows, self.num_rows + number, dtype=WORD, like=self.slots)
        if number:
            degrees = np.zeros(number, np.int64, like=self.slots)
            plan, nothing = plan_pages(degrees, self.page_size, _EDGELESS_FILL), self.words.reshape(-1)[:0]
            slots = self.take(plan.num_pages)
            none = None if self.weights is None else self.weights.reshape(-1)[:0]
            write_pages(self, slots, plan, vertices, Lists(np.zeros(number + 1, np.int64, like=self.slots), nothing, none))
            self.num_rows += number
            self.replace_order(np.concatenate([self.slots, slots]))


def index_of(words: Array, slots: Array) -> Array:
    """The index of pages, from their words: a page without slots continues the large list before it."""
    index = np.empty((len(slots), 3), WORD, like=slots)
    if len(slots):
        starts = np.flatnonzero(words[slots, 0] > 0)
        numbers = np.arange(len(slots), dtype=np.int64, like=slots)
        run = np.searchsorted(starts, numbers, side="right") - 1
        ends = np.concatenate([starts[1:], numbers[-1:] + 1])
        large = words[slots, 2] > 0
        columns = (
            words[slots[starts], words.shape[1] - 1][run],
            np.where(large, numbers - starts[run], NOT_LARGE),
            np.where(large, (ends - starts)[run], NOT_LARGE),
        )
        for number, column in enumerate(columns):
            index[:, number] = column.astype(WORD)
    return index


def _grown(array: Array, length: int) -> Array:
    made = np.zeros((length, array.shape[1]), array.dtype, like=array)
    made[: len(array)] = array
    return made


def _addresses(array: Any, slots: Array) -> Array:
    first = array.data.ptr if is_cupy_array(array) else array.ctypes.data
    addresses: Array = (slots * (array.shape[1] * array.itemsize) + first).astype(np.uint64)
    return addresses
