"""Edges to rows of arcs, and rows to in-rows, by a radix sort of keys (row, neighbour) on all cores.

Arcs are dealt into buckets of consecutive rows that fit a core's cache, where the keys are sorted by their digits from the least
significant one. Every pass is stable, so the order does not depend on the number of cores.

References: Jiménez-González, Navarro, Larriba-Pey: CC-Radix, a cache conscious sorting based on radix sort. PDP 2003.
"""

from collections.abc import Sequence
from itertools import accumulate
from typing import NamedTuple, Protocol

import numpy as np

from kernels.arrays import is_cupy
from kernels.cpu.compiled import njit
from kernels.cpu.parallel import over_items, ranges, running_sums
from kernels.cpu.radix_sort import sort_by_digits
from kernels.graph import OFFSET, Array, Csr
from kernels.layout.dealing import ELSEWHERE, NO_WEIGHTS, ReversedRows, UnsortedArcs, UnsortedEdges
from kernels.layout.numbering import Numbered
from kernels.layout.rules import ArcRules, Edges, GrowingArray, Spill

_BUCKET_ARCS = 1 << 16  # of a bucket, on average
_BUCKET_BITS = 10  # a core writes to 2^10 buckets at a time, hardly to more


class EdgeLists(Protocol):
    """Something that takes lists of edges from any number of threads."""

    def append(self, part: Edges, /) -> None:
        """Take further edges."""


def sort_arcs(numbering: Numbered, rules: ArcRules, dropped: EdgeLists | None = None) -> Csr:
    """Sort edges into out-rows whose arcs ascend by their head, then by weight.

    Args:
        numbering: The vertices, and the edges between them.
        dropped: If given, the edges, between positions, that are dropped because a parallel one is no heavier are appended.
    """
    return _sorted(len(numbering.ids), UnsortedEdges(numbering, rules), False, numbering.edges.spill, rules, dropped)


def in_rows(out: Csr, spill: Spill | None = None) -> Csr:
    """The in-arcs of a graph whose rows are positions: `out` itself if the graph is symmetric, including the weights."""
    if is_cupy(out):
        from kernels.layout import cuda

        into = cuda.transposed(out)
        return out if cuda.equal(into, out) else into
    if spill:  # a look at the rows in any order would read the same pages of a file many times
        into = transpose(out, spill)
        return out if equal(into, out) else into
    positions = np.arange(len(out.offsets) - 1, dtype=out.indices.dtype)
    return out if is_transpose(out, out, positions) else transpose(out)


def transpose(csr: Csr, spill: Spill | None = None) -> Csr:
    """The arcs reversed: their rows ascend by index, and parallel arcs keep their order."""
    return _sorted(len(csr.offsets) - 1, ReversedRows(csr), True, spill)


def equal(one: Csr, other: Csr) -> bool:
    """Whether both have the same arcs in the same order."""
    columns = [(one.offsets, other.offsets), (one.indices, other.indices)]
    columns += [] if one.weights is None or other.weights is None else [(one.weights, other.weights)]
    return all(
        len(here) == len(there) and all(np.array_equal(here[begin:end], there[begin:end]) for begin, end in ranges(len(here)))
        for here, there in columns
    )


def is_transpose(out: Csr, into: Csr, order: Array) -> bool:
    """Whether `into` holds exactly the arcs of `out`, weights included, and each row of both ascends by `order`, then weight.

    Args:
        out, into: Both valid. Pass the same object to test whether a graph is symmetric.
        order (index width [V]): All rows, in the order in which a row's arcs ascend.
    """
    if len(out.indices) != len(into.indices):
        return False
    arrays = (out.offsets, out.indices, out.weights, into.offsets, into.indices, into.weights)
    return bool(_is_transpose(*arrays, into.offsets[:-1].copy(), order))


def _sorted(
    num_rows: int,
    arcs: UnsortedArcs,
    ascending: bool,
    spill: Spill | None,
    rules: ArcRules | None = None,
    dropped: EdgeLists | None = None,
) -> Csr:
    """Sort arcs into rows; if they come in ascending order of their neighbours, only their rows are compared.

    With `spill`, in each pass over the arcs a share of them is dealt, sorted and written, so that memory has only these. With
    `rules`, only the lightest of parallel arcs is kept, or they ascend by weight; otherwise they keep their order.
    """
    bits, row, weighted = max(num_rows - 1, 0).bit_length(), arcs.row, arcs.weight is not None
    shift = max(0, bits - min((arcs.most // _BUCKET_ARCS).bit_length(), _BUCKET_BITS))
    counts = arcs.count(shift, -(-num_rows >> shift))
    starts = np.concatenate([np.zeros(1, OFFSET), counts.sum(axis=0).cumsum()])
    free = starts[:-1] + counts.cumsum(axis=0) - counts  # in each bucket, where the arcs of each range begin
    degrees = np.zeros(num_rows, OFFSET)

    def empty(length: int) -> tuple[Array, Array]:
        return np.empty(length, row), np.empty(length, arcs.weight) if weighted else NO_WEIGHTS.copy()

    def rows_of(first: int, last: int) -> _SortedBuckets:
        """Deal and sort the arcs of the buckets `first..last-1`."""
        own = starts[first : last + 1] - starts[first]
        tails, (indices, weights) = np.empty(own[-1], row), empty(own[-1])
        dealt = tails.view(f"u{row.itemsize}"), indices.view(f"u{row.itemsize}"), weights
        begins = np.full_like(free, ELSEWHERE)
        begins[:, first:last] = free[:, first:last] - starts[first]
        arcs.deal(shift, begins, *dealt)

        def sort(bucket: int) -> int:
            part = slice(own[bucket], own[bucket + 1])
            of_bucket = dealt[0][part], dealt[1][part], weights[part]
            _sort_bucket(*of_bucket, bits, shift, ascending)
            stay = len(of_bucket[0])
            if rules and rules.keep_parallel:
                _order_parallel(*of_bucket)
            elif rules:
                stay, *listed = _keep_lightest(*of_bucket, rules.both)
                if dropped is not None:
                    dropped.append(Edges(listed[0], listed[1], listed[2] if weighted else None))
            _count_tails(of_bucket[0][:stay], degrees)
            return stay

        return _SortedBuckets(tails, indices, weights, own, over_items(range(last - first), sort))

    if spill is None:
        indices, weights = rows_of(0, len(starts) - 1).closed_up()
        return Csr(running_sums(degrees), indices, weights if weighted else None)
    columns = [spill.array(row), *([spill.array(arcs.weight)] if arcs.weight else [])]
    first = 0
    while first < len(starts) - 1:  # at least a bucket at a time, however large it is
        fit = spill.most // sum(array.itemsize for array in (*empty(0), np.empty(0, row)))
        last = max(int(np.searchsorted(starts, starts[first] + fit, side="right")) - 1, first + 1)
        rows_of(first, last).append_to(columns)
        first = last
    (indices, *of_arcs) = (column.close() for column in columns)
    return Csr(running_sums(degrees), indices, of_arcs[0] if of_arcs else None)


class _SortedBuckets(NamedTuple):
    """Sorted arcs of buckets, with gaps behind those that stay of each."""

    tails: Array
    indices: Array
    weights: Array  # [0] if the arcs have none
    starts: Array
    stay: list[int]

    def closed_up(self) -> tuple[Array, Array]:
        """The arcs that stay, without more memory: the tails' array takes the indices, and the indices' array the weights."""
        if (kept := sum(self.stay)) == len(self.indices):
            return self.indices, self.weights
        self._copy(self.indices, self.tails)
        if not len(self.weights):
            return self.tails[:kept], self.weights
        fits = self.weights.itemsize == self.indices.itemsize
        weights = self.indices.view(self.weights.dtype) if fits else np.empty(kept, self.weights.dtype)
        self._copy(self.weights, weights)
        return self.tails[:kept], weights[:kept]

    def append_to(self, columns: Sequence[GrowingArray]) -> None:
        """Append the indices of the arcs that stay to the first column, and the weights to the second one."""
        for column, values in zip(columns, (self.indices, self.weights), strict=False):
            for begin, stay in zip(self.starts.tolist(), self.stay, strict=False):
                column.append(values[begin : begin + stay])

    def _copy(self, source: Array, target: Array) -> None:
        ends = [*accumulate(self.stay, initial=0)]

        def copy(bucket: int) -> None:
            begin = self.starts[bucket]
            target[ends[bucket] : ends[bucket + 1]] = source[begin : begin + self.stay[bucket]]

        over_items(range(len(self.stay)), copy)


@njit(cache=True, nogil=True)
def _is_transpose(
    offsets: Array, indices: Array, weights: Array | None,
    into_offsets: Array, into_indices: Array, into_weights: Array, expected: Array, order: Array,
) -> bool:  # fmt: skip
    """Visit the out-arcs in the order that every in-row must have; `expected` is the next arc of each in-row."""
    for place in range(len(order)):
        row = order[place]
        for arc in range(offsets[row], offsets[row + 1]):
            head = indices[arc]
            into_arc = expected[head]
            if into_arc == into_offsets[head + 1] or into_indices[into_arc] != row:
                return False
            if weights is not None and into_weights[into_arc] != weights[arc]:
                return False
            expected[head] = into_arc + 1
    return True


@njit(cache=True, nogil=True)
def _sort_bucket(tails: Array, heads: Array, weights: Array, bits: int, bucket_bits: int, ascending: bool) -> None:
    """Sort a bucket's arcs by tail and head in place; if they are `ascending` by head already, by tail only.

    A head has `bits` bits, a tail's place in the bucket `bucket_bits`.
    """
    first = tails[0] >> bucket_bits << bucket_bits if len(tails) else 0
    keys = np.empty(len(tails), np.uint64)
    for arc in range(len(tails)):
        keys[arc] = np.uint64(tails[arc] - first) << np.uint64(bits) | np.uint64(heads[arc])
    sort_by_digits(keys, weights, bits if ascending else 0, bits + bucket_bits)
    for arc in range(len(tails)):
        tails[arc] = first + (keys[arc] >> np.uint64(bits))
        heads[arc] = keys[arc] & ((np.uint64(1) << np.uint64(bits)) - np.uint64(1))


@njit(cache=True, nogil=True)
def _order_parallel(tails: Array, heads: Array, weights: Array) -> None:
    """Sort the weights of parallel arcs, in place."""
    first = 0
    for arc in range(1, len(weights) + 1):
        if arc == len(weights) or tails[arc] != tails[first] or heads[arc] != heads[first]:
            if arc - first > 1:
                weights[first:arc].sort()
            first = arc


@njit(cache=True, nogil=True)
def _keep_lightest(tails: Array, heads: Array, weights: Array, both: bool) -> tuple[int, Array, Array, Array]:
    """Keep the first of the lightest of parallel arcs, in place; return how many stay, and the edges that do not.

    With `both`, an edge is two arcs, of which the one to the greater position is not listed.
    """
    count = 0
    for arc in range(1, len(tails)):
        count += heads[arc] == heads[arc - 1] and tails[arc] == tails[arc - 1] and not (both and heads[arc] > tails[arc])
    listed = np.empty(count, tails.dtype), np.empty(count, heads.dtype), np.empty(count if len(weights) else 0, weights.dtype)
    stay = count = 0
    for arc in range(len(tails)):
        if stay and heads[stay - 1] == heads[arc] and tails[stay - 1] == tails[arc]:
            if not (both and heads[arc] > tails[arc]):
                listed[0][count], listed[1][count] = tails[arc], heads[arc]
                if len(weights):
                    listed[2][count] = max(weights[stay - 1], weights[arc])
                count += 1
            if len(weights):
                weights[stay - 1] = min(weights[stay - 1], weights[arc])
        else:
            tails[stay], heads[stay] = tails[arc], heads[arc]
            if len(weights):
                weights[stay] = weights[arc]
            stay += 1
    return stay, listed[0], listed[1], listed[2]


@njit(cache=True, nogil=True)
def _count_tails(tails: Array, degrees: Array) -> None:
    """Count the arcs of each tail."""
    for tail in tails:
        degrees[tail] += 1
