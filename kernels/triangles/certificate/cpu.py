"""The second count on all cores: the later neighbours of a row are marked, and the lists of the earlier ones read backwards."""

import numpy as np

from kernels.arrays import frozen
from kernels.cpu.atomics import add as add_to
from kernels.cpu.compiled import njit
from kernels.cpu.parallel import over_items, ranges_of_rows
from kernels.graph import Array
from kernels.triangles.certificate.neighbourhoods import KnownLists, Neighbourhoods


def add(earlier: Neighbourhoods, later: Neighbourhoods, lists: KnownLists, sums: Array) -> tuple[int, int]:
    """As `recount.add_triangles`."""
    sides = Neighbourhoods(*map(frozen, earlier)), Neighbourhoods(*map(frozen, later))
    read = KnownLists(*map(frozen, lists))
    counts = over_items(ranges_of_rows(earlier.offsets), lambda part: _add(*sides, read, part, sums))
    return sum(triangles for triangles, _ in counts), sum(total for _, total in counts)


@njit(cache=True, nogil=True)
def _add(
    earlier: Neighbourhoods, later: Neighbourhoods, lists: KnownLists, part: tuple[int, int], sums: Array
) -> tuple[int, int]:  # fmt: skip
    """Add the triangles whose second corners are in a range of rows."""
    triangles = total = 0
    marks = np.zeros(len(lists.begins), np.int32)  # of a later neighbour its place in the list, from 1
    counts, opposites = np.zeros(1, np.int64), np.zeros(1, np.int64)  # of each place; 0 is that of all other rows
    for second in range(part[0], part[1]):
        begin, length = later.offsets[second], later.offsets[second + 1] - later.offsets[second]
        if not length or earlier.offsets[second] == earlier.offsets[second + 1]:
            continue
        if len(counts) <= length:
            counts, opposites = np.zeros(2 * length + 1, np.int64), np.zeros(2 * length + 1, np.int64)
        for place in range(length):
            marks[later.rows[begin + place]] = place + 1
            opposites[place + 1] = later.arcs[begin + place]
        own = 0
        for entry in range(earlier.offsets[second], earlier.offsets[second + 1]):
            first, arcs = earlier.rows[entry], int(earlier.arcs[entry])
            here = of_first = of_second = 0
            for number in range(lists.ends[first] - 1, lists.begins[first] - 1, -1):
                third = lists.rows[number]
                if third <= second:
                    break
                place = marks[third]  # without a branch, which would be guessed wrongly
                counts[place] += arcs
                here += place > 0
                of_first += opposites[place]
                of_second += int(lists.arcs[number]) * (place > 0)
            if here:
                add_to(sums, first, of_first)
                own += of_second
                triangles += here
                total += here * arcs + of_first + of_second
        if own:
            add_to(sums, second, own)
        for place in range(1, length + 1):
            third = later.rows[begin + place - 1]
            marks[third] = 0
            if counts[place]:
                add_to(sums, third, counts[place])
                counts[place] = 0
    return triangles, total
