"""The votes of rows, counted by sorting: whether a row prefers another label."""

from functools import reduce
from itertools import pairwise
from typing import Any, NamedTuple

import numpy as np

from kernels.arrays import is_cupy_array
from kernels.certificate.rules import name_of
from kernels.cpu.parallel import over_items
from kernels.distributed.lists import owners
from kernels.graph import OFFSET, Array, Csr

_ARCS = {False: 1 << 22, True: 1 << 27}  # that are sorted at a time, on a CPU and on a GPU


class Astray(NamedTuple):
    """A row that prefers another label."""

    row: int
    votes: int  # for its own label
    other: int  # the first label with more votes
    more: int


def another(graph: Any, label: Any, astray: Astray) -> str:
    """What is wrong with a row of a graph, or of a global view of one, that has this label."""
    return (
        f"vertex {name_of(graph, astray.row)}: {astray.votes} arcs within its community {name_of(graph, label)}, "
        f"but {astray.more} to community {name_of(graph, astray.other)}"
    )


def first_astray(out: Csr, into: Csr, labels: Array, num_rows: int, num_labels: int) -> Astray | None:
    """The first of the first `num_rows` rows that prefers another label.

    Args:
        out, into: Arcs of these rows; the same object if the graph is symmetric.
        labels (index width): Below `num_labels`, of all rows that arcs lead to.
    """
    sides = (out,) if into is out else (out, into)
    ends = reduce(np.add, (side.offsets[: num_rows + 1] for side in sides))
    gpu, step = is_cupy_array(labels), _ARCS[is_cupy_array(labels)]
    marks = np.arange(0, int(ends[-1]) + step, step, dtype=OFFSET, like=ends)
    cuts = np.unique(np.minimum(np.searchsorted(ends, marks), num_rows)).tolist()
    blocks = [slice(*pair) for pair in pairwise(cuts)]
    width = np.int64(max(num_labels, 1))
    astray = over_items(blocks, lambda block: _astray(sides, labels, block, width), parallel=len(blocks) > 1 and not gpu)
    return next(filter(None, astray), None)


def _astray(sides: tuple[Csr, ...], labels: Array, block: slice, width: np.int64) -> Astray | None:
    """The first row of a block that prefers another label."""
    votes = np.concatenate([_votes(side, labels, block, width) for side in sides])
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
    return Astray(block.start + row, int(own[row]), int(given[wrong[0]]), int(counts[wrong[0]]))


def _votes(side: Csr, labels: Array, block: slice, width: np.int64) -> Array:
    """Row in the block * width + label of the neighbour, for each arc that is not a self-loop."""
    offsets = side.offsets[block.start : block.stop + 1]
    rows, others = owners(offsets), side.indices[int(offsets[0]) : int(offsets[-1])]
    votes: Array = (rows * width + labels[others])[others != rows + block.start]
    return votes
