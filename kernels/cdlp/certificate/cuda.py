"""A round of the certificate on the GPU: votes that do not decide by themselves are counted by sorting, in blocks of rows."""

from itertools import pairwise

import cupy
import numpy as np

from kernels.cdlp.constants import THREADS
from kernels.distributed.lists import gathered
from kernels.gpu.loader import launch, pointer
from kernels.graph import OFFSET, Array, Csr

_ARCS = 1 << 26  # that are sorted at a time


def recount(sides: tuple[Csr, ...], labels: Array, before: Array | None, num_own: int) -> Array:
    """As `kernels.cdlp.certificate.recounted`."""
    after, undecided = labels[:num_own].copy(), cupy.empty(num_own, np.bool_)
    into = (sides[1].offsets, sides[1].indices) if len(sides) > 1 else (pointer(None), pointer(None))
    arcs = sides[0].offsets, sides[0].indices, *into
    changed = pointer(None if before is None else labels != before)
    state = np.int64(num_own), labels, changed, after, undecided
    launch("cdlp/certificate/votes.cu", "find_undecided", THREADS, 32 * num_own, *arcs, *state, ROW=labels.dtype)
    rows = cupy.flatnonzero(undecided)
    if not len(rows):
        return after
    ends = cupy.cumsum(sum(side.offsets[rows + 1] - side.offsets[rows] for side in sides))
    marks = cupy.arange(_ARCS, int(ends[-1]), _ARCS, dtype=OFFSET)
    for first, end in pairwise([0, *cupy.searchsorted(ends, marks).tolist(), len(rows)]):
        _count(sides, labels, rows[first:end], after)
    return after


def _count(sides: tuple[Csr, ...], labels: Array, rows: Array, after: Array) -> None:
    """Set the labels of some rows that have votes."""
    width = np.int64(int(labels.max()) + 1)
    pairs = cupy.concatenate([_pairs(side, labels, rows, width) for side in sides])  # number of the row * width + label
    pairs.sort()
    begins = cupy.ones_like(pairs, np.bool_)
    begins[1:] = pairs[1:] != pairs[:-1]
    first = cupy.flatnonzero(begins)
    counts = cupy.diff(cupy.append(first, len(pairs)))
    numbers = pairs[first] // width
    most = cupy.zeros(len(rows), OFFSET)
    cupy.maximum.at(most, numbers, counts)
    best = cupy.flatnonzero(counts == most[numbers])  # of each row, in ascending order of labels
    smallest = cupy.ones_like(best, np.bool_)
    smallest[1:] = numbers[best[1:]] != numbers[best[:-1]]
    chosen = best[smallest]
    after[rows[numbers[chosen]]] = (pairs[first[chosen]] % width).astype(labels.dtype)


def _pairs(side: Csr, labels: Array, rows: Array, width: np.int64) -> Array:
    entries, numbers = gathered(side.offsets[:-1], side.offsets[1:], rows)
    others = side.indices[entries]
    kept = others != rows[numbers]
    pairs: Array = numbers[kept] * width + labels[others[kept]]
    return pairs
