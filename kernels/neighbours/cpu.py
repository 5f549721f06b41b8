"""Neighbours on all cores: a pass counts those of each row, and a second one lists them."""

import numpy as np

from kernels.arrays import frozen
from kernels.cpu.compiled import njit
from kernels.cpu.parallel import over_items, ranges_of_rows, running_sums
from kernels.graph import OFFSET, Array, Csr, Graph

Arcs = tuple[Array, Array]  # offsets and indices


def collect(graph: Graph) -> Csr:
    """Answer `kernels.neighbours.neighbours` on NumPy arrays."""
    sides = [(frozen(csr.offsets), frozen(csr.indices)) for csr in (graph.out, graph.into)]
    degrees = sides[0][0] if graph.symmetric else sides[0][0] + sides[1][0]
    parts = ranges_of_rows(degrees)
    counts, none = np.zeros(graph.num_vertices, OFFSET), graph.out.indices[:0].copy()
    over_items(parts, lambda part: _take(*sides, graph.symmetric, part, counts, none))
    offsets = running_sums(counts)
    if graph.symmetric and offsets[-1] == graph.num_arcs:
        return Csr(graph.out.offsets, graph.out.indices, None)
    listed = np.empty(offsets[-1], graph.out.indices.dtype)
    over_items(parts, lambda part: _take(*sides, graph.symmetric, part, offsets, listed))
    return Csr(offsets, listed, None)


@njit(cache=True, nogil=True)
def _take(out: Arcs, into: Arcs, symmetric: bool, part: tuple[int, int], places: Array, listed: Array) -> None:
    """Count the neighbours of each row of a range in `places` if `listed` is empty; otherwise list them from `places` on.

    Of a symmetric graph only the out-arcs are read, in which repeats are adjacent; otherwise `seen` has the last row that each
    row was a neighbour of.
    """
    counts = len(listed) == 0
    seen = np.full(1 if symmetric else len(out[0]) - 1, -1, out[1].dtype)
    for row in range(*part):
        number = 0
        for offsets, indices in (out, into):
            for arc in range(offsets[row], offsets[row + 1]):
                other = indices[arc]
                if symmetric:
                    repeats = arc > offsets[row] and indices[arc - 1] == other
                else:
                    repeats = seen[other] == row
                    seen[other] = row
                if not repeats and other != row:
                    if not counts:
                        listed[places[row] + number] = other
                    number += 1
            if symmetric:
                break
        if counts:
            places[row] = number
