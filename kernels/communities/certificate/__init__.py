"""Proof of communities: the votes of every row are counted again, by sorting; connectivity and modularity are stated.

Modularity is the share of arcs within communities, less that of a random graph of the same degrees: with A arcs, I of them within
communities, of which c has out_c tails and in_c heads, it is I / A - sum of out_c in_c / A^2 (Newman, Girvan: Finding and
Evaluating Community Structure in Networks, Physical Review E 69, 2004; directed: Leicht, Newman, Physical Review Letters 100,
2008). All are integers, so it is stated as a fraction.

The certificate proves that no row prefers another label, not that no other communities have this property.
"""

from itertools import pairwise

import numpy as np

from kernels.answers import Certificate, Components
from kernels.arrays import is_cupy, is_cupy_array
from kernels.certificate.rules import NAMED, Broken, name_of, require_labels
from kernels.cpu.parallel import over_items
from kernels.graph import OFFSET, Array, Csr, Graph
from kernels.wcc import wcc

RULES = (
    NAMED,
    "no vertex has more arcs to another community than within its own",
)
_ARCS = {False: 1 << 22, True: 1 << 27}  # that are sorted at a time, on a CPU and on a GPU
_BITS = 20


def certify_communities(graph: Graph, answer: Components) -> Certificate:
    """Prove communities. O(A log A) time, in blocks of rows. A malformed answer does not hold; nothing is raised."""
    try:
        if is_cupy(graph):
            from kernels.certificate.launches import require_held

            require_held(_holds, _check, graph, answer)
        else:
            _check(graph, answer)
    except Broken as broken:
        return Certificate(False, str(broken), RULES)
    labels = answer.labels
    named = int((labels == np.arange(len(labels), dtype=labels.dtype, like=labels)).sum())
    apart = f"{parts_apart(graph, labels)} of {named} communities are not connected"
    return Certificate(True, "", (*RULES, apart, modularity(graph, labels)))


def _check(graph: Graph, answer: Components) -> None:
    _require_preferred(graph, require_labels(graph, answer.labels))


def _holds(graph: Graph, answer: Components) -> bool:
    """Whether the rules hold on the GPU."""
    from kernels.certificate.launches import require_device_form

    labels = require_device_form("labels", answer.labels, graph.num_vertices, graph.rows_by_id.dtype)
    if ((labels < 0) | (labels >= graph.num_vertices)).any():
        return False
    if (labels[labels] != labels).any() or (graph.ids[labels] > graph.ids).any():
        return False
    _require_preferred(graph, labels)
    return True


def _require_preferred(graph: Graph, labels: Array) -> None:
    """Raise Broken for the first row that prefers another label."""
    ends = graph.out.offsets if graph.symmetric else graph.out.offsets + graph.into.offsets
    step = _ARCS[is_cupy(graph)]
    marks = np.arange(0, int(ends[-1]) + step, step, dtype=OFFSET, like=ends)
    cuts = np.unique(np.minimum(np.searchsorted(ends, marks), graph.num_vertices)).tolist()
    blocks = [slice(*pair) for pair in pairwise(cuts)]
    parallel = len(blocks) > 1 and not is_cupy(graph)
    reasons = over_items(blocks, lambda block: _astray(graph, labels, block), parallel=parallel)
    for row, votes, other, more in (reason for reason in reasons if reason):
        raise Broken(
            f"vertex {name_of(graph, row)}: {votes} arcs within its community {name_of(graph, labels[row])}, "
            f"but {more} to community {name_of(graph, other)}"
        )


def _astray(graph: Graph, labels: Array, block: slice) -> tuple[int, int, int, int] | None:
    """Of the first row of a block that prefers another label: the row, its votes, that label, and its votes."""
    width = np.int64(max(graph.num_vertices, 1))
    votes = np.concatenate([_votes(side, labels, block, width) for side in _sides(graph)])
    votes.sort()
    begins = np.ones_like(votes, np.bool_)
    begins[1:] = votes[1:] != votes[:-1]
    first = np.flatnonzero(begins)
    counts = np.diff(np.append(first, len(votes)))
    rows, given = votes[first] // width, votes[first] % width
    own = np.zeros_like(votes, shape=(block.stop - block.start,))
    mine = given == labels[block][rows]
    own[rows[mine]] = counts[mine]
    wrong = np.flatnonzero(counts > own[rows])
    if not len(wrong):
        return None
    row = int(rows[wrong[0]])
    return block.start + row, int(own[row]), int(given[wrong[0]]), int(counts[wrong[0]])


def _sides(graph: Graph) -> tuple[Csr, ...]:
    return (graph.out,) if graph.symmetric else (graph.out, graph.into)


def _votes(side: Csr, labels: Array, block: slice, width: np.int64) -> Array:
    """Row in the block * width + label of the neighbour, for each arc that is not a self-loop."""
    offsets = side.offsets[block.start : block.stop + 1]
    rows, others = _tails(offsets), side.indices[int(offsets[0]) : int(offsets[-1])]
    votes: Array = (rows * width + labels[others])[others != rows + block.start]
    return votes


def _tails(offsets: Array) -> Array:
    """The row of each arc of consecutive rows, from 0: int64."""
    if not is_cupy_array(offsets):
        return np.repeat(np.arange(len(offsets) - 1), np.diff(offsets))
    arcs = np.arange(int(offsets[0]), int(offsets[-1]), dtype=OFFSET, like=offsets)
    tails: Array = np.searchsorted(offsets, arcs, side="right") - 1
    return tails


def parts_apart(graph: Graph, labels: Array) -> int:
    """Number of communities that are not connected."""
    sides = [_within(side, labels) for side in _sides(graph)]
    parts = wcc(Graph(graph.ids, graph.rows_by_id, sides[0], sides[-1], graph.directed)).labels
    first = parts == np.arange(len(parts), dtype=parts.dtype, like=parts)
    return len(np.unique(labels[first & (labels != parts)]))


def _within(side: Csr, labels: Array) -> Csr:
    """The arcs within communities."""
    kept = labels[_tails(side.offsets)] == labels[side.indices]
    offsets = _running(kept)[side.offsets]
    return Csr(offsets, side.indices[kept], None)


def modularity(graph: Graph, labels: Array) -> str:
    """The modularity as a fraction of integers, and rounded."""
    arcs = graph.num_arcs
    if not arcs:
        return "modularity is 0: there is no arc"
    inside = int((labels[_tails(graph.out.offsets)] == labels[graph.out.indices]).sum())
    tails, heads = (_sums(labels, np.diff(side.offsets)) for side in (graph.out, graph.into))
    # tails * heads may exceed int64: in two parts, whose sums do not, below 2^43 arcs
    expected = int(((tails >> _BITS) * heads).sum()) << _BITS
    expected += int(((tails & ((1 << _BITS) - 1)) * heads).sum())
    above = arcs * inside - expected
    return f"modularity is {above} / {arcs * arcs}, {above / (arcs * arcs):.6f}"


def _sums(labels: Array, degrees: Array) -> Array:
    """The sum of the degrees of each label's rows, int64 [V]."""
    order = np.argsort(labels, kind="stable")
    cuts = np.searchsorted(labels[order], np.arange(len(labels) + 1, dtype=labels.dtype, like=labels))
    sums: Array = np.diff(_running(degrees[order])[cuts])
    return sums


def _running(values: Array) -> Array:
    """0 and the sums of the first values, int64."""
    return np.concatenate([np.zeros_like(values, OFFSET, shape=(1,)), np.cumsum(values, dtype=OFFSET)])
