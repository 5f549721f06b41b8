"""Certificate of CDLP: the labels of every round are found again, by sorting.

No pass over the arcs tells the labels of ten rounds from those of nine. The certificate therefore repeats the rounds: it sorts
the pairs of a row and a neighbour's label, in blocks of rows, and counts equal ones. The solver's tables of labels are not used.
"""

from itertools import pairwise

import numpy as np

from kernels.answers import Certificate, Components
from kernels.arrays import is_cupy, is_cupy_array
from kernels.cdlp.certificate.reasons import another_label
from kernels.cdlp.parameters import ITERATIONS
from kernels.certificate.rules import Broken, name_of, require_rows, verdict
from kernels.cpu.parallel import over_items
from kernels.graph import OFFSET, Array, Csr, Graph

_ARCS = {False: 1 << 17, True: 1 << 26}  # that are sorted at a time, on a CPU, in the cache of a core, and on a GPU


def rules_of(iterations: int) -> tuple[str, ...]:
    """What the certificate proves."""
    return (
        f"labels are those of {iterations} rounds, in each of which every vertex takes the label of most of its neighbours, of "
        "several the smallest",
    )


def certify_cdlp(graph: Graph, answer: Components, iterations: int = ITERATIONS) -> Certificate:
    """Prove labels. O(iterations A log A) time. A malformed answer does not hold; nothing is raised."""
    return verdict(rules_of(iterations), _check, graph, answer, iterations)


def _check(graph: Graph, answer: Components, iterations: int) -> None:
    if is_cupy(graph):
        from kernels.certificate.launches import require_held

        require_held(_holds, _check, graph, answer, iterations)
        return
    stated = require_rows("labels", answer.labels, graph.num_vertices, graph.num_vertices, row=graph.rows_by_id.dtype)
    expected = _expected(graph, iterations)
    if (stated != expected).any():
        row = int((stated != expected).argmax())
        raise Broken(another_label(*(name_of(graph, one) for one in (row, stated[row], expected[row]))))


def _holds(graph: Graph, answer: Components, iterations: int) -> bool:
    from kernels.certificate.launches import require_device_form

    stated = require_device_form("labels", answer.labels, graph.num_vertices, graph.rows_by_id.dtype)
    return bool((stated == _expected(graph, iterations)).all())


def _expected(graph: Graph, iterations: int) -> Array:
    """The row that each row's label names, after all rounds."""
    labels, before = graph.positions, None
    sides = (graph.out,) if graph.symmetric else (graph.out, graph.into)
    for _ in range(iterations):
        after = recounted(sides, labels, before, graph.num_vertices)
        if (after == labels).all():
            break
        labels, before = after, labels
    return graph.rows_by_id[labels]


def recounted(sides: tuple[Csr, ...], labels: Array, before: Array | None, num_own: int) -> Array:
    """The labels of the first `num_own` rows after a round.

    Args:
        sides: The arcs that count, of the own rows at least.
        labels (index width): Of all rows that arcs lead to, as positions.
        before: The same before the last round, which gave the rows of unchanged neighbours their labels; None: there was none.
    """
    after = labels[:num_own].copy()
    changed = np.ones_like(labels, np.bool_) if before is None else labels != before
    ends = sides[0].offsets[: num_own + 1]
    if len(sides) > 1:
        ends = ends + sides[1].offsets[: num_own + 1]
    step = _ARCS[is_cupy_array(labels)]
    marks = np.arange(0, int(ends[-1]) + step, step, dtype=OFFSET, like=ends)
    cuts = np.unique(np.minimum(np.searchsorted(ends, marks), num_own)).tolist()
    blocks = [slice(*pair) for pair in pairwise(cuts)]

    def recount(block: slice) -> None:
        _recount(sides, labels, changed, after[block], block)

    over_items(blocks, recount, parallel=len(blocks) > 1 and not is_cupy_array(labels))
    return after


def _recount(sides: tuple[Csr, ...], labels: Array, changed: Array, after: Array, block: slice) -> None:
    """Set the labels of a block of rows."""
    width, looks = np.int64(int(labels.max()) + 1), np.zeros_like(after, np.bool_)
    for side in sides:
        offsets, others = _arcs(side, block)
        before = np.concatenate([np.zeros_like(offsets[:1]), np.cumsum(changed[others], dtype=OFFSET)])
        looks |= before[offsets[1:]] > before[offsets[:-1]]
    pairs = np.concatenate([_pairs(side, labels, looks, block, width) for side in sides])
    pairs.sort()
    begins = np.ones_like(pairs, np.bool_)
    begins[1:] = pairs[1:] != pairs[:-1]
    first = np.flatnonzero(begins)
    counts = np.diff(np.append(first, len(pairs)))
    rows = pairs[first] // width
    most = np.zeros_like(pairs, OFFSET, shape=(len(after),))
    np.maximum.at(most, rows, counts)
    best = np.flatnonzero(counts == most[rows])  # of each row, in ascending order of labels
    smallest = np.ones_like(best, np.bool_)
    smallest[1:] = rows[best[1:]] != rows[best[:-1]]
    chosen = best[smallest]
    after[rows[chosen]] = (pairs[first[chosen]] % width).astype(labels.dtype)


def _arcs(side: Csr, block: slice) -> tuple[Array, Array]:
    """The arcs of a block of rows; the first one has the offset 0."""
    offsets = side.offsets[block.start : block.stop + 1]
    return offsets - offsets[0], side.indices[int(offsets[0]) : int(offsets[-1])]


def _pairs(side: Csr, labels: Array, looks: Array, block: slice, width: np.int64) -> Array:
    """Row in the block * width + label of the neighbour, for each arc of rows that are looked at, but self-loops: int64."""
    offsets, others = _arcs(side, block)
    if is_cupy_array(offsets):
        rows = np.searchsorted(offsets, np.arange(len(others), dtype=OFFSET, like=offsets), side="right") - 1
    else:
        rows = np.repeat(np.arange(len(looks)), np.diff(offsets))
    kept = looks[rows] & (others != rows + block.start)
    pairs: Array = rows[kept] * width + labels[others[kept]]
    return pairs
