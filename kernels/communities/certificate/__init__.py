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
from kernels.arrays import is_cupy
from kernels.certificate.rules import Broken, name_of, require_labels
from kernels.cpu.parallel import over_items
from kernels.gpu.transfer import on_host
from kernels.graph import OFFSET, Array, Csr, Graph
from kernels.wcc import wcc

RULES = (
    "a label is the smallest external id of its community",
    "no vertex has more arcs to another community than within its own",
)
_ARCS = 1 << 22  # that are sorted at a time
_BITS = 20


def certify_communities(graph: Graph, answer: Components) -> Certificate:
    """Prove communities. O(A log A) time, in blocks of rows. A malformed answer does not hold; nothing is raised."""
    graph_on, answer_on = (on_host(graph), on_host(answer)) if is_cupy(graph) else (graph, answer)
    try:
        labels = require_labels(graph_on, answer_on.labels)
        _require_preferred(graph_on, labels)
    except Broken as broken:
        return Certificate(False, str(broken), RULES)
    named = int(np.count_nonzero(labels == np.arange(len(labels), dtype=labels.dtype)))
    apart = f"{parts_apart(graph_on, labels)} of {named} communities are not connected"
    return Certificate(True, "", (*RULES, apart, modularity(graph_on, labels)))


def _require_preferred(graph: Graph, labels: Array) -> None:
    """Raise Broken for the first row that prefers another label."""
    degrees = np.diff(graph.out.offsets) + (0 if graph.symmetric else np.diff(graph.into.offsets))
    ends = np.concatenate([np.zeros(1, OFFSET), np.cumsum(degrees)])
    cuts = np.unique(np.searchsorted(ends, np.arange(0, int(ends[-1]) + _ARCS, _ARCS)).clip(0, graph.num_vertices)).tolist()
    blocks = [slice(*pair) for pair in pairwise(cuts)]
    found = over_items(blocks, lambda block: _astray(graph, labels, block), parallel=len(blocks) > 1)
    for row, votes, other, more in (reason for reason in found if reason):
        raise Broken(
            f"vertex {name_of(graph, row)}: {votes} arcs within its community {name_of(graph, labels[row])}, "
            f"but {more} to community {name_of(graph, other)}"
        )


def _astray(graph: Graph, labels: Array, block: slice) -> tuple[int, int, int, int] | None:
    """Of the first row of a block that prefers another label: the row, its votes, that label, and its votes."""
    width = np.int64(max(graph.num_vertices, 1))
    votes = np.concatenate([_votes(side, labels, block, width) for side in _sides(graph)])
    votes.sort()
    first = np.flatnonzero(np.concatenate([np.ones(len(votes[:1]), np.bool_), votes[1:] != votes[:-1]]))
    counts = np.diff(np.append(first, len(votes)))
    rows, given = votes[first] // width, votes[first] % width
    own = np.zeros(block.stop - block.start, np.int64)
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
    rows = np.repeat(np.arange(block.stop - block.start), np.diff(offsets))
    others = side.indices[int(offsets[0]) : int(offsets[-1])]
    votes: Array = (rows * width + labels[others])[others != rows + block.start]
    return votes


def parts_apart(graph: Graph, labels: Array) -> int:
    """Number of communities that are not connected."""
    sides = [_within(side, labels) for side in _sides(graph)]
    parts = wcc(Graph(graph.ids, graph.rows_by_id, sides[0], sides[-1])).labels
    first = parts == np.arange(len(parts), dtype=parts.dtype)
    return len(np.unique(labels[first & (labels != parts)]))


def _within(side: Csr, labels: Array) -> Csr:
    """The arcs within communities."""
    rows = np.repeat(np.arange(len(labels)), np.diff(side.offsets))
    kept = labels[rows] == labels[side.indices]
    offsets = np.concatenate([np.zeros(1, OFFSET), np.cumsum(kept)])[side.offsets]
    return Csr(offsets, side.indices[kept], None)


def modularity(graph: Graph, labels: Array) -> str:
    """The modularity as a fraction of integers, and rounded."""
    arcs = graph.num_arcs
    if not arcs:
        return "modularity is 0: there is no arc"
    inside = int(np.count_nonzero(np.repeat(labels, np.diff(graph.out.offsets)) == labels[graph.out.indices]))
    tails, heads = (_sums(labels, np.diff(side.offsets)) for side in (graph.out, graph.into))
    # tails * heads may exceed int64: in two parts, whose sums do not, below 2^43 arcs
    expected = int(((tails >> _BITS) * heads).sum()) << _BITS
    expected += int(((tails & ((1 << _BITS) - 1)) * heads).sum())
    above = arcs * inside - expected
    return f"modularity is {above} / {arcs * arcs}, {above / (arcs * arcs):.6f}"


def _sums(labels: Array, degrees: Array) -> Array:
    """The sum of the degrees of each label's rows, int64 [V]."""
    order = np.argsort(labels, kind="stable")
    ends = np.concatenate([np.zeros(1, OFFSET), np.cumsum(degrees[order])])
    cuts = np.searchsorted(labels[order], np.arange(len(labels) + 1))
    sums: Array = np.diff(ends[cuts])
    return sums
